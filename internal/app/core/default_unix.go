//go:build unix && !linux

package core

import (
	"os/signal"
	"syscall"
)

// defaultAction gives sig back to the system, and reports whether it could. For SIGQUIT the Go runtime has no way to do that: it would answer with
// a dump of all stacks.
func defaultAction(sig syscall.Signal) bool {
	signal.Reset(sig)
	return sig != syscall.SIGQUIT
}
