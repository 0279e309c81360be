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

	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/process/cgroupfs"
	"github.com/plimsoll/plimsoll/internal/process/proctree"
)

// supervisorLeaf is the group to which the supervisor and its own ancestors move, because cgroup v2
// allows no processes in a group that hands controllers to its children.
const supervisorLeaf = "plimsoll-sup"

// runPrefix begins the name of every group and unit that Plimsoll makes.
const runPrefix = "plimsoll-"

// newCgroup2 makes the groups of a run in a cgroup v2 directory that we may divide: that of the run around us, or else our own group, as in a
// container. It moves this process and its own ancestors out of the way there.
func newCgroup2(spec *Spec, limits Limits) (cage, error) {
	own, err := cgroupfs.Own()
	if err != nil {
		return nil, err
	}
	if own.Unified == "" {
		return nil, errors.New("no cgroup v2 hierarchy shows our own group")
	}
	if outer, ok := outerNode(own.Unified); ok {
		name := "inner-" + spec.ID
		if err := spec.remember(Remains{Layer: Cgroup2, Groups: []string{filepath.Join(outer, name)}}); err != nil {
			return nil, err
		}
		if limits.wantsCPU() {
			enableCPUController(outer)
		}
		g, err := newGroup2(outer, name, limits)
		if err != nil {
			return nil, err
		}
		return g, nil
	}
	base := own.Unified
	if filepath.Base(base) == supervisorLeaf { // what that is offered changes with the runs beside us
		base = filepath.Dir(base)
	}
	if !hasWord(filepath.Join(base, "cgroup.controllers"), "memory") {
		return nil, fmt.Errorf("the memory controller is not offered in %s (on a hybrid host cgroup v1 holds it)", base)
	}
	name := runPrefix + spec.ID
	if err := unix.Access(filepath.Join(base, "cgroup.procs"), unix.W_OK); err != nil {
		return nil, fmt.Errorf("%s is not ours to write to: %w", base, err)
	}
	if err := spec.remember(Remains{Layer: Cgroup2, Groups: []string{filepath.Join(base, name)}}); err != nil {
		return nil, err
	}
	g, err := claimAndBuild(spec.starting, base, name, limits)
	if err != nil {
		return nil, err
	}
	g.after = func() error { return releaseBase(base) }
	return g, nil
}

// outerNode returns the group that holds the run around us, and true, when own is the leaf of such a run; else "" and false.
func outerNode(own string) (string, bool) {
	if filepath.Base(own) != agentLeaf {
		return "", false
	}
	node := filepath.Dir(own)
	name := filepath.Base(node)
	inScope := name == "run" && strings.HasPrefix(filepath.Base(filepath.Dir(node)), runPrefix)
	if inScope || strings.HasPrefix(name, runPrefix) || strings.HasPrefix(name, "inner-") {
		return node, true
	}
	return "", false
}

