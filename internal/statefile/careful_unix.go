//go:build !windows

package statefile

import "golang.org/x/sys/unix"

// unwaiting makes open(2) not wait for the other end of a pipe, careful makes it not follow a link in
// the last element either. O_NONBLOCK has no effect on a regular file.
const (
	unwaiting = unix.O_NONBLOCK
	careful   = unwaiting | unix.O_NOFOLLOW
)
