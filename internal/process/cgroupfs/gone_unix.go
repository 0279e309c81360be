//go:build unix

package cgroupfs

import (
	"errors"
	"syscall"
)

// isGone reports whether an error says that a group was removed: reading a file of it that was opened before gives ENODEV.
func isGone(err error) bool { return errors.Is(err, syscall.ENODEV) }
