//go:build unix && !linux

package query

import (
	"math"

	"golang.org/x/sys/unix"
)

// setLimit sets the soft and the hard limit of a resource of this process to value. If the system refuses, the limits stay.
func setLimit(which int, value uint64) {
	var r unix.Rlimit
	if unix.Getrlimit(which, &r) != nil || value > math.MaxInt64 {
		return
	}
	// The fields are signed on some of these systems.
	assign(&r.Cur, value)
	assign(&r.Max, value)
	_ = unix.Setrlimit(which, &r)
}

func assign[T int64 | uint64](field *T, value uint64) { *field = T(value) }

func preferForOOM() {}

// addressSpace returns the size of this process's address space in bytes; 0 if it cannot be read.
func addressSpace() int64 { return 0 }
