package submit

import (
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// alone returns how a process is started that outlives this one and its console.
func alone() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP}
}

// endProcess kills: a process without a console cannot be asked. The job object of the run ends what is in it.
func endProcess(p *os.Process) error { return p.Kill() }
