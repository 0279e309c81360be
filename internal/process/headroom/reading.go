// Package headroom reads how much memory there really is: on the host, and inside every control group with a memory limit that encloses this
// process.
//
//	r, err := headroom.Read(headroom.Source{})
//	room := r.Available(true)      // with free swap; room.BoundBy says what bounds it
//	headroom.MinFree(r.Capacity()) // what should stay free
//
// The host's part is MemAvailable and SwapFree. A cgroup leaves limit − (usage − inactive_file), for inactive file pages are given back before
// anything is killed. Memory and swap are bounded by the least of all levels of both hierarchies (v1, v2), and under v1 the two together by
// memory.memsw. No figure is ever negative. What is not exact (a kernel without MemAvailable, a path outside the mount) is named in
// [Reading.Approximate]; a limit above the root of the mount cannot be seen. On macOS free, purgeable and file-backed pages are added up; on Windows
// an enclosing job object's limit is not seen.
//
// All functions are pure readers and safe for concurrent use; a reading takes a few hundred microseconds. Who reads all day has a [Reader].
package headroom

import (
	"io/fs"
	"math"

	"github.com/plimsoll/plimsoll/limit"
)

// Unlimited stands for a limit that is not set.
const Unlimited = limit.Bytes(math.MaxInt64)

// Host is [Room.BoundBy] when no cgroup leaves less than the host itself.
const Host = "host"

// Source names the tree to read. The zero value is this machine.
type Source struct {
	// Root is the root of a Linux file system (proc/meminfo, proc/self/cgroup,
	// proc/self/mountinfo and the cgroup mounts they name). Nil means this machine's, which
	// on macOS and Windows is asked by system calls instead.
	Root fs.FS
}

// Reading holds the memory found at one moment. All sizes are in bytes and not negative.
type Reading struct {
	// MemTotal, MemAvailable, SwapTotal and SwapFree are the host's.
	MemTotal, MemAvailable, SwapTotal, SwapFree limit.Bytes
	// Cgroups are the enclosing cgroups that limit memory or swap, innermost first.
	Cgroups []Cgroup
	// Approximate names what could not be read exactly, in words; empty when all could.
	Approximate []string
}

// Cgroup is an enclosing control group with a limit. A limit that is not set is [Unlimited].
type Cgroup struct {
	// Path is the cgroup's path as /proc/self/cgroup writes it ("/user.slice").
	Path string
	// Dir is its directory ("/sys/fs/cgroup/user.slice").
	Dir string
	// Version is 1 or 2.
	Version int
	// Limit is memory.max (v1: memory.limit_in_bytes).
	Limit limit.Bytes
	// Usage is memory.current, with page cache.
	Usage limit.Bytes
	// InactiveFile is the reclaimable part of Usage: inactive_file of memory.stat, with
	// all descendants (v1: total_inactive_file).
	InactiveFile limit.Bytes
	// SwapLimit and SwapUsage are memory.swap.max and memory.swap.current (v2).
	SwapLimit, SwapUsage limit.Bytes
	// BothLimit and BothUsage are memory.memsw.limit_in_bytes and usage_in_bytes (v1):
	// memory and swap together.
	BothLimit, BothUsage limit.Bytes
}

// Room is memory that can be given out.
type Room struct {
	// Physical is memory, Swap is swap space, Total their sum.
	Physical, Swap, Total limit.Bytes
	// BoundBy is the path of the cgroup that leaves the least, or [Host].
	BoundBy string
}

// Available returns the memory that is free now: MemAvailable, and SwapFree when countSwap is true, bounded by every enclosing cgroup as
// limit − (usage − inactive_file).
func (r Reading) Available(countSwap bool) Room {
	return r.tightestRoom(r.MemAvailable, r.SwapFree, countSwap, func(c Cgroup) (memory, swap, both limit.Bytes) {
		used := max(0, c.Usage-c.InactiveFile)
		return subtractCapped(c.Limit, used), subtractCapped(c.SwapLimit, c.SwapUsage), subtractCapped(c.BothLimit, max(0, c.BothUsage-c.InactiveFile))
	})
}

// Ceiling returns the memory that there would be if nothing else ran: the tightest of MemTotal and the enclosing limits, and of SwapTotal
// and theirs when countSwap is true. A run that needs more can never start.
func (r Reading) Ceiling(countSwap bool) Room {
	return r.tightestRoom(r.MemTotal, r.SwapTotal, countSwap, func(c Cgroup) (memory, swap, both limit.Bytes) {
		return c.Limit, c.SwapLimit, c.BothLimit
	})
}

// Capacity returns the tightest of MemTotal and the memory limits of the enclosing cgroups,
// without swap.
func (r Reading) Capacity() limit.Bytes { return r.Ceiling(false).Physical }

// tightestRoom returns the memory and swap that the host, of which memory and swap are the figures, and all enclosing cgroups allow, and which of
// them is the tightest. level returns the figures of one cgroup.
func (r Reading) tightestRoom(memory, swap limit.Bytes, countSwap bool, level func(Cgroup) (memory, swap, both limit.Bytes)) Room {
	room := Room{Physical: max(0, memory), BoundBy: Host}
	if countSwap {
		room.Swap = max(0, swap)
	}
	both, bothBy := Unlimited, ""
	for _, c := range r.Cgroups {
		m, s, b := level(c)
		if m < room.Physical {
			room.Physical, room.BoundBy = max(0, m), c.Path
		}
		room.Swap = min(room.Swap, max(0, s))
		if b < both {
			both, bothBy = max(0, b), c.Path
		}
	}
	room.Total = AddCapped(room.Physical, room.Swap)
	if both < room.Total {
		room.Total, room.BoundBy = both, bothBy
		room.Physical = min(room.Physical, both)
		room.Swap = both - room.Physical
	}
	return room
}

// subtractCapped returns limit − used, not below zero; [Unlimited] for an unlimited limit.
func subtractCapped(limit, used limit.Bytes) limit.Bytes {
	if limit >= Unlimited {
		return Unlimited
	}
	return max(0, limit-max(0, used))
}

// AddCapped returns a + b for sizes that are not negative, at most [Unlimited].
func AddCapped(a, b limit.Bytes) limit.Bytes {
	if a > Unlimited-b {
		return Unlimited
	}
	return a + b
}

// Bounds of [MinFree].
const (
	LeastMinFree = 256 * limit.MiB
	MostMinFree  = 2 * limit.GiB
)

// MinFree returns how much of total should stay free when runs are admitted: 5 %, at least 256 MiB (a desktop still reacts) or an eighth
// where that is less (a small container has room for its agent), and at most 2 GiB (a large server wastes none). For a total of 0, which
// means unknown, it is 256 MiB.
func MinFree(total limit.Bytes) limit.Bytes {
	least := LeastMinFree
	if total > 0 { // else it is not known
		least = min(least, total/8)
	}
	return min(max(total/20, least), MostMinFree)
}
