//go:build unix

package app

import (
	"os"
	"os/signal"
	"syscall"
)

// ownFile says that a file is this user's.
func ownFile(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// ignoresHangup says that SIGHUP was ignored when this process started, as under nohup.
func ignoresHangup() bool { return signal.Ignored(syscall.SIGHUP) }
