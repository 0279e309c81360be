//go:build unix

package admission

import (
	"errors"

	"github.com/plimsoll/plimsoll/internal/process/proctree"
	"golang.org/x/sys/unix"
)

// isUnwritable reports whether err means that nothing can be written there: a file system that is full, read-only, broken or no directory.
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

// startTime returns the start of a process as [proctree.Process].Start has it, or 0.
func startTime(pid int) uint64 { return proctree.StartTime(pid) }

// processStopped reports whether a process is stopped by a signal or by a debugger.
func processStopped(pid int) bool {
	p, err := proctree.Lookup(pid)
	return err == nil && (p.State == 'T' || p.State == 't')
}
