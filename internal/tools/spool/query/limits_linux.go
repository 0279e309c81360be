package query

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

func setLimit(which int, value uint64) {
	_ = unix.Setrlimit(which, &unix.Rlimit{Cur: value, Max: value})
}

// preferForOOM makes this process the first that the kernel ends when memory is short, rather than the gateway that
// started it.
func preferForOOM() { _ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) }

// addressSpace returns the size of this process's address space in bytes; 0 if it cannot be read.
func addressSpace() int64 {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	first, _, _ := bytes.Cut(statm, []byte{' '})
	pages, err := strconv.ParseInt(string(first), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
