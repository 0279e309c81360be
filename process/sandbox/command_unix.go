//go:build unix

package sandbox

import (
	"errors"
	"os"
	"strings"
	"syscall"
)

// newCommand makes the fork and exec arguments of a spec.
func newCommand(spec *Spec) *command {
	env := spec.Env
	if env == nil {
		env = os.Environ()
	}
	cookie := CookieName + "="
	marked := make([]string, 0, len(env)+1)
	for _, e := range env {
		if !strings.HasPrefix(e, cookie) {
			marked = append(marked, e)
		}
	}
	marked = append(marked, cookie+spec.ID)
	files := spec.Files
	if files == nil {
		files = []*os.File{os.Stdin, os.Stdout, os.Stderr}
	}
	c := &command{path: spec.Path, args: spec.Args, env: marked, dir: spec.Dir}
	for _, f := range files {
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
