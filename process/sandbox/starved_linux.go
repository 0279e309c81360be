package sandbox

import (
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/sysfile"
)

// schedUseOf reads /proc/PID/schedstat: nanoseconds on a processor, nanoseconds of waiting for one, and a count
// (Documentation/scheduler/sched-stats.rst). It returns false when that can't be read: kernels without CONFIG_SCHED_INFO have none.
func schedUseOf(pid int) (schedUse, bool) {
	var room [128]byte
	body, err := sysfile.ReadProcess(pid, "schedstat", room[:])
	if err != nil {
		return schedUse{}, false
	}
	return parseSchedstat(string(body))
}

func parseSchedstat(text string) (schedUse, bool) {
	first, rest, _ := strings.Cut(text, " ")
	second, _, _ := strings.Cut(rest, " ")
	ran, err := strconv.ParseInt(first, 10, 64)
	if err != nil || ran < 0 {
		return schedUse{}, false
	}
	waited, err := strconv.ParseInt(second, 10, 64)
	return schedUse{time.Duration(ran), time.Duration(waited)}, err == nil && waited >= 0
}
