package sandbox

// FindCaller returns false: a job ends with its last handle, and there are no process groups here.
func FindCaller() (Caller, bool) { return Caller{}, false }

func newWitness() *witness { return &witness{stop: func() {}} }

// Guard does nothing here: a job ends with its last handle.
func Guard(string, ...string) (dismiss func(), err error) { return func() {}, nil }

// argumentsOf returns nil: the arguments of other processes are not read here.
func argumentsOf(int) []string { return nil }
