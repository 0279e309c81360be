package sandbox

import "os"

// hangupEvents: poll(2) reports POLLHUP unasked.
const hangupEvents = 0

// holdsInput reports whether a process holds the writing end of our standard input, a pipe or a socket; false if that cannot be found out.
func holdsInput(pid int) bool { return pid == os.Getppid() }
