package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lock takes the lock on f. Without wait it returns false, nil at once if another process has it.
func lock(f *os.File, m Mode, wait bool) (bool, error) {
	var how uint32
	if m&Shared == 0 {
		how = windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	if !wait {
		how |= windows.LOCKFILE_FAIL_IMMEDIATELY
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, lockedByte(m))
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION), errors.Is(err, windows.ERROR_IO_PENDING):
		return false, nil
	}
	return false, &os.PathError{Op: "LockFileEx", Path: f.Name(), Err: err}
}

// unlock gives up both places: f has a lock on one of them.
func unlock(f *os.File) {
	for _, m := range []Mode{Exclusive, Readable} {
		_ = windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, lockedByte(m))
	}
}

// lockedByte returns the offset of the one byte that is locked.
func lockedByte(m Mode) *windows.Overlapped {
	if m&Readable != 0 {
		return &windows.Overlapped{OffsetHigh: 1 << 30}
	}
	return new(windows.Overlapped)
}
