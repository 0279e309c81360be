//go:build unix

package app

import (
	"os"
	"syscall"
)

// ownFile reports whether a file is this user's.
func ownFile(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
