package sandbox

import (
	"fmt"
	"os"

	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/internal/cgroupfs"
	"github.com/plimsoll/plimsoll/process/internal/sysfile"
)

// maxRSSMethod names the source of exitStatus.maxRSS.
const maxRSSMethod = "ru_maxrss"

// maxRSSUnit is the unit of ru_maxrss (getrusage(2)).
const maxRSSUnit = limit.KiB

// resident reads how much memory a process holds, its anonymous part.
func resident(pid int) limit.Bytes {
	body, err := sysfile.Read(fmt.Sprintf("/proc/%d/statm", pid), sysfile.Small)
	if err != nil {
		return 0
	}
	var size, pages, shared int64
	if _, err := fmt.Sscan(string(body), &size, &pages, &shared); err != nil {
		return 0
	}
	return limit.Bytes(max(0, pages-shared)) * limit.Bytes(os.Getpagesize())
}

// allMembers lists the pids of a cage's groups, those of inner runs included.
func allMembers(c cage) []int {
	var root string
	switch g := c.(type) {
	case *group2:
		root = g.dir
	case *group1:
		root = g.memory
	default:
		return nil
	}
	var pids []int
	for _, dir := range cgroupfs.Tree(root) {
		p, _ := cgroupfs.Procs(dir)
		pids = append(pids, p...)
	}
	return pids
}
