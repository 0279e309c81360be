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

	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/internal/cgroupfs"
	"github.com/plimsoll/plimsoll/process/internal/proctree"
)

// ErrBusy is wrapped by the error of [Remove] when processes that may stay are still there.
var ErrBusy = errors.New("still in use")

// Remove removes what a run left behind whose supervisor is dead: its processes (SIGTERM,
// grace, SIGKILL), its groups, its unit. It is safe to call again, and for a run that got
// no further than announcing itself. Remains marked Leave lose only empty groups. It
// refuses to remove a group that this process is in.
func Remove(r Remains, grace time.Duration) error {
	ctx := context.Background()
	if !validID.MatchString(r.ID) {
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
	var failed error
	for _, dir := range r.Groups {
		if r.Layer == Systemd {
			// The scope itself belongs to systemd, which removes it when it is empty.
			for _, child := range []string{"run", "sup"} {
				if exists(filepath.Join(dir, child)) {
					failed = errors.Join(failed, removeTree(filepath.Join(dir, child)))
				}
			}
			continue
		}
		failed = errors.Join(failed, removeTree(dir))
		if r.Layer == Cgroup2 && strings.HasPrefix(filepath.Base(dir), runPrefix) {
			_ = yieldBase(filepath.Dir(dir))
		}
	}
	if r.Unit != "" && r.Unit == runPrefix+r.ID+".scope" && failed == nil {
		if len(r.Groups) == 0 || exists(r.Groups[0]) {
			failed = stopUnit(r.Unit)
		}
	}
	return failed
}

// checkGroup keeps a damaged ledger from pointing us at somebody else's group.
func checkGroup(dir, id string) error {
	if err := namesGroup(dir, id); err != nil {
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

// namesGroup says whether dir is named as a group of the run.
func namesGroup(dir, id string) error {
	name := strings.TrimSuffix(filepath.Base(dir), ".scope")
	if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir || name != runPrefix+id && name != "inner-"+id {
		return fmt.Errorf("%s is not a group of run %s", dir, id)
	}
	return nil
}

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

func endGroups(ctx context.Context, r Remains, grace time.Duration) error {
	thaw(r)
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
		g := groupsOf1(r.Groups)
		return killGroups1(g.memory, g.pids, g.unified)
	}
	var failed error
	for _, dir := range r.Groups {
		failed = errors.Join(failed, killGroup(dir))
	}
	return failed
}

// thaw lets frozen processes run: one in a v1 freezer ignores SIGKILL.
func thaw(r Remains) {
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

// groupsOf1 tells the groups of a v1 run apart by their files.
func groupsOf1(groups []string) *group1 {
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
	if len(members) == 0 {
		return nil
	}
	if r.Leave {
		return fmt.Errorf("%w: %d processes of run %s were left running, the first is %v", ErrBusy, len(members), r.ID, members[0])
	}
	_, err = tree.KillTree(ctx, proctree.KillOptions{Grace: grace})
	return err
}

// Current is what the run of these remains uses now: its working set in bytes. ok is
// false when it has no group to ask.
func Current(r Remains) (used limit.Bytes, ok bool) {
	for _, dir := range r.Groups {
		switch r.Layer {
		case Systemd:
			dir = filepath.Join(dir, "run")
			fallthrough
		case Cgroup2:
			stat := fieldReader(readInto(filepath.Join(dir, "memory.stat"), nil))
			if len(stat) == 0 {
				continue
			}
			kernel := stat.get("kernel")
			if kernel == 0 {
				kernel = stat.get("slab") + stat.get("kernel_stack") + stat.get("pagetables")
			}
			return limit.Bytes(stat.get("anon") + stat.get("shmem") + kernel), true
		case Cgroup1:
			stat := fieldReader(readInto(filepath.Join(dir, "memory.stat"), nil))
			if len(stat) > 0 {
				return limit.Bytes(stat.get("total_rss") + stat.get("total_shmem")), true
			}
		}
	}
	return 0, false
}
