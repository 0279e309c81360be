package sandbox

import (
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/internal/proctree"
)

// maxRSSMethod names the source of exitStatus.maxRSS, a member of PROCESS_MEMORY_COUNTERS.
const maxRSSMethod = "PeakPagefileUsage"

// becomeSubreaper does nothing: Windows has no orphans to adopt.
func becomeSubreaper() (release func()) { return func() {} }

// resident is the private commit charge of a process.
func resident(pid int) limit.Bytes { return proctree.Private(pid) }

// allMembers lists the processes of a job, those of jobs inside it included.
func allMembers(c cage) []int {
	pids, _ := c.members(nil)
	return pids
}
