//go:build !linux

package sandbox

import (
	"time"

	"github.com/plimsoll/plimsoll/process/internal/proctree"
)

// familyOf lists the processes of a run that another process supervises: the command and its
// descendants. Orphans can't be told from other processes here without the run's own table.
func familyOf(r Remains) ([]proctree.Process, error) {
	if r.PID <= 0 || !proctree.Alive(r.PID, r.Start) {
		return nil, nil
	}
	tree, err := proctree.New(proctree.Options{Root: r.PID})
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	if _, err := tree.Scan(); err != nil {
		return nil, err
	}
	return tree.Members(), nil
}

// ageOf is not asked here.
func ageOf(proctree.Process) time.Duration { return 0 }

// ignoresHangup is not known here.
func ignoresHangup(int) bool { return false }
