package sandbox

// FindCaller finds nobody here: a job ends with its last handle, and there are no process groups.
func FindCaller() (Caller, bool) { return Caller{}, false }

func newWitness() *witness { return &witness{stop: func() {}} }

// Guard does nothing here: a job ends with its last handle.
func Guard(string, ...string) (dismiss func(), err error) { return func() {}, nil }

// argumentsOf is not known here.
func argumentsOf(int) []string { return nil }
