package lineedit

import "golang.org/x/sys/unix"

// ioctl(2) requests of termios, see ioctl_tty(2); the second one takes effect at once and loses nothing that was typed.
const getTermios, setTermios = unix.TCGETS, unix.TCSETS
