package sandbox

import (
	"github.com/plimsoll/plimsoll/internal/process/proctree"
	"github.com/plimsoll/plimsoll/limit"
)

// maxRSSMethod names the source of exitStatus.maxRSS, a member of PROCESS_MEMORY_COUNTERS.
const maxRSSMethod = "PeakPagefileUsage"

// reapOrphans does nothing: no process is adopted here.
func reapOrphans(bool) (release func()) { return func() {} }

// startedByGo returns false and false. It is asked only about adopted processes, and there are none here.
func startedByGo(int) (started, sure bool) { return false, false }

// privateMemory returns the private commit charge of a process.
func privateMemory(pid int) limit.Bytes { return proctree.Private(pid) }

// allMembers appends the pids in a cage's groups, including those of inner runs; it appends none for a cage without groups.
func allMembers(pids []int, c cage) []int {
	pids, _ = c.members(pids)
	return pids
}
