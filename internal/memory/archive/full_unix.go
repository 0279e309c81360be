//go:build unix

package archive

import (
	"errors"

	"golang.org/x/sys/unix"
)

// DiskFull reports whether an error means that there is no room: on the disk, in a quota, or within a process' limit of file sizes.
func DiskFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}
