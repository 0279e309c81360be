//go:build darwin || freebsd || netbsd || openbsd

package lineedit

import "golang.org/x/sys/unix"

// ioctl(2) requests of termios, see tty(4).
const getTermios, setTermios = unix.TIOCGETA, unix.TIOCSETA
