package archive

import (
	"errors"

	"golang.org/x/sys/windows"
)

// DiskFull reports whether an error means that the disk is full.
func DiskFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}
