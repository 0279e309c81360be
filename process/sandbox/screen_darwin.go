package sandbox

import "golang.org/x/sys/unix"

const getTermios = unix.TIOCGETA
