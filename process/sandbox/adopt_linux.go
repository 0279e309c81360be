package sandbox

import (
	"os"

	"github.com/plimsoll/plimsoll/internal/process/cgroupfs"
	"github.com/plimsoll/plimsoll/internal/process/proctree"
	"github.com/plimsoll/plimsoll/limit"
)

// maxRSSMethod names the source of exitStatus.maxRSS.
const maxRSSMethod = "ru_maxrss"

// maxRSSUnit is the unit of ru_maxrss (getrusage(2)).
const maxRSSUnit = limit.KiB

// inheritedPeak returns what a child's ru_maxrss starts at: the highest resident size of our memory, which the child holds until it executes its
// command (exec_mmap in fs/exec.c). Our own ru_maxrss would be too much: it has our parent's in it.
func inheritedPeak() limit.Bytes { return proctree.HighWater(os.Getpid()) }

// privateMemory returns the resident anonymous memory of a process; 0 when it has gone.
func privateMemory(pid int) limit.Bytes {
	return limit.Bytes(proctree.PrivatePages(pid)) * limit.Bytes(os.Getpagesize())
}

// allMembers appends the pids in a cage's groups, including those of inner runs; it appends none for a cage without groups.
func allMembers(pids []int, c cage) []int {
	var root string
	switch g := c.(type) {
	case *group2:
		root = g.dir
	case *group1:
		root = g.memory
	default:
		return pids
	}
	for _, dir := range cgroupfs.Tree(root) {
		pids, _ = cgroupfs.AppendProcs(pids, dir)
	}
	return pids
}
