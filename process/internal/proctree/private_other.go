//go:build !linux

package proctree

import "github.com/plimsoll/plimsoll/limit"

// Private is the private memory of one process in bytes (macOS: its physical footprint,
// Windows: its private commit charge); 0 when it can't be told.
func Private(pid int) limit.Bytes {
	p, err := Lookup(pid)
	if err != nil || p.Zombie() {
		return 0
	}
	private, _, err := memoryOf(p)
	if err != nil {
		return 0
	}
	return min(private, maxBytes)
}
