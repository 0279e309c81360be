package sandbox

import (
	"syscall"

	"golang.org/x/sys/unix"
)

const getTermios = unix.TCGETS

// raiseStop stops this process. Sent to our own thread, the stop happens before the call returns.
func raiseStop(s syscall.Signal) { _ = unix.Tgkill(unix.Getpid(), unix.Gettid(), s) }
