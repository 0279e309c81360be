//go:build !linux

package sandbox

import (
	"errors"
	"fmt"

	"github.com/plimsoll/plimsoll/internal/process/proctree"
)

// Thaw lets a run go on, both the whole of it and the descendants in r.Stopped: another plimsoll does so when the run's own supervisor is
// stopped or dead. Here the run is the command (r.PID) and its descendants; it is safe to call for a run that is not frozen.
func Thaw(r Remains) error {
	if !validID(r.ID) {
		return fmt.Errorf("thaw a run: its ID is %q", r.ID)
	}
	var failed error
	for _, c := range r.Stopped {
		failed = errors.Join(failed, signalAll([]proctree.Process{c.process()}, false))
	}
	if r.Frozen.IsZero() || r.PID <= 0 || r.Start != 0 && !proctree.Alive(r.PID, r.Start) {
		return failed
	}
	tree, err := proctree.New(proctree.Options{Root: r.PID})
	if err != nil {
		return errors.Join(failed, err)
	}
	defer tree.Close()
	if _, err := tree.Scan(); err != nil {
		return errors.Join(failed, err)
	}
	return errors.Join(failed, signalAll(tree.Members(), false))
}

// justStarted returns false: only on Linux does a new process show its parent's memory until it executes its program.
func justStarted(proctree.Process) bool { return false }
