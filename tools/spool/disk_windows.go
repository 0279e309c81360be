package spool

import (
	"errors"

	"golang.org/x/sys/windows"
)

func diskFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}

// outOfSpace reports whether err means a full disk, so that removing other files would help.
func outOfSpace(err error) bool { return diskFull(err) }
