//go:build unix

package sandbox

import (
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Screen is the state of the controlling terminal before a run.
type Screen struct {
	fd    int
	state *term.State
}

// SaveScreen remembers how the controlling terminal is set, when there is one and it is
// ours to set (we are in its foreground).
func SaveScreen() *Screen {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return &Screen{fd: -1}
	}
	s := &Screen{fd: fd}
	if foreground(fd) {
		s.state, _ = term.GetState(fd)
	}
	return s
}

func foreground(fd int) bool {
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// Restore puts the terminal back after a command that was killed and could not do it
// itself. What a command that ended by itself has changed is its own business.
func (s *Screen) Restore(signal int) {
	if s.fd < 0 {
		return
	}
	defer func() { _ = unix.Close(s.fd); s.fd = -1 }()
	if s.state == nil || !foreground(s.fd) {
		return
	}
	_ = term.Restore(s.fd, s.state)
	switch unix.Signal(signal) {
	case unix.SIGKILL, unix.SIGSEGV, unix.SIGABRT, unix.SIGBUS, unix.SIGILL:
		_, _ = unix.Write(s.fd, []byte(afterFullScreen))
	}
}

// SignalName is the name of a signal, "SIGKILL"; "" for 0.
func SignalName(signal int) string {
	if signal == 0 {
		return ""
	}
	return unix.SignalName(unix.Signal(signal))
}
