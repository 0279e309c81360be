package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/process/cgroupfs"
	"github.com/plimsoll/plimsoll/internal/process/proctree"
	"github.com/plimsoll/plimsoll/internal/sorting"
)

// orphanAge is the age of a group's oldest process at which the group counts as lost:
// the supervisor may belong to another state directory and be between two steps. A variable for tests.
var orphanAge = time.Hour

// leftMark is the name of an empty group inside the group of a run whose leftovers were left running on purpose. It is still there when the
// state directory with the claim is lost.
const leftMark = "left"

// Orphans returns the groups of runs that have no claim, as a lost state directory leaves them, sorted by run ID. known reports whether a
// run ID has a claim; it is called after the groups were listed, because a claim is older than its groups and outlives them. Only groups of
// this user and of this host's mounts are seen, at most 10,000 groups of each hierarchy.
func Orphans(known func(id string) bool) ([]Orphan, error) {
	own, err := cgroupfs.Own()
	if err != nil {
		return nil, err
	}
	found := map[string]*Remains{}
	for _, name := range []string{"memory", "pids", "cpu", "freezer"} { // all that newCgroup1 makes a group in
		if mount := own.V1Mount[name]; mount != "" {
			collectGroups(found, mount, Cgroup1)
		}
	}
	if own.UnifiedMount != "" {
		collectGroups(found, own.UnifiedMount, Cgroup2)
	}
	var list []Orphan
	for id, r := range found {
		if !known(id) {
			list = append(list, judgeOrphan(*r))
		}
	}
	sorting.By(list, func(a, b Orphan) int { return strings.Compare(a.Remains.ID, b.Remains.ID) })
	return list, nil
}

// collectGroups adds the groups of this user's runs below a mount to found, by run ID. Groups inside a run's group are skipped: they are removed
// with it.
func collectGroups(found map[string]*Remains, mount string, layer Layer) {
	inside := ""
	dirs := cgroupfs.Tree(mount)
	slices.Sort(dirs) // parents before children
	for _, dir := range dirs {
		if inside != "" && strings.HasPrefix(dir, inside+"/") {
			continue
		}
		id, ok := strings.CutPrefix(filepath.Base(dir), runPrefix)
		if !ok {
			continue
		}
		id, scope := strings.CutSuffix(id, ".scope")
		if dir := filepath.Base(dir); dir == supervisorLeaf || !validID(id) || scope && layer != Cgroup2 {
			continue
		}
		var st unix.Stat_t
		if unix.Stat(dir, &st) != nil || int(st.Uid) != os.Geteuid() {
			continue
		}
		inside = dir
		r := found[id]
		if r == nil {
			r = &Remains{ID: id, Layer: layer}
			if scope {
				r.Layer, r.Unit, r.User = Systemd, filepath.Base(dir), os.Geteuid() != 0
			}
			found[id] = r
		}
		r.Groups = append(r.Groups, dir)
	}
}

// judgeOrphan counts the processes in the groups of a run without a claim, and decides whether they must be kept: because a supervisor may be
// alive, they were left on purpose, or the oldest is younger than orphanAge.
func judgeOrphan(r Remains) Orphan {
	o := Orphan{Remains: r}
	members := groupMembers(r.Groups)
	o.Processes = len(members)
	if len(members) == 0 {
		return o
	}
	in := map[int]bool{}
	oldest := members[0].Start
	for _, p := range members {
		in[p.PID] = true
		oldest = min(oldest, p.Start)
	}
	var uptime unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &uptime)
	age := time.Duration(uptime.Nano()) - time.Duration(oldest)*clockTick
	for _, p := range members {
		if r.Layer == Systemd && isInSupervisorGroup(r, p.PID) {
			o.Supervised, o.Keep = true, fmt.Sprintf("its supervisor %v lives", p)
			return o
		}
		if in[p.PPID] {
			continue
		}
		if parent, err := proctree.Lookup(p.PPID); err == nil && !isReaperProcess(parent) {
			o.Supervised, o.Keep = true, fmt.Sprintf("%v, the parent of %v, may be its supervisor", parent, p)
			return o
		}
	}
	switch {
	case slices.ContainsFunc(r.Groups, func(dir string) bool { return exists(filepath.Join(limitGroup(r.Layer, dir), leftMark)) }):
		o.Keep = fmt.Sprintf("%d processes were left running on purpose (--on-exit leave), the first is %v", len(members), members[0])
	case age < orphanAge:
		o.Keep = fmt.Sprintf("%d processes run in it, the oldest for %s; it counts as lost after %s", len(members), age.Round(time.Second), orphanAge)
	}
	return o
}

// clockTick is the unit of start times in /proc: USER_HZ is 100 on every Linux port that Go has.
const clockTick = 10 * time.Millisecond

// limitGroup returns the group that holds the limits of a run: group itself, or for a systemd scope the one named "run" in it.
func limitGroup(layer Layer, group string) string {
	if layer == Systemd {
		return filepath.Join(group, "run")
	}
	return group
}

// isInSupervisorGroup reports whether a process is in the part of a scope that holds the supervisor.
func isInSupervisorGroup(r Remains, pid int) bool {
	for _, dir := range r.Groups {
		pids, _ := cgroupfs.Procs(filepath.Join(dir, "sup"))
		if slices.Contains(pids, pid) {
			return true
		}
	}
	return false
}

// reapers adopt the processes of dead parents. Every other parent outside of the group is
// taken for a supervisor: a program that uses this package may have any name.
var reapers = []string{"systemd", "init", "tini", "dumb-init", "docker-init", "catatonit", "conmon", "s6-svscan", "runsvdir"}

// isReaperProcess reports whether a process is one that adopts the processes of dead parents, by its pid or name.
func isReaperProcess(p proctree.Process) bool {
	return p.PID == 1 || slices.Contains(reapers, p.Name) || strings.HasPrefix(p.Name, "containerd-shim")
}

// markLeft makes the empty group leftMark in the run's own group, as a sign that its processes were left on purpose.
func markLeft(c cage) {
	var dir string
	switch g := c.(type) {
	case *group2:
		dir = g.dir
	case *group1:
		dir = g.memory
	default:
		return
	}
	_ = os.Mkdir(filepath.Join(dir, leftMark), 0o755)
}
