package sandbox

import (
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/process/cgroupfs"
)

// systemd-oomd kills whole groups, leaves of the hierarchy only, and reads what is wished of it from
// extended attributes of the leaf itself: ManagedOOMPreference=avoid of a scope sets the attribute on the
// scope, and does nothing for the leaves that the scope was divided into. It honours the
// attribute where the leaf belongs to root, or to the owner of the group that is monitored
// (oomd_fetch_cgroup_oom_preference in src/oomd/oomd-util.c; the user's app.slice and user@.service
// qualify, user.slice and -.slice do not unless the run is root's).
const (
	oomdAvoid = "user.oomd_avoid"
	oomdOmit  = "user.oomd_omit"
	// oomdKilled is the attribute in which systemd-oomd counts its decisions to kill a group; it does so before
	// it kills.
	oomdKilled = "user.oomd_ooms"
)

// preferOOMD asks systemd-oomd to kill other groups before the command's, and never the supervisor's, which would free nothing and lose the
// report. It does nothing outside of cgroup v2 or for OOMDDefault. A kernel without such attributes (before 5.7) has no reader for them
// either.
func preferOOMD(c cage, spec *Spec) {
	g, ok := c.(*group2)
	if !ok || spec.OOMD == OOMDDefault {
		return
	}
	_ = unix.Setxattr(filepath.Join(g.dir, agentLeaf), oomdAvoid, []byte("1"), 0)
	for _, leaf := range []string{"sup", supervisorLeaf} {
		dir := filepath.Join(filepath.Dir(g.dir), leaf)
		if own, err := cgroupfs.Own(); err == nil && own.Unified == dir {
			_ = unix.Setxattr(dir, oomdOmit, []byte("1"), 0)
		}
	}
}

// oomdKills counts how often systemd-oomd killed the run's group or one inside it.
func oomdKills(c cage) int {
	g, ok := c.(*group2)
	if !ok {
		return 0
	}
	total := int64(0)
	for _, dir := range cgroupfs.Tree(g.dir) {
		var value [32]byte
		if n, err := unix.Getxattr(dir, oomdKilled, value[:]); err == nil {
			total += cgroupfs.Number(value[:n])
		}
	}
	return int(min(total, 1<<20))
}
