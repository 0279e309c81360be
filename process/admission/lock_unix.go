//go:build unix

package admission

import (
	"errors"

	"golang.org/x/sys/unix"
)

// isUnwritable reports whether err says that the file system takes no more writes.
func isUnwritable(err error) bool {
	for _, e := range []unix.Errno{unix.EROFS, unix.ENOSPC, unix.EDQUOT, unix.ENOTDIR, unix.EIO} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// processEnded reports whether no process has this pid.
func processEnded(pid int) bool { return errors.Is(unix.Kill(pid, 0), unix.ESRCH) }
