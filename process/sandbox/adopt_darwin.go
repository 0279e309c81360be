package sandbox

import (
	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/process/proctree"
	"github.com/plimsoll/plimsoll/limit"
)

// maxRSSMethod names the source of exitStatus.maxRSS.
const maxRSSMethod = "ru_maxrss"

// maxRSSUnit is the unit of ru_maxrss: XNU gives bytes (calcru in kern_resource.c).
const maxRSSUnit limit.Bytes = 1

// inheritedPeak returns what a child's ru_maxrss starts at, at most: our own.
func inheritedPeak() limit.Bytes {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return limit.Bytes(u.Maxrss) * maxRSSUnit
}

// reapOrphans takes the exit statuses of all processes that this one adopts, until release is called. With asSubreaper it first makes this
// process a subreaper, so that it adopts the orphans of a run. Without, it does nothing unless this process adopts orphans anyway, as the init
// of its PID namespace or because somebody else made it a subreaper.
func reapOrphans(bool) (release func()) { return func() {} }

// startedByGo returns false and false. It is asked only about adopted processes, and there are none here.
func startedByGo(int) (started, sure bool) { return false, false }

// resident returns the physical footprint of a process.
func resident(pid int) limit.Bytes { return proctree.Private(pid) }

// allMembers appends the pids in a cage's groups, including those of inner runs; it appends none for a cage without groups.
func allMembers(pids []int, _ cage) []int { return pids }
