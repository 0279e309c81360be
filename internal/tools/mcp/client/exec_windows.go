package client

import "os"

// terminate kills the process: Windows has no SIGTERM, and there the specification goes straight to a forced end.
func terminate(p *os.Process) { _ = p.Kill() } // it has ended, if it fails

func exitOf(s *os.ProcessState) Exit { return Exit{Code: s.ExitCode()} }
