//go:build unix

package run

import (
	"os/signal"
	"syscall"
)

// ignoresHangup reports whether SIGHUP was ignored when this process started, as under nohup.
func ignoresHangup() bool { return signal.Ignored(syscall.SIGHUP) }
