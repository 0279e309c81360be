package proctree

import "github.com/plimsoll/plimsoll/limit"

// Private returns the physical footprint of one process in bytes; 0 when it is not known.
func Private(pid int) limit.Bytes {
	private, _, err := memoryOf(Process{PID: pid})
	if err != nil {
		return 0
	}
	return min(private, maxBytes)
}
