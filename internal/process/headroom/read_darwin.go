package headroom

import (
	"encoding/binary"
	"fmt"
	"io/fs"

	"github.com/plimsoll/plimsoll/limit"
	"golang.org/x/sys/unix"
)

// Read takes a reading. It fails only when the size of the host's memory cannot be read. All of it is approximate: macOS compresses memory
// and grows its swap on demand.
func Read(s Source) (Reading, error) {
	if s.Root != nil {
		return readLinux(s.Root)
	}
	total, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return Reading{}, fmt.Errorf("headroom: cannot tell the host's memory: sysctl hw.memsize: %w", err)
	}
	r := Reading{
		MemTotal: limit.Bytes(min(total, 1<<62)),
		Approximate: []string{
			"macOS: free, purgeable and file-backed pages count as available",
			"macOS: swap grows on demand; what is allocated and unused now counts as free",
		},
	}
	page := uint64(unix.Getpagesize())
	for _, name := range []string{
		"vm.page_free_count", "vm.page_purgeable_count",
		"vm.page_pageable_external_count", // with the speculative pages, so those are not added again
	} {
		if n, err := unix.SysctlUint32(name); err == nil {
			r.MemAvailable = AddCapped(r.MemAvailable, limit.Bytes(uint64(n)*page))
		}
	}
	r.MemAvailable = min(r.MemAvailable, r.MemTotal)
	// struct xsw_usage of <sys/sysctl.h>: total, available, used (bytes, 64 bits each), …
	if raw, err := unix.SysctlRaw("vm.swapusage"); err == nil && len(raw) >= 24 {
		r.SwapTotal = limit.Bytes(min(binary.NativeEndian.Uint64(raw), 1<<62))
		r.SwapFree = min(limit.Bytes(min(binary.NativeEndian.Uint64(raw[8:]), 1<<62)), r.SwapTotal)
	}
	return r, nil
}

// machineRoot returns nil: this machine is asked by system calls.
func machineRoot() fs.FS { return nil }
