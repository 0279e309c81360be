//go:build !windows

package client

import (
	"os"
	"syscall"
)

func terminate(p *os.Process) { _ = p.Signal(syscall.SIGTERM) } // it has ended, if it fails

func exitOf(s *os.ProcessState) Exit {
	exit := Exit{Code: s.ExitCode()}
	if status, ok := s.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		exit.Signal = status.Signal().String()
	}
	return exit
}
