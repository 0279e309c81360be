//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/proctree"
	"github.com/plimsoll/plimsoll/limit"
)

// ErrBusy is wrapped by the error of [Remove] when processes that may stay are still there.
var ErrBusy = errors.New("still in use")

// Remove ends what a run left behind whose supervisor is dead: the command, known by pid
// and start time, and its descendants. It is safe to call again, and for a run that got no
// further than announcing itself. When the command itself has ended, its descendants can't
// be told from other processes here and are left alone; a Windows job whose supervisor
// dies has been ended by the kernel already. The error wraps ErrBusy, and nothing is ended, if the
// command was left running on purpose or this process is inside of the run.
func Remove(r Remains, grace time.Duration) error {
	if !validID(r.ID) {
		return fmt.Errorf("remove the remains of a run: its ID is %q", r.ID)
	}
	if os.Getenv(CookieName) == r.ID {
		return fmt.Errorf("%w: this command runs inside the run %s itself", ErrBusy, r.ID)
	}
	if r.PID <= 0 || r.Start == 0 || !proctree.Alive(r.PID, r.Start) {
		return nil
	}
	if r.Leave {
		return fmt.Errorf("%w: the command of run %s was left running, pid %d", ErrBusy, r.ID, r.PID)
	}
	if err := Thaw(r); err != nil {
		return err
	}
	tree, err := proctree.New(proctree.Options{Root: r.PID})
	if err != nil {
		return err
	}
	defer tree.Close()
	_, err = tree.KillTree(context.Background(), proctree.KillOptions{Grace: grace})
	return err
}

// Current returns false: there are no control groups here.
func Current(Remains) (used limit.Bytes, ok bool) { return 0, false }

// Swapped returns 0: there are no control groups here.
func Swapped(Remains) limit.Bytes { return 0 }

// Orphans returns nothing: there are no control groups here.
func Orphans(func(id string) bool) ([]Orphan, error) { return nil, nil }

// markLeft does nothing: there are no control groups here.
func markLeft(cage) {}

// freezeGroups returns false: there are no control groups here.
func freezeGroups(Remains) (held bool, err error) { return false, nil }

// Paused returns false: whether others have stopped a run is not known here.
func Paused(Remains, int) bool { return false }

// CPUTime returns false: no group counts it here. The run's own samples have it.
func CPUTime(Remains) (used time.Duration, ok bool) { return 0, false }

// IsCommand reports whether pid is the command of a run.
func (r Remains) IsCommand(pid, _ int) bool { return r.PID > 0 && r.PID == pid }

// OwnGroup returns "" and "": there are no control groups here.
func OwnGroup() (run, group string) { return "", "" }

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
