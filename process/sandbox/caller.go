package sandbox

import "os"

// Caller is the process that started this one and talks to it: it holds the other end of our standard input, as an editor holds that
// of an agent. See [FindCaller].
type Caller struct {
	PID int
	// Start distinguishes it from a later process with the same PID.
	Start uint64
	// Needed reports whether the command can do nothing without the caller any more: then it does not matter how long before its death it
	// stopped writing. nil says no.
	Needed func() bool
}

// witness knows the signals that were for the whole process group, and so have reached the command already.
type witness struct {
	seen chan os.Signal
	stop func()
}
