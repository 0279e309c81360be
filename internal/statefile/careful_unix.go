//go:build !windows

package statefile

import "golang.org/x/sys/unix"

// careful makes open(2) neither wait for the other end of a pipe nor follow a link in the last
// element. O_NONBLOCK has no effect on a regular file.
const careful = unix.O_NONBLOCK | unix.O_NOFOLLOW
