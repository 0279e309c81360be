package sandbox

import (
	"fmt"
	"time"

	"github.com/plimsoll/plimsoll/process/internal/sysfile"
)

// schedUseOf reads /proc/PID/schedstat: nanoseconds on a processor, nanoseconds of waiting for one, and a count
// (Documentation/scheduler/sched-stats.rst). Kernels without CONFIG_SCHED_INFO have none.
func schedUseOf(pid int) (schedUse, bool) {
	body, err := sysfile.Read(fmt.Sprintf("/proc/%d/schedstat", pid), sysfile.Small)
	if err != nil {
		return schedUse{}, false
	}
	return parseSchedstat(string(body))
}

func parseSchedstat(text string) (schedUse, bool) {
	var ran, waited uint64
	if n, _ := fmt.Sscan(text, &ran, &waited); n != 2 || ran > 1<<62 || waited > 1<<62 {
		return schedUse{}, false
	}
	return schedUse{time.Duration(ran), time.Duration(waited)}, true
}
