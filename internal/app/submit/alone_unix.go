//go:build unix

package submit

import "syscall"

// alone returns how a process is started that outlives this one and its terminal.
func alone() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
