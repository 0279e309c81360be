//go:build unix

package runs

import (
	"io/fs"
	"os"
	"syscall"
)

// own says that a file is this user's.
func own(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
