//go:build unix

package diskspace

import (
	"errors"

	"golang.org/x/sys/unix"
)

// IsFull reports whether an error means that there is no room: on the disk, in a quota, or within the process's limit of file sizes.
func IsFull(err error) bool { return CanMakeRoom(err) || errors.Is(err, unix.EFBIG) }

// CanMakeRoom reports whether an error means a full disk or quota, so that removing other files would help.
func CanMakeRoom(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }
