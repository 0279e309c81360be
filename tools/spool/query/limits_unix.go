//go:build unix

package query

import (
	"time"

	"golang.org/x/sys/unix"
)

// confine takes from the process what no query needs.
func confine() {
	expendable()
	for _, which := range []int{unix.RLIMIT_FSIZE, unix.RLIMIT_CORE, unix.RLIMIT_NOFILE} {
		_ = unix.Setrlimit(which, &unix.Rlimit{})
	}
}

// reserve is what the runtime maps at its start and hardly touches, in bytes: a program
// that does nothing has 70 MiB of data and 1 MiB in memory. The watchdog counts without it.
const reserve = 72 << 20

// bound sets what the kernel enforces of an order's limits. A limit that cannot be set is
// still held by the watchdog, and the time by the parent.
func bound(memory int64, timeout time.Duration) {
	set(unix.RLIMIT_DATA, uint64(memory+reserve))
	// The collector works on a second processor, and the second is the unit.
	seconds := uint64(timeout/time.Second)*2 + 2
	set(unix.RLIMIT_CPU, seconds)
}
