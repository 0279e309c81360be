package metrics

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// readProcess returns the figures that can be read without C: the memory is not among them.
func readProcess() map[string]float64 {
	told := map[string]float64{}
	if p, err := unix.SysctlKinfoProc("kern.proc.pid", os.Getpid()); err == nil {
		told[processStarted] = float64(p.Proc.P_starttime.Nano() / int64(time.Second))
	}
	var used unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &used) == nil {
		told[processCPU] = time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
	}
	if n, ok := countOpenFiles("/dev/fd"); ok {
		told[processOpenFiles] = float64(n)
	}
	var bound unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &bound) == nil {
		told[processMaxFiles] = float64(bound.Cur)
	}
	if unix.Getrlimit(unix.RLIMIT_AS, &bound) == nil {
		told[processVirtualLimit] = float64(bound.Cur)
	}
	return told
}
