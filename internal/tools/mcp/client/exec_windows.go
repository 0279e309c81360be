package client

import "os"

// terminate asks a process to end.
func terminate(p *os.Process) { _ = p.Kill() } // it has ended, if it fails

func exitOf(s *os.ProcessState) Exit { return Exit{Code: s.ExitCode()} }
