package sandbox

import (
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

const getTermios = unix.TCGETS

// raiseStop stops this process. Sent to our own thread, the stop happens before the call returns.
func raiseStop(s syscall.Signal) {
	runtime.LockOSThread() // or the goroutine may be on another thread by then, and go on
	defer runtime.UnlockOSThread()
	_ = unix.Tgkill(unix.Getpid(), unix.Gettid(), s)
}
