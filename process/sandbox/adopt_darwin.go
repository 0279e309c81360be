package sandbox

import (
	"golang.org/x/sys/unix"

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

// allMembers returns pids as they are: there are no groups here.
func allMembers(pids []int, _ cage) []int { return pids }
