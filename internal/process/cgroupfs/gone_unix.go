//go:build unix

package cgroupfs

import (
	"errors"
	"syscall"
)

// isGone: reading a file of a removed group that was opened before gives ENODEV.
func isGone(err error) bool { return errors.Is(err, syscall.ENODEV) }
