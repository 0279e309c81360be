//go:build unix

package archive

import (
	"errors"

	"golang.org/x/sys/unix"
)

// DiskFull reports whether an error is about room: of the disk, of a quota, or of a process' limit.
func DiskFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}
