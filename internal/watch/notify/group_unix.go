//go:build unix

package notify

import (
	"os/exec"
	"syscall"
)

// ownGroup has a command start in a process group of its own, and be killed with it when its context ends. killWhole kills what is
// left in the group; it is for when the command has ended.
func ownGroup(cmd *exec.Cmd) (killWhole func()) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
