//go:build unix

package sandbox

import (
	"errors"
	"os"
	"syscall"
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
