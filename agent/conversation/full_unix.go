//go:build unix

package conversation

import (
	"errors"

	"golang.org/x/sys/unix"
)

// diskFull reports whether an error is about room: of the disk, of a quota, or of a process' limit.
func diskFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}
