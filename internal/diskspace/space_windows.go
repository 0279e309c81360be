package diskspace

import (
	"errors"

	"golang.org/x/sys/windows"
)

// Of returns the size of a directory's volume, and what is free for this user, in bytes. ok is false if it cannot be told.
func Of(dir string) (total, free int64, ok bool) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, 0, false
	}
	var mine, all uint64
	if windows.GetDiskFreeSpaceEx(name, &mine, &all, nil) != nil {
		return 0, 0, false
	}
	return int64(all), int64(mine), true
}

// IsFull reports whether an error means that the disk is full.
func IsFull(err error) bool { return CanMakeRoom(err) }

// CanMakeRoom reports whether an error means a full disk, so that removing other files would help.
func CanMakeRoom(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}
