//go:build unix

package idle

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// InputOf returns a function that gives the time of the last input at a terminal, to within eight seconds, as w(1) tells it: the kernel sets
// the terminal's time of access when a program has read something. It returns nil when f is no terminal: a pipe keeps no such time, and an
// agent that reads from one goes to work.
func InputOf(f *os.File) func() time.Time {
	if !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	fd := int(f.Fd())
	return func() time.Time {
		var s unix.Stat_t
		if unix.Fstat(fd, &s) != nil {
			return time.Time{} // it has hung up
		}
		return time.Unix(s.Atim.Unix())
	}
}
