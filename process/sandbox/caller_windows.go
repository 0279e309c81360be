package sandbox

// FindCaller returns false: who holds the other end of standard input is not known here.
func FindCaller() (Caller, bool) { return Caller{}, false }

// newWitness returns a witness that sees nothing: there are no process groups with signals here.
func newWitness() *witness { return &witness{stop: func() {}} }

// Guard does nothing: the job object ends the processes with this one.
func Guard(string, ...string) (dismiss func(), err error) { return func() {}, nil }
