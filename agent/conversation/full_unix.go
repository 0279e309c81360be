//go:build unix

package conversation

import (
	"errors"

	"golang.org/x/sys/unix"
)

// diskFull reports whether an error means that there is no room: on the disk, in a quota, or within a process' limit of file sizes.
func diskFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}
