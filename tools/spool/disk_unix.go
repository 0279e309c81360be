//go:build unix

package spool

import (
	"errors"

	"golang.org/x/sys/unix"
)

func diskFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}

// outOfSpace reports whether err means a full disk or quota, so that removing other files would help.
func outOfSpace(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }
