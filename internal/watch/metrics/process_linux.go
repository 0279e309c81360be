package metrics

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// ticksPerSecond is USER_HZ, in which /proc tells times: 100 on every architecture that Go runs on.
const ticksPerSecond = 100

// readProcess returns the figures in /proc, in bytes, seconds and seconds since 1970.
func readProcess() map[string]float64 {
	told := map[string]float64{}
	if stat, err := os.ReadFile("/proc/self/stat"); err == nil {
		readStat(told, stat)
	}
	if n, ok := countOpenFiles("/proc/self/fd"); ok {
		told[processOpenFiles] = float64(n)
	}
	var bound unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &bound) == nil {
		told[processMaxFiles] = float64(bound.Cur)
	}
	if unix.Getrlimit(unix.RLIMIT_AS, &bound) == nil {
		told[processVirtualLimit] = float64(bound.Cur)
	}
	if counters, err := os.ReadFile("/proc/self/net/netstat"); err == nil {
		readNetstat(told, string(counters))
	}
	return told
}

// readStat reads /proc/self/stat: proc_pid_stat(5) numbers the fields.
func readStat(told map[string]float64, stat []byte) {
	// The second field is the program's name, in which there may be spaces and parentheses.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	field := func(n int) (float64, bool) {
		if n-3 >= len(fields) {
			return 0, false
		}
		v, err := strconv.ParseUint(fields[n-3], 10, 64)
		return float64(v), err == nil
	}
	user, ok := field(14)
	system, ok2 := field(15)
	if ok && ok2 {
		told[processCPU] = (user + system) / ticksPerSecond
	}
	if ticks, ok := field(22); ok && bootTime() > 0 {
		told[processStarted] = bootTime() + ticks/ticksPerSecond
	}
	if v, ok := field(23); ok {
		told[processVirtual] = v
	}
	if pages, ok := field(24); ok {
		told[processResident] = pages * float64(os.Getpagesize())
	}
}

// bootTime is in seconds since 1970, 0 where nobody tells. It is read once: it follows the clock when that is set, and a process that
// started at another time would be another process.
var bootTime = sync.OnceValue(func() float64 {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(stat), "\nbtime ")
	line, _, _ := strings.Cut(after, "\n")
	v, _ := strconv.ParseFloat(line, 64)
	return v
})

// readNetstat finds what the network namespace of this process received and sent: the line of IpExt with the names is followed by the
// one with their values.
func readNetstat(told map[string]float64, counters string) {
	var names []string
	for line := range strings.Lines(counters) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "IpExt:" {
			continue
		}
		if names == nil {
			names = fields
			continue
		}
		for i, name := range names[:min(len(names), len(fields))] {
			family := map[string]string{"InOctets": processReceived, "OutOctets": processSent}[name]
			if v, err := strconv.ParseFloat(fields[i], 64); family != "" && err == nil {
				told[family] = v
			}
		}
		return
	}
}
