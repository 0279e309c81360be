package headroom

import (
	"fmt"
	"io/fs"
	"unsafe"

	"github.com/plimsoll/plimsoll/limit"
	"golang.org/x/sys/windows"
)

// memoryStatusEx is MEMORYSTATUSEX of sysinfoapi.h.
type memoryStatusEx struct {
	length               uint32
	memoryLoad           uint32
	totalPhys            uint64
	availPhys            uint64
	totalPageFile        uint64
	availPageFile        uint64
	totalVirtual         uint64
	availVirtual         uint64
	availExtendedVirtual uint64
}

var globalMemoryStatusEx = windows.NewLazySystemDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")

// Read takes a reading. It fails only when the host's own memory cannot be read. Windows counts commit charge (memory and page file
// together); what it has beyond physical memory is given as swap.
func Read(s Source) (Reading, error) {
	if s.Root != nil {
		return readLinux(s.Root)
	}
	var m memoryStatusEx
	m.length = uint32(unsafe.Sizeof(m))
	if ok, _, err := globalMemoryStatusEx.Call(uintptr(unsafe.Pointer(&m))); ok == 0 {
		return Reading{}, fmt.Errorf("headroom: cannot tell the host's memory: GlobalMemoryStatusEx: %w", err)
	}
	size := func(n uint64) limit.Bytes { return limit.Bytes(min(n, 1<<62)) }
	r := Reading{
		MemTotal:     size(m.totalPhys),
		MemAvailable: min(size(m.availPhys), size(m.totalPhys)),
		SwapTotal:    max(0, size(m.totalPageFile)-size(m.totalPhys)),
		Approximate:  []string{"Windows: the commit charge left beyond free memory counts as free swap; limits of job objects are not seen"},
	}
	r.SwapFree = min(max(0, size(m.availPageFile)-size(m.availPhys)), r.SwapTotal)
	return r, nil
}

// machineRoot returns nil: this machine is asked by system calls.
func machineRoot() fs.FS { return nil }
