package sandbox

// Caller is the process that started this one and talks to it: it holds the other end of our standard input, as an editor holds that
// of an agent. See [FindCaller].
type Caller struct {
	PID int
	// Start tells it from a later process with the same PID.
	Start uint64
}
