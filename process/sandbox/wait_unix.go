//go:build unix

package sandbox

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/process/proctree"
	"github.com/plimsoll/plimsoll/limit"
)

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
			e := statusOf(&usage)
			e.signal = int(status.Signal())
			e.code = 128 + e.signal
			return e
		case status.Exited():
			e := statusOf(&usage)
			e.code = status.ExitStatus()
			return e
		}
	}
}

func statusOf(u *unix.Rusage) exitStatus {
	return exitStatus{
		cpu:    time.Duration(u.Utime.Nano() + u.Stime.Nano()),
		maxRSS: limit.Bytes(u.Maxrss) * maxRSSUnit,
	}
}

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

func startTime(pid int) uint64 {
	start, err := proctree.StartTime(pid)
	if err != nil {
		return 0
	}
	return start
}
