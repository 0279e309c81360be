package admission

import (
	"errors"

	"golang.org/x/sys/windows"
)

// isUnwritable reports a file system that takes no more writes.
func isUnwritable(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_WRITE_PROTECT)
}

// processEnded returns true for all: there is nothing cheaper than to probe the lock.
func processEnded(int) bool { return true }