// lockBase locks a directory until unlock is called, so that no two runs divide it at once. The end of ctx ends the wait.
func lockBase(ctx context.Context, base string) (unlock func(), err error) {
	f, err := os.OpenFile(base, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	if err := filelock.Lock(ctx, f, filelock.Exclusive); err != nil {
		return nil, err
	}
	return func() { _ = filelock.Release(f) }, nil
}

// claimAndBuild gives base its controllers and makes the run's node in it. Both are done under one lock: a run that ends between them would
// see nobody in base and take the controllers back.
func claimAndBuild(ctx context.Context, base, name string, limits Limits) (*group2, error) {
	unlock, err := lockBase(ctx, base)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := claimBase(base); err != nil {
		return nil, err
	}
	if limits.wantsCPU() {
		enableCPUController(base)
	}
	g, err := newGroup2(base, name, limits)
	if err != nil {
		_ = releaseBaseLocked(base)
		return nil, err
	}
	return g, nil
}

// A shell that starts several runs at once forks while we divide: its newest child is a
// copy of it for a moment, and may be born in base after its parent was moved.
const (
	claimTries = 50
	claimPause = 5 * time.Millisecond
)

// errPassing is wrapped by errors whose reason may be gone in a moment.
var errPassing = errors.New("a process has just started there")

// claimBase makes base hand memory and pids to its children. It moves only ourselves, our
// own ancestors, and other supervisors of this program with theirs, who would divide base
// the same way; any other process makes the layer unavailable. The caller holds the lock.
func claimBase(base string) error {
	if hasWord(filepath.Join(base, "cgroup.subtree_control"), "memory") && hasWord(filepath.Join(base, "cgroup.subtree_control"), "pids") {
		return nil
	}
	var err error
	for try := range claimTries {
		if try > 0 {
			time.Sleep(claimPause)
		}
		if err = emptyBase(base); err == nil {
			err = writeControl(base, "cgroup.subtree_control", "+memory +pids")
		}
		if err == nil {
			return nil
		}
		if !errors.Is(err, errPassing) && !errors.Is(err, unix.EBUSY) {
			break
		}
	}
	_ = moveBack(base)
	return err
}

// emptyBase moves the processes in base into its supervisorLeaf. It is an error when one of them is not ours; a root of the hierarchy is
// left as it is.
func emptyBase(base string) error {
	if !exists(filepath.Join(base, "cgroup.type")) {
		return nil // the hierarchy's root may hold processes
	}
	inside, err := cgroupfs.Procs(base)
	if err != nil || len(inside) == 0 {
		return err
	}
	if foreign := findStrangers(inside); len(foreign) > 0 {
		err := fmt.Errorf("%d foreign processes are in %s too, the first is %s (pid %d); cgroup v2 can divide only a group without processes",
			len(foreign), base, foreign[0].Name, foreign[0].PID)
		if !slices.ContainsFunc(foreign, func(p proctree.Process) bool { return !justStarted(p) && !isExiting(p) }) {
			err = fmt.Errorf("%w (%w)", err, errPassing)
		}
		return err
	}
	return moveAll(inside, filepath.Join(base, supervisorLeaf))
}

// findStrangers returns the processes of pids that are neither supervisors of this program, this process among them, nor ancestors of one. Zombies
// and processes that are gone are left out.
func findStrangers(pids []int) []proctree.Process {
	ours := ancestors(os.Getpid())
	self, err := os.Stat("/proc/self/exe")
	for _, pid := range pids {
		if slices.Contains(ours, pid) || err != nil {
			continue
		}
		if exe, err := os.Stat(fmt.Sprintf("/proc/%d/exe", pid)); err == nil && os.SameFile(self, exe) {
			ours = append(ours, ancestors(pid)...)
		}
	}
	var foreign []proctree.Process
	for _, pid := range pids {
		if slices.Contains(ours, pid) {
			continue
		}
		if p, err := proctree.Lookup(pid); err == nil && !p.Zombie() {
			foreign = append(foreign, p)
		}
	}
	return foreign
}

// moveAll makes the group to, if it is missing, and moves processes into it. Those that have ended are no error.
func moveAll(pids []int, to string) error {
	if err := os.Mkdir(to, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	for _, pid := range pids {
		if err := writeControl(to, "cgroup.procs", fmt.Sprint(pid)); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	return nil
}

// isExiting reports whether a process has given up its memory and is about to be a zombie.
func isExiting(p proctree.Process) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/%d/exe", p.PID))
	return errors.Is(err, os.ErrNotExist)
}

// moveBack moves the processes in supervisorLeaf back to base and removes the leaf.
func moveBack(base string) error {
	sup := filepath.Join(base, supervisorLeaf)
	var err error
	for range claimTries { // somebody in it may be forking
		var pids []int
		if pids, err = cgroupfs.Procs(sup); err != nil {
			return err
		}
		for _, pid := range pids {
			if err := writeControl(base, "cgroup.procs", fmt.Sprint(pid)); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		}
		if err = unix.Rmdir(sup); err == nil || errors.Is(err, unix.ENOENT) {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) {
			break
		}
	}
	return fmt.Errorf("remove cgroup %s: %w", sup, err)
}

// releaseBase takes the controllers back from base and moves its processes back into it, unless a group of another run is left in it.
func releaseBase(base string) error {
	unlock, err := lockBase(context.Background(), base)
	if err != nil {
		return err
	}
	defer unlock()
	return releaseBaseLocked(base)
}

// releaseBaseLocked works like releaseBase; the caller holds the lock.
func releaseBaseLocked(base string) error {
	entries, err := os.ReadDir(base)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() && e.Name() != supervisorLeaf {
			return nil // another run, or somebody else's group, still needs the controllers
		}
	}
	if !exists(filepath.Join(base, supervisorLeaf)) {
		return nil // the hierarchy's root: it was not emptied
	}
	_ = writeControl(base, "cgroup.subtree_control", "-cpu") // refused where there is none
	if err := writeControl(base, "cgroup.subtree_control", "-memory -pids"); err != nil {
		return err
	}
	return moveBack(base)
}

// ancestors returns pid, its parent, and so on up, at most 64.
func ancestors(pid int) []int {
	var line []int
	for range 64 {
		line = append(line, pid)
		p, err := proctree.Lookup(pid)
		if err != nil || p.PPID <= 0 {
			break
		}
		pid = p.PPID
	}
	return line
}

// hasWord reports whether a file has a word between white space; false if it cannot be read.
func hasWord(file, word string) bool {
	body, err := os.ReadFile(file)
	return err == nil && slices.Contains(strings.Fields(string(body)), word)
}

// exists reports whether there is a file, also a link that leads nowhere.
func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}
