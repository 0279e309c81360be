//go:build unix

package main

import (
	"os"
	"os/exec"
	"syscall"
)

// asNobody starts a command without root's rights, to whom every folder is writable.
func asNobody(cmd *exec.Cmd) {
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
}
