package usage

import (
	"errors"
	"syscall"
)

// ERROR_HANDLE_DISK_FULL and ERROR_DISK_FULL of winerror.h.
const (
	errorHandleDiskFull = syscall.Errno(39)
	errorDiskFull       = syscall.Errno(112)
)

func isFull(err error) bool {
	return errors.Is(err, errorHandleDiskFull) || errors.Is(err, errorDiskFull)
}
