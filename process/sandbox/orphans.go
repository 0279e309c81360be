package sandbox

// Orphan is the control group of a run that has no claim in the ledger; see [Orphans].
type Orphan struct {
	// Remains is the argument for [Remove].
	Remains Remains
	// Processes is the number of processes in it.
	Processes int
	// Supervised is true when a process lives that may be its supervisor: the run goes on, under another state directory. Keep names that
	// process.
	Supervised bool
	// Keep is the reason why it must not be removed now, "" when it may be.
	Keep string
}
