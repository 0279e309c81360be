//go:build !linux

package sandbox

// noteMoved does nothing: a job object or a tree of processes is not left.
func (w *watcher) noteMoved(member) {}

// movedAtEnd returns nothing, as noteMoved has noted nothing.
func (w *watcher) movedAtEnd(*Result) (alive []Leftover) { return nil }

// runIDOf returns "": no process is adopted here.
func runIDOf(int) string { return "" }

// schedUseOf returns false: the system does not tell.
func schedUseOf(int) (schedUse, bool) { return schedUse{}, false }
