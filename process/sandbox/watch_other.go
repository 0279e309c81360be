//go:build !linux

package sandbox

// recordMoved does nothing: a job object or a tree of processes is not left.
func (w *watcher) recordMoved(member) {}

// movedAtEnd returns nothing, as recordMoved has recorded nothing.
func (w *watcher) movedAtEnd(*Result) (alive []Leftover) { return nil }

// readRunID returns "": no process is adopted here.
func readRunID(int) string { return "" }

// readSchedUse returns false: the system does not tell.
func readSchedUse(int) (schedUse, bool) { return schedUse{}, false }
