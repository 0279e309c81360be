package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/process/cgroupfs"
	"github.com/plimsoll/plimsoll/internal/process/proctree"
	"github.com/plimsoll/plimsoll/limit"
)

// ErrBusy is wrapped by the error of [Remove] when processes that may stay are still there.
var ErrBusy = errors.New("still in use")

// Remove removes what a run left behind whose supervisor is dead: its processes (SIGTERM,
// grace, SIGKILL), its groups, its unit. It is safe to call again, and for a run that got
// no further than announcing itself. Remains marked Leave lose only empty groups. It
// refuses to remove a group that this process is in. When it returns nil, nothing is left.
func Remove(r Remains, grace time.Duration) error {
	ctx := context.Background()
	if !validID(r.ID) {
		return fmt.Errorf("remove the remains of a run: its ID is %q", r.ID)
	}
	if r.Layer == Rlimit || r.Layer == Monitor {
		return removeByCookie(ctx, r, grace)
	}
	for _, dir := range r.Groups {
		if err := checkGroup(dir, r.ID); err != nil {
			return err
		}
	}
	if len(r.Groups) > 0 {
		if err := endGroups(ctx, r, grace); err != nil {
			return err
		}
	}
	// A group that is gone means that its unit has ended; without one, nobody but systemd
	// can tell.
	if r.Unit != "" && r.Unit == runPrefix+r.ID+".scope" && (len(r.Groups) == 0 || exists(r.Groups[0])) {
		if err := waitUnitGone(r.Unit, r.Groups, !r.Leave); err != nil {
			return err
		}
	}
	var failed error
	for _, dir := range r.Groups {
		failed = errors.Join(failed, removeTree(dir))
		if r.Layer != Cgroup2 || !strings.HasPrefix(filepath.Base(dir), runPrefix) {
			continue
		}
		parent := filepath.Dir(dir)
		if !isScope(parent) {
			_ = releaseBase(parent)
		} else if failed == nil && isEmptyGroup(parent) && groupOwner(parent) == os.Geteuid() {
			// This was the last run of a program with several: nobody else may know of its
			// scope, and systemd may have stumbled over the removal of dir.
			if failed = waitUnitGone(filepath.Base(parent), []string{parent}, false); failed == nil {
				failed = removeTree(parent)
			}
		}
	}
	return failed
}

// waitUnitGone waits, for at most endWait, until systemd is done with a scope; with stop it asks systemd to stop it. Another user's manager
// cannot be asked: there it waits for the groups to disappear. Nothing may be removed earlier: systemd removes the groups once, when the
// last process has gone, and stops when one vanishes meanwhile; a scope whose own group vanished before counts as running for ever.
func waitUnitGone(unit string, groups []string, stop bool) error {
	for _, dir := range groups {
		if owner := groupOwner(dir); owner >= 0 && owner != os.Geteuid() {
			// Another user's manager, which we can't ask.
			for deadline := time.Now().Add(endWait); exists(dir); time.Sleep(20 * time.Millisecond) {
				if time.Now().After(deadline) {
					return fmt.Errorf("%s is left, which belongs to the service manager of uid %d", dir, owner)
				}
			}
			return nil
		}
	}
	return endUnit(unit, stop)
}

// isScope reports whether a group is a systemd scope of a run, by its name.
func isScope(dir string) bool {
	name := filepath.Base(dir)
	return strings.HasPrefix(name, runPrefix) && strings.HasSuffix(name, ".scope")
}

// isEmptyGroup reports whether no process is in a v2 group or below it; false when that can't be read.
func isEmptyGroup(dir string) bool {
	return hasWord(filepath.Join(dir, "cgroup.events"), "populated") &&
		fieldReader(readInto(filepath.Join(dir, "cgroup.events"), make([]byte, 256))).get("populated") == 0
}

// groupOwner returns the uid that a group belongs to, -1 when it is gone.
func groupOwner(dir string) int {
	var st unix.Stat_t
	if unix.Stat(dir, &st) != nil {
		return -1
	}
	return int(st.Uid)
}

// checkGroup returns an error unless dir has the name of a group of run id and this process is outside of it: a damaged ledger must not
// make us remove somebody else's group. The second error wraps [ErrBusy].
func checkGroup(dir, id string) error {
	if err := checkGroupName(dir, id); err != nil {
		return err
	}
	own, err := cgroupfs.Own()
	if err != nil {
		return err
	}
	places := []string{own.Unified}
	for _, p := range own.V1 {
		places = append(places, p)
	}
	for _, p := range places {
		if p == dir || strings.HasPrefix(p, dir+"/") {
			return fmt.Errorf("%w: this command runs inside %s itself", ErrBusy, dir)
		}
	}
	return nil
}

// checkGroupName returns an error unless dir has the name of a group of run id.
func checkGroupName(dir, id string) error {
	name := strings.TrimSuffix(filepath.Base(dir), ".scope")
	if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir || name != runPrefix+id && name != "inner-"+id {
		return fmt.Errorf("%s is not a group of run %s", dir, id)
	}
	return nil
}

// groupMembers returns the living processes in groups and below them, each once.
func groupMembers(groups []string) []proctree.Process {
	var list []proctree.Process
	seen := map[int]bool{}
	for _, root := range groups {
		for _, dir := range cgroupfs.Tree(root) {
			pids, _ := cgroupfs.Procs(dir)
			for _, pid := range pids {
				if p, err := proctree.Lookup(pid); err == nil && !p.Zombie() && !seen[pid] {
					seen[pid] = true
					list = append(list, p)
				}
			}
		}
	}
	return list
}

