package sandbox

import "os"

// hangupEvents: poll(2) reports POLLHUP unasked.
const hangupEvents = 0

// holdsInput takes the parent for the holder: the system does not tell who holds the other end of a pipe.
func holdsInput(pid int) bool { return pid == os.Getppid() }

// argumentsOf is not known here.
func argumentsOf(int) []string { return nil }
