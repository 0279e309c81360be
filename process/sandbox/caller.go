package sandbox

import "os"

// Caller is the process that started this one and talks to it: it holds the other end of our standard input, as an editor holds that
// of an agent. See [FindCaller].
type Caller struct {
	PID int
	// Start is its start time, by which it is told from a later process with the same PID.
	Start uint64
	// Needed reports whether the command is of no use without the caller: then the run is ended at the caller's death however long before
	// it closed its end of standard input. nil means no.
	Needed func() bool
}

// witness receives, from a small process in our process group, the signals that were sent to the whole group and so have reached the
// command already.
type witness struct {
	seen chan os.Signal
	stop func()
}
