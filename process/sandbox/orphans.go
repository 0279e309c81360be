package sandbox

// Orphan is the group of a run that no claim is known of; see [Orphans].
type Orphan struct {
	// Remains is the argument for [Remove].
	Remains Remains
	// Processes is the number of processes in it.
	Processes int
	// Supervised is true when a process which may be its supervisor lives: the run goes on, under
	// another state directory. Keep names the process then.
	Supervised bool
	// Keep is the reason why it must not be removed now, "" when it may be.
	Keep string
}
