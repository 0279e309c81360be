//go:build !linux

package sandbox

import (
	"time"

	"github.com/plimsoll/plimsoll/internal/process/proctree"
)

// findFamily returns the command of a run that another process supervises and its descendants, nothing when the command has ended. Orphans
// can't be told from other processes here without the run's own table.
func findFamily(r Remains) ([]proctree.Process, error) {
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

// processAge returns 0: the age is not known here.
func processAge(proctree.Process) time.Duration { return 0 }

// ignoresHangup returns false: it is not known here.
func ignoresHangup(int) bool { return false }

// Older returns 0 and "": only Linux tells this cheaply.
func Older(func(argv []string) bool) (pid int, name string) { return 0, "" }
