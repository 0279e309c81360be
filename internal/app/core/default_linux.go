package core

import (
	"syscall"
	"unsafe"
)

// defaultAction gives sig back to the kernel, and reports whether it could. signal.Reset gives it back to the Go runtime, whose answer to SIGQUIT
// is a dump of all stacks and status 2.
func defaultAction(sig syscall.Signal) bool {
	var act [64]byte // all zeros is SIG_DFL whatever the layout of struct sigaction
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&act)), 0, 8, 0, 0)
	return errno == 0
}
