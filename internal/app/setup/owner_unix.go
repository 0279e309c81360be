//go:build unix

package setup

import (
	"os"
	"syscall"
)

// ownFile reports whether a file belongs to this user.
func ownFile(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
