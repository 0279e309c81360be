//go:build unix

package fleet

import (
	"io/fs"
	"syscall"
)

// othersMayRead reports whether others may read a file with a secret. The group may where the system has put it there: that is how a Secret comes
// into a container.
func othersMayRead(info fs.FileInfo) bool {
	mode := info.Mode().Perm()
	if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Uid == 0 {
		return mode&0o037 != 0
	}
	return mode&0o077 != 0
}
