//go:build unix

package query

import (
	"time"

	"golang.org/x/sys/unix"
)

// confine takes from the process what no query needs: it can no longer open or write files or dump core, and the kernel ends it first when
// memory is short. It returns the size of its address space so far, in bytes; 0 if that is not known.
func confine() (mapped int64) {
	preferForOOM()
	mapped = addressSpace()
	for _, which := range []int{unix.RLIMIT_FSIZE, unix.RLIMIT_CORE, unix.RLIMIT_NOFILE} {
		_ = unix.Setrlimit(which, &unix.Rlimit{})
	}
	return mapped
}

// reserve is the memory that the runtime maps at its start and hardly uses, in bytes: a program that does nothing has 70 MiB of data, 1 MiB
// of it in memory. The watchdog does not count it.
const reserve = 72 << 20

// bound sets the kernel's limits for an order. If a limit cannot be set, the watchdog still bounds the memory and the parent the time.
func bound(memory, mapped int64, timeout time.Duration) {
	setLimit(unix.RLIMIT_DATA, uint64(memory+reserve))
	if mapped > 0 {
		// Linux does not count pages into RLIMIT_DATA that are mapped over others, which is
		// how the runtime takes memory: one allocation of any size would pass. Reserving the
		// addresses before is counted here. An arena is 64 MiB.
		setLimit(unix.RLIMIT_AS, uint64(mapped+memory+64<<20))
	}
	// The collector works on a second processor, and the second is the unit.
	seconds := uint64(timeout/time.Second)*2 + 2
	setLimit(unix.RLIMIT_CPU, seconds)
}
