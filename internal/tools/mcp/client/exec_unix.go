//go:build !windows

package client

import (
	"os"
	"syscall"
)

// terminate asks a process to end.
func terminate(p *os.Process) { _ = p.Signal(syscall.SIGTERM) } // it has ended, if it fails

// exitOf describes how a process ended.
func exitOf(s *os.ProcessState) Exit {
	exit := Exit{Code: s.ExitCode()}
	if status, ok := s.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		exit.Signal = status.Signal().String()
	}
	return exit
}
