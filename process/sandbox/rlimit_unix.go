//go:build linux || darwin

package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/process/sandbox/internal/shim"
)

// rlimitCage limits each process by itself; the monitor watches their sum.
type rlimitCage struct {
	watchedCage
	limits shim.Limits
}

// launch executes the shim, which sets the limits on itself and becomes the command.
func (r *rlimitCage) launch(c *command) (int, error) {
	self, err := ownExecutable()
	if err != nil {
		return 0, fmt.Errorf("find own executable for the rlimit shim: %w", err)
	}
	failure, report, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer failure.Close()
	reportFD := int(report.Fd())
	// The write end must cross one exec without taking a number that the command inherits.
	// The fork lock keeps other forks of this program from inheriting it meanwhile.
	syscall.ForkLock.Lock()
	_, err = unix.FcntlInt(uintptr(reportFD), unix.F_SETFD, 0)
	inner := *c
	inner.path = self
	inner.args = append([]string{shim.Name, r.limits.Encode(), strconv.Itoa(reportFD), c.path}, c.args...)
	syscall.ForkLock.Unlock()
	var pid int
	if err == nil {
		pid, err = inner.fork()
	}
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
