// Package holder reaches the run behind a claim of the admission ledger, from its own process and from others of the same user.
//
//	used := holder.Current(h)      // bytes, as its control group counts them
//	stopped, err := holder.Pause(h)
//	err = holder.End(h)            // SIGTERM to its plimsoll
//	err = holder.Reap(h)           // what a dead supervisor has left
//
// Each looks again whose process it is, and never touches one that only has the number of a process of the run: another user's run,
// one that waits and one whose plimsoll has died are errors.
package holder

import (
	"encoding/json"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/proctree"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// What another program of the same user may do to a run that holds a claim: `plimsoll top` does. Each looks again whose
// process it is, and never touches one that only has the number of a process of the run.

var (
	errNoRemains = errors.New("its claim does not say yet where its processes are")
	errNotOurs   = errors.New("it is another user's")
	errWaits     = errors.New("it waits, and nothing of it runs yet")
	errStale     = errors.New("its plimsoll was killed; plimsoll gc ends what is left of it")
)

// Pause stops all processes of a run until [Continue]. bySignal is as for [sandbox.Pause].
func Pause(h admission.Holder) (bySignal bool, err error) {
	r, err := reachableRemains(h)
	if err != nil {
		return false, fmt.Errorf("%s cannot be paused: %w", h.ID, err)
	}
	return sandbox.Pause(r)
}

// Continue lets a run go on after [Pause], or after a stop for want of memory. It also continues the run's plimsoll, which has stopped
// itself if its command was stopped by a signal.
func Continue(h admission.Holder) error {
	r, err := reachableRemains(h)
	if err != nil {
		return fmt.Errorf("%s cannot be continued: %w", h.ID, err)
	}
	return errors.Join(sandbox.Resume(r), signalOwner(h, sigContinue))
}

// Paused reports whether a run is stopped; false also for one whose processes cannot be reached from here.
func Paused(h admission.Holder) bool {
	r, err := reachableRemains(h)
	return err == nil && sandbox.Paused(r, h.Owner.PID)
}

// CPUTime returns the processor time that the run of a claim has used; ok is false where no control group counts it.
func CPUTime(h admission.Holder) (used time.Duration, ok bool) {
	r, err := reachableRemains(h)
	if err != nil {
		return 0, false
	}
	return sandbox.CPUTime(r)
}

// End sends SIGTERM to the plimsoll of a run, which passes it on to the command; a command that ignores it goes on. A paused run is
// continued first. A run that waits leaves the queue. It is an error for another user's run, and for one whose plimsoll has died.
func End(h admission.Holder) error {
	if h.User != "" {
		return fmt.Errorf("%s cannot be ended: %w", h.ID, errNotOurs)
	}
	if h.State == admission.Stale {
		return fmt.Errorf("%s cannot be ended: %w", h.ID, errStale)
	}
	var failed error
	if Paused(h) {
		failed = Continue(h)
	}
	if err := signalOwner(h, syscall.SIGTERM); err != nil {
		return errors.Join(failed, fmt.Errorf("%s cannot be ended: %w", h.ID, err))
	}
	return failed
}

// reachableRemains returns the remains of a run, by which its processes can be reached. It is an error if they cannot be reached from here: the run
// is another user's, waits, or has lost its plimsoll.
func reachableRemains(h admission.Holder) (sandbox.Remains, error) {
	switch {
	case h.User != "":
		return sandbox.Remains{}, errNotOurs
	case h.State == admission.Waiting:
		return sandbox.Remains{}, errWaits
	case h.State == admission.Stale:
		return sandbox.Remains{}, errStale
	}
	r, ok := Remains(h)
	if !ok {
		return r, errNoRemains
	}
	return r, nil
}

// signalOwner sends a signal to the plimsoll of a run; it is an error when that process has ended or cannot be seen from here.
func signalOwner(h admission.Holder, sig syscall.Signal) error {
	if h.Owner.Start == 0 || !proctree.Alive(h.Owner.PID, h.Owner.Start) {
		return fmt.Errorf("its plimsoll (pid %d) cannot be seen from here: it is in another container, or has just ended", h.Owner.PID)
	}
	return proctree.Signal(proctree.Process{PID: h.Owner.PID, Start: h.Owner.Start}, sig)
}

// Current returns how much memory the run of a claim uses now, in bytes, as its control group shows it; 0 when it has none. It is for
// [admission.Options].Current.
func Current(h admission.Holder) limit.Bytes {
	remains, ok := Remains(h)
	if !ok {
		return 0
	}
	used, _ := sandbox.Current(remains)
	return used
}

// Swapped returns what a run has in swap, in bytes, 0 where nobody counts it. It is for [admission.Options].Swapped.
func Swapped(h admission.Holder) limit.Bytes {
	remains, _ := Remains(h)
	return sandbox.Swapped(remains)
}

// ReapGrace is the time that processes of a dead supervisor's run get between SIGTERM and SIGKILL.
const ReapGrace = 2 * time.Second

// Reap ends and removes what a dead supervisor has left behind, see [sandbox.Remove]. A claim that recorded nothing is no error. It is for
// [admission.Options].Reap.
func Reap(h admission.Holder) error {
	if len(h.Remains) == 0 {
		return nil
	}
	remains, ok := Remains(h)
	if !ok {
		return fmt.Errorf("what the claim %s says about its run is unreadable", h.ID)
	}
	return sandbox.Remove(remains, ReapGrace)
}

// Remains returns what the claim of a run has recorded for its clean-up; ok is false when that is missing or unreadable.
func Remains(h admission.Holder) (r sandbox.Remains, ok bool) {
	if len(h.Remains) == 0 || json.Unmarshal(h.Remains, &r) != nil {
		return sandbox.Remains{}, false
	}
	return r, true
}
