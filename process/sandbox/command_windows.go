package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/windows"

	"github.com/plimsoll/plimsoll/internal/process/proctree"
	"github.com/plimsoll/plimsoll/limit"
)

// killedStatus is the exit status of what Plimsoll ends: 128+SIGKILL, as elsewhere.
const killedStatus = 137

// newCommand makes the arguments of CreateProcess. Of the inherited handles only the three
// standard streams pass on.
func newCommand(spec *Spec) *command {
	c := &command{path: spec.Path, args: spec.Args, env: withSystemRoot(spec.environ()), dir: spec.Dir}
	for _, f := range spec.streams() {
		handle := f.Fd()
		if windows.Handle(handle) == windows.InvalidHandle {
			handle = 0 // a closed stream stays closed
		}
		c.files = append(c.files, handle)
	}
	if spec.Detach {
		c.sys.CreationFlags |= windows.CREATE_NEW_PROCESS_GROUP
		if !Terminal() {
			c.sys.CreationFlags |= windows.CREATE_NO_WINDOW // else a window would open
		}
	}
	return c
}

// withSystemRoot adds SYSTEMROOT when it is missing: without it many programs can't load
// their libraries.
func withSystemRoot(env []string) []string {
	const name = "SYSTEMROOT="
	for _, e := range env {
		if len(e) >= len(name) && strings.EqualFold(e[:len(name)], name) {
			return env
		}
	}
	return append(env, name+os.Getenv("SYSTEMROOT"))
}

// commands are the handles of the commands that run, by pid. A pid stays taken as long as
// its handle is open.
var commands sync.Map

// findHandle returns the handle of a command that runs, 0 if there is none with this pid.
func findHandle(pid int) windows.Handle {
	handle, ok := commands.Load(pid)
	if !ok {
		return 0
	}
	return handle.(windows.Handle)
}

// forgetCommand closes the handle of a command that was waited for.
func forgetCommand(pid int) {
	if handle, ok := commands.LoadAndDelete(pid); ok {
		_ = windows.CloseHandle(handle.(windows.Handle))
	}
}

// fork starts the process, and stores its handle in commands for those who wait for it.
func (c *command) fork() (int, error) {
	attr := &syscall.ProcAttr{Dir: c.dir, Env: c.env, Files: c.files, Sys: &c.sys}
	pid, handle, err := syscall.StartProcess(c.path, c.args, attr)
	if err != nil {
		return 0, execError(c.path, err)
	}
	commands.Store(pid, windows.Handle(handle))
	return pid, nil
}

// execError returns the error for a program that could not be started, with the exit status of shells: 127 if it is not there, else 126.
func execError(path string, err error) error {
	status := 126
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, statErr := os.Stat(path); statErr != nil {
			status = 127
		}
	case errors.Is(err, windows.ERROR_BAD_EXE_FORMAT):
		err = fmt.Errorf("%w; name its interpreter before it, as in: python %s", err, path)
	}
	return &ExecError{Path: path, Status: status, Err: err}
}

// waitFor waits until pid has ended and returns how. Nothing stops a process on Windows, so that onStop is never called.
func waitFor(pid int, _ func(int)) exitStatus {
	defer forgetCommand(pid)
	handle := findHandle(pid)
	if _, err := windows.WaitForSingleObject(handle, windows.INFINITE); err != nil {
		return exitStatus{code: 125, err: fmt.Errorf("wait for pid %d: %w", pid, err)}
	}
	var code uint32
	if err := windows.GetExitCodeProcess(handle, &code); err != nil {
		return exitStatus{code: 125, err: fmt.Errorf("exit code of pid %d: %w", pid, err)}
	}
	e := exitStatus{code: int(code), signal: int(nearestSignal(code)), maxRSS: proctree.PeakPrivate(handle)}
	var created, exited, kernel, user windows.Filetime
	if windows.GetProcessTimes(handle, &created, &exited, &kernel, &user) == nil {
		e.cpu = time.Duration(filetimeUnits(kernel)+filetimeUnits(user)) * 100
	}
	return e
}

// filetimeUnits returns a duration in units of 100 ns.
func filetimeUnits(t windows.Filetime) int64 { return int64(t.HighDateTime)<<32 | int64(t.LowDateTime) }

// nearestSignal returns the signal that comes nearest to the way a process ended, or 0. The exit code itself stays what Windows says: cmd.exe looks
// for STATUS_CONTROL_C_EXIT to end its batch file.
func nearestSignal(code uint32) syscall.Signal {
	switch windows.NTStatus(code) {
	case windows.STATUS_CONTROL_C_EXIT:
		return syscall.SIGINT
	case windows.STATUS_ACCESS_VIOLATION:
		return syscall.SIGSEGV
	case windows.STATUS_ILLEGAL_INSTRUCTION:
		return syscall.SIGILL
	case windows.STATUS_STACK_BUFFER_OVERRUN: // what abort() and failed assertions raise
		return syscall.SIGABRT
	case killedStatus:
		return syscall.SIGKILL
	case 128 + windows.NTStatus(syscall.SIGTERM):
		return syscall.SIGTERM
	}
	return 0
}

func (r *Run) onStop(int) {}

// inheritedPeak returns 0: a child starts with nothing of its parent's memory.
func inheritedPeak() limit.Bytes { return 0 }

// Signal ends the command when sig is SIGTERM, SIGINT or SIGKILL: Windows knows no other way to reach a process. Other signals are an
// error. It returns nil when the command has ended.
func (r *Run) Signal(sig syscall.Signal) error {
	select {
	case <-r.exited:
		return nil
	default:
	}
	return proctree.Signal(proctree.Process{PID: r.pid, Start: r.started}, sig)
}

// signalAll returns an error, unless there are no members: Windows cannot stop a process.
func signalAll(members []proctree.Process, _ bool) error {
	if len(members) == 0 {
		return nil
	}
	return fmt.Errorf("stop or continue a process: %w on Windows", errors.ErrUnsupported)
}
