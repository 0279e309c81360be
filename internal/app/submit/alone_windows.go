package submit

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// alone returns how a process is started that outlives this one and its console.
func alone() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP}
}
