//go:build !linux

package sandbox

// noteMoved does nothing: a job object or a tree of processes is not left.
func (w *watcher) noteMoved(member) {}

// movedAtEnd adds to the result the processes that have left the groups of the run: those that were seen to leave, and those elsewhere that have
// the run's cookie and are younger than the command. It returns those that still run, without the command.
func (w *watcher) movedAtEnd(*Result) (alive []Leftover) { return nil }

// schedUseOf returns false: the system does not tell.
func schedUseOf(int) (schedUse, bool) { return schedUse{}, false }
