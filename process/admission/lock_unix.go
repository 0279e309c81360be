//go:build unix

package admission

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLockFile takes an exclusive flock(2) on f without waiting. The lock belongs to the
// open file: it ends when f is closed or its process ends however, and not while the
// process is stopped. Go opens files close-on-exec, so no child keeps it.
func tryLockFile(f *os.File) (bool, error) {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		default:
			return false, &os.PathError{Op: "flock", Path: f.Name(), Err: err}
		}
	}
}

// lockFile is tryLockFile that sleeps until the lock is free. The kernel gives the lock to those that sleep in the
// order in which they came (Linux since 5.0; nowhere does one wait for ever).
func lockFile(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
		default:
			return &os.PathError{Op: "flock", Path: f.Name(), Err: err}
		}
	}
}

// isUnwritable reports a file system that takes no more writes.
func isUnwritable(err error) bool {
	for _, e := range []unix.Errno{unix.EROFS, unix.ENOSPC, unix.EDQUOT, unix.ENOTDIR, unix.EIO} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// processEnded reports that no process has the number.
func processEnded(pid int) bool { return errors.Is(unix.Kill(pid, 0), unix.ESRCH) }
