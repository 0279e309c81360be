package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// forkInto starts c in the cgroup v2 group whose directory is open as dir (CLONE_INTO_CGROUP of clone3(2), Linux 5.7), and returns its pid.
// The error is a [*cloneError] where the kernel or a seccomp filter refuses that, which is not the command's fault.
func (c *command) forkInto(dir *os.File) (int, error) {
	c.sys.UseCgroupFD, c.sys.CgroupFD = true, int(dir.Fd())
	pid, err := c.fork()
	if err == nil {
		return pid, nil
	}
	c.sys.UseCgroupFD = false
	if refused := cloneRefused(dir); refused != nil {
		return 0, refused
	}
	return 0, err
}

// cloneError means that no process can be started in a group.
type cloneError struct {
	group string
	err   error
}

func (e *cloneError) Error() string {
	return fmt.Sprintf("start a process in %s (clone3 with CLONE_INTO_CGROUP, Linux 5.7): %v", e.group, e.err)
}
func (e *cloneError) Unwrap() error { return e.err }

// cloneRefused returns a [*cloneError] when clone3 into the group is refused, and nil when the exec is: fork(2) and execve(2) report both
// with the same numbers. It starts a program that fails for a reason that clone never has. Want of memory or of processes would meet every
// other way to fork too and is nil.
func cloneRefused(dir *os.File) error {
	attr := &syscall.ProcAttr{Sys: &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}}
	_, err := syscall.ForkExec("/"+strings.Repeat("x", 300), []string{"x"}, attr)
	switch {
	case errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM):
		return nil
	case err == nil: // there is no such program
		return nil
	}
	return &cloneError{group: dir.Name(), err: err}
}