// endGroups thaws the groups of a run, since a frozen process gets no signal, and ends the processes in them: SIGTERM, and after grace
// SIGKILL. If they were left on purpose it is [ErrBusy] instead; without processes it does nothing.
func endGroups(ctx context.Context, r Remains, grace time.Duration) error {
	thawAll(r)
	members := groupMembers(r.Groups)
	if len(members) == 0 {
		return nil
	}
	if r.Leave {
		return fmt.Errorf("%w: %d processes were left running in %s, the first is %v", ErrBusy, len(members), r.Groups[0], members[0])
	}
	for _, p := range members {
		_ = proctree.Signal(p, unix.SIGTERM)
	}
	deadline := time.Now().Add(grace)
	for time.Now().Before(deadline) && ctx.Err() == nil && len(groupMembers(r.Groups)) > 0 {
		time.Sleep(5 * time.Millisecond)
	}
	if r.Layer == Cgroup1 {
		g := sortGroups1(r.Groups)
		return killGroups1(g.memory, g.pids, g.unified)
	}
	var failed error
	for _, dir := range r.Groups {
		failed = errors.Join(failed, killGroup(dir))
	}
	return failed
}

// thawAll lets the frozen processes in the groups of a run go on, as one in a v1 freezer ignores SIGKILL. Errors are ignored.
func thawAll(r Remains) {
	for _, root := range r.Groups {
		for _, dir := range cgroupfs.Tree(root) {
			if exists(filepath.Join(dir, "cgroup.freeze")) {
				_ = writeControl(dir, "cgroup.freeze", "0")
			}
			if exists(filepath.Join(dir, "freezer.state")) {
				_ = writeControl(dir, "freezer.state", "THAWED")
			}
		}
	}
}

// sortGroups1 sorts the groups of a v1 run by kind, told by the files in each. A group of the CPU hierarchy is left out.
func sortGroups1(groups []string) *group1 {
	g := &group1{}
	for _, dir := range groups {
		switch {
		case exists(filepath.Join(dir, "memory.usage_in_bytes")):
			g.memory = dir
		case exists(filepath.Join(dir, "cgroup.controllers")):
			g.unified = dir
		case exists(filepath.Join(dir, "freezer.state")):
			g.freezer = dir
		case exists(filepath.Join(dir, "pids.max")):
			g.pids = dir
		}
	}
	return g
}

// removeByCookie ends the processes that have the cookie of the run in their environment: SIGTERM, and after grace SIGKILL. It is [ErrBusy] if
// this process is one of them, or they were left on purpose.
func removeByCookie(ctx context.Context, r Remains, grace time.Duration) error {
	tree, err := proctree.New(proctree.Options{Cookie: CookieName + "=" + r.ID})
	if err != nil {
		return err
	}
	defer tree.Close()
	if _, err := tree.Scan(); err != nil {
		return err
	}
	members := tree.Members()
	if slices.ContainsFunc(members, func(p proctree.Process) bool { return p.PID == os.Getpid() }) {
		return fmt.Errorf("%w: this command runs inside the run %s itself", ErrBusy, r.ID)
	}
	if r.Leave {
		if len(members) == 0 {
			return nil
		}
		return fmt.Errorf("%w: %d processes of run %s were left running, the first is %v", ErrBusy, len(members), r.ID, members[0])
	}
	// Also when one look found nobody: a command whose supervisor died as it started it has
	// no environment, and no cookie, until its exec is over. KillTree asks it again.
	_, err = tree.KillTree(ctx, proctree.KillOptions{Grace: grace})
	return err
}

// Swapped returns how many bytes a run has in swap now, as its group counts them; 0 if no cgroup v2 group does.
func Swapped(r Remains) limit.Bytes {
	for _, dir := range r.Groups {
		switch r.Layer {
		case Systemd:
			dir = filepath.Join(dir, "run")
		case Cgroup2:
		default:
			return 0
		}
		var room [32]byte
		if n := cgroupfs.Number(readInto(filepath.Join(dir, "memory.swap.current"), room[:])); n > 0 {
			return limit.Bytes(n)
		}
	}
	return 0
}

// Current returns the working set of a run in bytes, as its group counts it now. ok is false if there is no group, or it cannot be read.
func Current(r Remains) (used limit.Bytes, ok bool) {
	for _, dir := range r.Groups {
		switch r.Layer {
		case Systemd:
			dir = filepath.Join(dir, "run")
			fallthrough
		case Cgroup2:
			var room [4 << 10]byte
			stat := fieldReader(readInto(filepath.Join(dir, "memory.stat"), room[:]))
			if len(stat) == 0 {
				continue
			}
			kernel := stat.get("kernel")
			if kernel == 0 {
				kernel = stat.get("slab") + stat.get("kernel_stack") + stat.get("pagetables")
			}
			return limit.Bytes(stat.get("anon") + stat.get("shmem") + kernel), true
		case Cgroup1:
			var room [4 << 10]byte
			stat := fieldReader(readInto(filepath.Join(dir, "memory.stat"), room[:]))
			if len(stat) > 0 {
				return limit.Bytes(stat.get("total_rss") + stat.get("total_shmem")), true
			}
		}
	}
	return 0, false
}
