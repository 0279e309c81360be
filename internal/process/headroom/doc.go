// Package headroom reads how much memory there really is: on the host, and inside every
// control group (cgroup) with a memory limit that encloses this process.
//
//	r, err := headroom.Read(headroom.Source{})
//	room := r.Available(true)        // with free swap
//	room.Physical, room.Swap         // the two parts of room.Total
//	room.BoundBy                     // "host", or the cgroup that leaves the least
//	headroom.MinFree(r.Capacity())   // what should stay free: 5 %, between 256 MiB (an eighth of a small container) and 2 GiB
//
// # What is counted
//
// The host's part is MemAvailable, which is the kernel's own estimate of what can be
// given to new work without swapping, and SwapFree. A cgroup leaves
// limit − (usage − inactive_file): file pages on the inactive list are given back before
// anything is killed. Memory is bounded by the least of all levels, swap by the least of
// all levels, and under cgroup v1 the two together by memory.memsw where it exists. No
// figure is ever negative.
//
// Both hierarchies are read (v2, v1, and hosts that mount both), from our own cgroup up
// to the mount's root. In a container the path in /proc/self/cgroup and the mount do not
// share a root; the root field of /proc/self/mountinfo says how they relate.
//
// # What is approximate
//
// A limit above the root of the mount (a container with its own cgroup namespace) cannot
// be seen. A kernel without MemAvailable, a cgroup whose usage cannot be read and a path
// outside the mount are named in [Reading.Approximate]. On macOS the free, purgeable
// and file-backed pages are added up, and its swap grows on demand, so that free
// swap means the part that is allocated now. On Windows it is the free physical memory and the
// free commit charge beyond it; an enclosing job object's limit is not seen.
//
// # Concurrency, cost, tests
//
// All functions are pure readers and safe for concurrent use. A reading takes a few
// hundred microseconds at most: memory.stat, the only expensive file, is read only where
// there is a limit. Who reads all day has a [Reader]. Tests read recorded trees through [Source.Root] (testdata holds
// one archive per kind of host); the parsers have fuzz targets.
package headroom
