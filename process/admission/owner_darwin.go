package admission

import (
	"os"

	"golang.org/x/sys/unix"
)

// bootID returns kern.bootsessionuuid: a new one at every boot.
func bootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil || id == "" {
		host, _ := os.Hostname()
		return "host-" + host
	}
	return id
}

func pidNamespace() uint64 { return 0 }

// startTime returns the start of a process in microseconds since 1970, or 0.
func startTime(pid int) uint64 {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || p == nil {
		return 0
	}
	start := p.Proc.P_starttime
	return uint64(start.Sec)*1e6 + uint64(start.Usec)
}

// processStopped reports whether a signal has stopped the process (SSTOP in sys/proc.h).
func processStopped(pid int) bool {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	const stopped = 4
	return err == nil && p != nil && p.Proc.P_stat == stopped
}
