package proctree

import (
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/plimsoll/plimsoll/limit"
)

// Private returns the private commit charge of one process in bytes; 0 when it is not known.
func Private(pid int) limit.Bytes {
	start, err := startOf(pid)
	if err != nil {
		return 0
	}
	private, _, err := memoryOf(Process{PID: pid, Start: start})
	if err != nil {
		return 0
	}
	return min(private, maxBytes)
}

// PeakPrivate returns the most private memory that the process behind handle ever had committed, in bytes, also after it has ended; 0 when
// it is not known.
func PeakPrivate(process windows.Handle) limit.Bytes {
	counters := memoryCounters{size: uint32(unsafe.Sizeof(memoryCounters{}))}
	ok, _, _ := getProcessMemoryInfo.Call(uintptr(process), uintptr(unsafe.Pointer(&counters)), uintptr(counters.size))
	if ok == 0 {
		return 0
	}
	return min(limit.Bytes(counters.peakPagefileUsage), maxBytes)
}
