package sandbox

import (
	"os"
	"strings"

	"github.com/plimsoll/plimsoll/limit"
)

// rlimitFloor is the least RLIMIT_DATA that is ever set: every agent CLI that was measured
// finishes a turn at 2 GiB, and some do not start below.
const rlimitFloor = 2 * limit.GiB

func newRlimit(spec *Spec, l Limits) (cage, error) {
	if err := spec.remember(Remains{Layer: Rlimit}); err != nil {
		return nil, err
	}
	c := &rlimitCage{watchedCage: newWatched(l)}
	if l.Memory > 0 {
		c.limits.Data = uint64(max(l.Memory, rlimitFloor))
		c.held.Memory = ByProcess
	}
	c.limits.AddressSpace = uint64(l.AddressSpace)
	c.limits.Processes = uint64(max(0, l.UserProcesses))
	return c, nil
}

// ownExecutable returns the path of this program, also after an upgrade has replaced it.
func ownExecutable() (string, error) {
	self, err := os.Readlink("/proc/self/exe")
	if err == nil && strings.HasSuffix(self, " (deleted)") {
		self = "/proc/self/exe"
	}
	return self, err
}
