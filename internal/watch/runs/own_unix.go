//go:build unix

package runs

import (
	"io/fs"
	"os"
	"syscall"
)

// isOwn reports whether a file belongs to this user.
func isOwn(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
