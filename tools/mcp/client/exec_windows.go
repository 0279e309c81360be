package client

import "os"

// Windows has no SIGTERM; the specification goes on to forced termination there.
func terminate(p *os.Process) { _ = p.Kill() } // it has ended, if it fails

func exitOf(s *os.ProcessState) Exit { return Exit{Code: s.ExitCode()} }
