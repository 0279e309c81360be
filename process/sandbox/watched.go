package sandbox

import "errors"

// watchedCage is the cage of the layers that have no group: what the run uses is read from the process tree, and [Run] ends the largest
// member when the tree is over its limit.
type watchedCage struct {
	held   Strength
	around outerGroup
}

func newWatched(l Limits) watchedCage {
	w := watchedCage{held: heldByNobody, around: newOuterGroup()}
	if l.Memory > 0 {
		w.held.Memory = ByWatching
	}
	if l.Pids > 0 {
		w.held.Pids = ByWatching
	}
	return w
}

func (w *watchedCage) strength() Strength               { return w.held }
func (w *watchedCage) launch(c *command) (int, error)   { return c.fork() }
func (w *watchedCage) sample() (Sample, bool)           { return Sample{}, false }
func (w *watchedCage) members(pids []int) ([]int, bool) { return pids, false }
func (w *watchedCage) charged() int64                   { return 0 }
func (w *watchedCage) peak() (int64, string, bool)      { return 0, "", false }
func (w *watchedCage) oomKills() int                    { return w.around.kills() }
func (w *watchedCage) bounded() bool                    { return w.around.bounded() }
func (w *watchedCage) usedAround() (int64, int64, bool) { return w.around.used() }
func (w *watchedCage) kill() error                      { return nil }
func (w *watchedCage) close() error                     { w.around.close(); return nil }
func (w *watchedCage) freeze(bool) error {
	return errors.New("this layer has no group to freeze")
}
