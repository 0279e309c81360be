package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/windows"
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

func commandHandle(pid int) windows.Handle {
	handle, ok := commands.Load(pid)
	if !ok {
		return 0
	}
	return handle.(windows.Handle)
}

func forgetCommand(pid int) {
	if handle, ok := commands.LoadAndDelete(pid); ok {
		_ = windows.CloseHandle(handle.(windows.Handle))
	}
}

func (c *command) fork() (int, error) {
	attr := &syscall.ProcAttr{Dir: c.dir, Env: c.env, Files: c.files, Sys: &c.sys}
	pid, handle, err := syscall.StartProcess(c.path, c.args, attr)
	if err != nil {
		return 0, execError(c.path, err)
	}
	commands.Store(pid, windows.Handle(handle))
	return pid, nil
}

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
