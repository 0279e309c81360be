package spool

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile takes a LockFileEx lock on f, or says that somebody else's is in the way. It
// ends when f is closed or its process ends.
func lockFile(f *os.File, exclusive, wait bool) (bool, error) {
	var how uint32
	if exclusive {
		how = windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	if !wait {
		how |= windows.LOCKFILE_FAIL_IMMEDIATELY
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, new(windows.Overlapped))
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION), errors.Is(err, windows.ERROR_IO_PENDING):
		return false, nil
	}
	return false, &os.PathError{Op: "LockFileEx", Path: f.Name(), Err: err}
}

func diskFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}

func unlockFile(f *os.File) {
	_ = windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, new(windows.Overlapped))
}

// outOfSpace says that removing other files would help.
func outOfSpace(err error) bool { return diskFull(err) }
