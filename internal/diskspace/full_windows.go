package diskspace

import (
	"errors"

	"golang.org/x/sys/windows"
)

// IsFull reports whether an error means that the disk is full.
func IsFull(err error) bool { return CanMakeRoom(err) }

// CanMakeRoom reports whether an error means a full disk, so that removing other files would help.
func CanMakeRoom(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}
