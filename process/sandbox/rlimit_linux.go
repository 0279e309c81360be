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

	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/sandbox/internal/shim"
)

// rlimitFloor is the least RLIMIT_DATA that is ever set: every agent CLI that was measured
// finishes a turn at 2 GiB, and some do not start below.
const rlimitFloor = 2 * limit.GiB

// rlimitCage limits each process by itself; the monitor watches their sum.
type rlimitCage struct {
	watchedCage
	limits shim.Limits
}

func newRlimit(spec *Spec, l Limits) (cage, error) {
	if err := spec.remember(Remains{Layer: Rlimit}); err != nil {
		return nil, err
	}
	c := &rlimitCage{watchedCage: newWatched(l)}
	if l.Memory > 0 {
		c.limits.Data = uint64(max(l.Memory, rlimitFloor))
		c.held.Memory = ByProcess
	}
	c.limits.AddressSpace = uint64(l.AddressSpace)
	c.limits.Processes = uint64(max(0, l.UserProcesses))
	return c, nil
}

// launch executes the shim, which sets the limits on itself and becomes the command.
func (r *rlimitCage) launch(c *command) (int, error) {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return 0, fmt.Errorf("find own executable for the rlimit shim: %w", err)
	}
	if strings.HasSuffix(self, " (deleted)") { // replaced by an upgrade while we run
		self = "/proc/self/exe"
	}
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return 0, err
	}
	failure := os.NewFile(uintptr(pipe[0]), "shim")
	defer failure.Close()
	// The write end must cross one exec without taking a number that the command inherits.
	// The fork lock keeps other forks of this program from inheriting it meanwhile.
	syscall.ForkLock.Lock()
	_, err = unix.FcntlInt(uintptr(pipe[1]), unix.F_SETFD, 0)
	inner := *c
	inner.path = self
	inner.args = append([]string{shim.Name, r.limits.Encode(), strconv.Itoa(pipe[1]), c.path}, c.args...)
	syscall.ForkLock.Unlock()
	var pid int
	if err == nil {
		pid, err = inner.fork()
	}
	_ = unix.Close(pipe[1])
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
	errno, _ := strconv.Atoi(string(text))
	return 0, execError(c.path, syscall.Errno(errno))
}
