//go:build unix

package conversation

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile takes an flock(2) on f, or says that somebody else's is in the way. The lock
// belongs to the open file: it ends when f is closed or its process ends, however it does.
func lockFile(f *os.File) (bool, error) {
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
