package sandbox

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/proctree"
)

// ErrInside is wrapped by the error of [Pause] for a run that this process is a part of: it would stop itself.
var ErrInside = errors.New("this command runs inside the run itself")

// Pause stops every process of a run that another process supervises, until [Resume]. bySignal is true when there was no freezer and
// SIGSTOP was used: processes can notice it, and one that was born meanwhile may have been missed. The clock of the run's time limit goes
// on while a freezer holds the run.
func Pause(r Remains) (bySignal bool, err error) {
	if !validID(r.ID) {
		return false, fmt.Errorf("pause a run: its ID is %q", r.ID)
	}
	if os.Getenv(CookieName) == r.ID {
		return false, fmt.Errorf("pause run %s: %w", r.ID, ErrInside)
	}
	if held, err := freezeGroups(r); held || err != nil {
		return false, err
	}
	// Who is stopped has no more children: the second look finds those that were born during the first.
	for range 2 {
		family, err := findFamily(r)
		if err != nil {
			return true, err
		}
		if slices.ContainsFunc(family, func(p proctree.Process) bool { return p.PID == os.Getpid() }) {
			return true, fmt.Errorf("pause run %s: %w", r.ID, ErrInside)
		}
		if err := signalAll(family, true); err != nil {
			return true, errors.Join(err, Resume(r))
		}
	}
	return true, nil
}

// Resume lets the run go on after [Pause], or after a stop by its own supervisor; it returns nil for a run that is not stopped.
func Resume(r Remains) error {
	if r.Frozen.IsZero() {
		r.Frozen = time.Now() // also a run without a freezer
	}
	return Thaw(r)
}

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
