package admission

import (
	"errors"

	"golang.org/x/sys/windows"
)

// isUnwritable reports whether err means that nothing can be written there: a file system that is full, read-only, broken or no directory.
func isUnwritable(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_WRITE_PROTECT)
}

// processEnded returns true, so that the lock is probed: nothing is cheaper here.
func processEnded(int) bool { return true }

// startTime returns 0: it is not known here.
func startTime(int) uint64 { return 0 }

// processStopped returns false: no process is stopped here.
func processStopped(int) bool { return false }
