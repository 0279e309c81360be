//go:build !windows

package statefile

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// unwaiting makes open(2) not wait for the other end of a pipe, careful makes it not follow a link in
// the last element either. O_NONBLOCK has no effect on a regular file.
const (
	unwaiting = unix.O_NONBLOCK
	careful   = unwaiting | unix.O_NOFOLLOW
)

// IsOwn reports whether a file belongs to the effective user of this process; always true on Windows.
func IsOwn(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
