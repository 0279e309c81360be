//go:build unix

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/process/proctree"
	"github.com/plimsoll/plimsoll/limit"
)

// newCommand makes the fork and exec arguments of a spec.
func newCommand(spec *Spec) *command {
	c := &command{path: spec.Path, args: spec.Args, env: spec.environ(), dir: spec.Dir}
	for _, f := range spec.streams() {
		c.files = append(c.files, f.Fd())
	}
	c.sys.Setsid = spec.Detach
	return c
}

// fork starts c in the calling thread's control groups. A script without an interpreter
// line runs under /bin/sh, as execvp(3) and every shell do it.
func (c *command) fork() (int, error) {
	attr := &syscall.ProcAttr{Dir: c.dir, Env: c.env, Files: c.files, Sys: &c.sys}
	pid, err := syscall.ForkExec(c.path, c.args, attr)
	if errors.Is(err, syscall.ENOEXEC) {
		args := append([]string{"sh", c.path}, c.args[min(1, len(c.args)):]...)
		pid, err = syscall.ForkExec("/bin/sh", args, attr)
	}
	if err != nil {
		return 0, execError(c.path, err)
	}
	return pid, nil
}

// execError returns the error for a program that could not be started, with the exit status of shells: 127 if it is not there, else 126. A
// script that is there but whose interpreter is not gets 126 and an error that says so.
func execError(path string, err error) error {
	status := 126
	if errors.Is(err, syscall.ENOENT) {
		status = 127
		if _, statErr := os.Stat(path); statErr == nil {
			status = 126
			err = errors.New("its interpreter (the #! line, or the dynamic loader) is not there")
		}
	}
	return &ExecError{Path: path, Status: status, Err: err}
}

// waitFor waits until pid has ended and returns how. It calls onStop with the signal whenever the process is stopped: some agents suspend
// themselves by SIGSTOP, and a plain wait would never give the prompt back.
func waitFor(pid int, onStop func(int)) exitStatus {
	for {
		var status unix.WaitStatus
		var usage unix.Rusage
		_, err := unix.Wait4(pid, &status, unix.WUNTRACED, &usage)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return exitStatus{code: 125, err: fmt.Errorf("wait for pid %d: %w", pid, err)}
		case status.Stopped():
			onStop(int(status.StopSignal()))
			continue
		case status.Signaled():
			e := usageStatus(&usage)
			e.signal = int(status.Signal())
			e.code = 128 + e.signal
			return e
		case status.Exited():
			e := usageStatus(&usage)
			e.code = status.ExitStatus()
			return e
		}
	}
}

// usageStatus returns an exit status with the processor time and the peak that the kernel tells of a process, without how it ended.
func usageStatus(u *unix.Rusage) exitStatus {
	return exitStatus{
		cpu:    time.Duration(u.Utime.Nano() + u.Stime.Nano()),
		maxRSS: limit.Bytes(u.Maxrss) * maxRSSUnit,
	}
}

// onStop calls [Spec].OnStop, unless Freeze is behind the stop.
func (r *Run) onStop(signal int) {
	if r.spec.OnStop != nil && !r.stopping.Load() {
		r.spec.OnStop(signal)
	}
}

// Signal sends sig to the command, never to its group. It returns nil when the command has ended.
func (r *Run) Signal(sig syscall.Signal) error {
	select {
	case <-r.exited:
		return nil
	default:
	}
	return unix.Kill(r.pid, sig)
}

// signalAll sends SIGSTOP to all members if stop is set, else SIGCONT. A member that has ended is no error.
func signalAll(members []proctree.Process, stop bool) error {
	sig := syscall.SIGCONT
	if stop {
		sig = syscall.SIGSTOP
	}
	var failed error
	for _, p := range members {
		if err := proctree.Signal(p, sig); err != nil && !errors.Is(err, proctree.ErrGone) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}
