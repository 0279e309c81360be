//go:build unix

package sandbox

import (
	"errors"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Screen is the state of the controlling terminal before a run.
type Screen struct {
	fd    int
	state *term.State
	// taken is true when a full-screen program had it before, such as the agent that this run is a part of.
	taken bool
	// drawn is true when somebody took the terminal's keys as they are pressed, as full-screen programs do.
	drawn atomic.Bool
	quit  chan struct{}
	early sync.WaitGroup
}

// earlyLooks are made in the first second, in which a program that does not find its settings has ended.
const (
	earlyLooks = 20
	earlyEvery = 50 * time.Millisecond
)

// SaveScreen returns the settings of the controlling terminal, for [Screen.Restore]. Without a terminal, or outside of its foreground, it
// returns a Screen that restores nothing.
func SaveScreen() *Screen {
	s := &Screen{fd: -1, quit: make(chan struct{})}
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return s
	}
	s.fd = fd
	if !ownsTerminal(fd) {
		return s
	}
	s.state, _ = term.GetState(fd)
	if s.taken = isRaw(fd); s.taken {
		return s
	}
	s.early.Go(func() {
		for range earlyLooks {
			select {
			case <-s.quit:
				return
			case <-time.After(earlyEvery):
				s.Look()
			}
		}
	})
	return s
}

// Look notes whether the command has set the terminal as a full-screen program does. Call it now and then while the run lasts.
func (s *Screen) Look() {
	if s.state != nil && !s.taken && isRaw(s.fd) {
		s.drawn.Store(true)
	}
}

// isRaw reports whether a terminal gives keys as they are pressed, as full-screen programs have it.
func isRaw(fd int) bool {
	now, err := unix.IoctlGetTermios(fd, getTermios)
	return err == nil && now.Lflag&unix.ICANON == 0
}

// ownsTerminal reports whether the terminal is ours to set: our process group is in its foreground, or the one that was has gone.
func ownsTerminal(fd int) bool {
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err == nil && (group == unix.Getpgrp() || group > 1 && errors.Is(unix.Kill(-group, 0), unix.ESRCH))
}

// Restore sets the terminal back after a command that could not do so itself: its settings, when a signal ended the command or it failed
// (code is not 0) and left the keys raw; and the modes of a full-screen program, when the command was one, or died of a signal such as
// SIGKILL. Other changes are left. It is called once, however the run ended.
func (s *Screen) Restore(signal, code int) {
	if s.fd < 0 {
		return
	}
	close(s.quit)
	s.early.Wait()
	defer func() { _ = unix.Close(s.fd); s.fd = -1 }()
	if s.state == nil || !ownsTerminal(s.fd) {
		return
	}
	s.Look()
	defer withoutTTOU()()
	if signal != 0 || code != 0 && isRaw(s.fd) {
		_ = term.Restore(s.fd, s.state)
	}
	died := slices.Contains([]unix.Signal{unix.SIGKILL, unix.SIGSEGV, unix.SIGABRT, unix.SIGBUS, unix.SIGILL}, unix.Signal(signal))
	// Where our output goes to a pipe, what is on the screen may be of who reads that, a pager.
	if !s.taken && (died || s.drawn.Load() && term.IsTerminal(int(os.Stdout.Fd()))) {
		_, _ = unix.Write(s.fd, []byte(afterFullScreen(os.Getenv)))
	}
}

// withoutTTOU keeps the kernel, until again is called, from stopping us for using the terminal while a group that has gone is in its
// foreground.
func withoutTTOU() (again func()) {
	if signal.Ignored(unix.SIGTTOU) {
		return func() {}
	}
	signal.Ignore(unix.SIGTTOU)
	return func() { signal.Reset(unix.SIGTTOU) }
}

// SignalName returns the name of a signal, such as "SIGKILL"; "" for 0 and for an unknown number.
func SignalName(signal int) string {
	if signal == 0 {
		return ""
	}
	return unix.SignalName(unix.Signal(signal))
}
