//go:build linux || darwin

package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/process/sandbox/shim"
	"github.com/plimsoll/plimsoll/limit"
)

// rlimitCage limits each process by itself; the monitor watches their sum.
type rlimitCage struct {
	watchedCage
	limits shim.Limits
}

// isFixed reports whether each process has set the memory limit on itself, so that nobody can raise it.
func (r *rlimitCage) isFixed() bool { return r.limits.Data > 0 }

// dataLimit returns the memory limit of each process (RLIMIT_DATA), 0 for none.
func (r *rlimitCage) dataLimit() limit.Bytes { return limit.Bytes(r.limits.Data) }

// launch executes the shim, which sets the limits on itself and becomes the command, and returns its pid. The error says that the kernel
// refused the limits or the command.
func (r *rlimitCage) launch(c *command) (int, error) {
	self, err := executablePath()
	if err != nil {
		return 0, fmt.Errorf("find own executable for the rlimit shim: %w", err)
	}
	failure, report, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer failure.Close()
	reportFD := int(report.Fd())
	inner := *c
	inner.path = self
	inner.files = withDescriptor(c.files, reportFD)
	inner.args = append([]string{shim.Name, r.limits.Encode(), strconv.Itoa(reportFD), c.path}, c.args...)
	pid, err := inner.fork()
	_ = report.Close()
	if err != nil {
		return 0, err
	}
	text, err := io.ReadAll(io.LimitReader(failure, 16))
	if err != nil || len(text) == 0 {
		return pid, nil
	}
	var status unix.WaitStatus
	for {
		if _, err := unix.Wait4(pid, &status, 0, nil); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	number, limits := strings.CutPrefix(string(text), shim.LimitFailed)
	errno, _ := strconv.Atoi(number)
	if limits {
		return 0, fmt.Errorf("the kernel refused the resource limits (data, address space, processes: %s): %w", r.limits.Encode(), syscall.Errno(errno))
	}
	return 0, execError(c.path, syscall.Errno(errno))
}

// withDescriptor returns files with descriptor fd added under its own number, so that a child gets it, for one exec. In this process fd stays
// close-on-exec, so that no other child gets it. The descriptors between are passed on if they are not close-on-exec, and closed otherwise.
func withDescriptor(files []uintptr, fd int) []uintptr {
	files = slices.Clone(files)
	for n := len(files); n < fd; n++ {
		pass := ^uintptr(0) // closed in the child
		if flags, err := unix.FcntlInt(uintptr(n), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			pass = uintptr(n)
		}
		files = append(files, pass)
	}
	return append(files, uintptr(fd))
}
