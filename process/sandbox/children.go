package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"

	"github.com/plimsoll/plimsoll/internal/process/proctree"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// Child is a descendant of the command.
type Child struct {
	PID int `json:"pid"`
	// Start is its start time, by which it is told from a later process with the same PID.
	Start uint64 `json:"start"`
	Name  string `json:"name,omitempty"`
	// Bytes is the private memory that it held when it was found.
	Bytes limit.Bytes `json:"bytes,omitempty"`
}

// errOver is returned for what can't be done to a run that has ended.
var errOver = errors.New("the run is over")

// maxHeld bounds the descendants that are stopped at one time.
const maxHeld = 64

// LargestChild returns the descendant that holds the most private memory now, including those of inner runs. It is never the command itself,
// nor, with [Spec].Launcher, a process on the way from the command to the agent. A process in its first half second is left out: until it has
// executed its program it is a copy of its parent, which may be the agent, and shows the parent's memory. ok is false if there is none, or the
// run is over.
func (r *Run) LargestChild() (largest Child, ok bool) {
	r.cageMu.Lock()
	defer r.cageMu.Unlock()
	if r.over {
		return Child{}, false
	}
	r.watch.mu.Lock()
	defer r.watch.mu.Unlock()
	family := r.watch.livingMembers()
	protected := r.watch.protectedPIDs(family)
	for _, p := range family {
		if protected[p.PID] || justStarted(p) {
			continue
		}
		if held := privateMemory(p.PID); held > largest.Bytes {
			largest = Child{PID: p.PID, Start: p.Start, Name: p.Name, Bytes: held}
		}
	}
	return largest, largest.Bytes > 0
}

// StopChild stops one descendant with SIGSTOP until ContinueChild, or the end of the run. Its parent can notice, as for any stopped child.
// It is an error when the run is over, c is the command or has ended, or 64 descendants are stopped already.
func (r *Run) StopChild(c Child) error {
	r.cageMu.Lock()
	defer r.cageMu.Unlock()
	if err := r.checkChild(c); err != nil {
		return err
	}
	r.stopped = slices.DeleteFunc(r.stopped, func(h Child) bool { return !proctree.Alive(h.PID, h.Start) })
	if len(r.stopped) >= maxHeld {
		return fmt.Errorf("stop %s (pid %d): %d descendants are stopped already", c.Name, c.PID, len(r.stopped))
	}
	if !proctree.Alive(c.PID, c.Start) {
		return fmt.Errorf("stop %s (pid %d): %w", c.Name, c.PID, proctree.ErrGone)
	}
	if err := signalAll([]proctree.Process{c.process()}, true); err != nil {
		return err
	}
	if !slices.ContainsFunc(r.stopped, c.same) {
		r.stopped = append(r.stopped, c)
	}
	return nil
}

// ContinueChild lets a stopped descendant go on; it returns nil if the descendant has ended.
func (r *Run) ContinueChild(c Child) error {
	r.cageMu.Lock()
	defer r.cageMu.Unlock()
	if err := signalAll([]proctree.Process{c.process()}, false); err != nil {
		return err
	}
	r.stopped = slices.DeleteFunc(r.stopped, c.same)
	return nil
}

// KillChild ends one descendant with SIGKILL and writes [journal.ChildKilled]. It is an error when the run is over, or c is the command or
// has ended. A frozen run is thawed first: a process that cgroup v1 has frozen ignores SIGKILL.
func (r *Run) KillChild(c Child) error {
	r.cageMu.Lock()
	defer r.cageMu.Unlock()
	if err := r.checkChild(c); err != nil {
		return err
	}
	if err := r.freezeLocked(false); err != nil {
		return err
	}
	if err := proctree.Signal(c.process(), syscall.SIGKILL); err != nil {
		return err
	}
	r.stopped = slices.DeleteFunc(r.stopped, c.same)
	r.spec.appendEvent(journal.ChildKilled{PID: c.PID, Name: c.Name, Bytes: int64(c.Bytes), By: "plimsoll"})
	return nil
}

// Frozen reports whether the run is frozen now.
func (r *Run) Frozen() bool {
	r.cageMu.Lock()
	defer r.cageMu.Unlock()
	return r.frozen
}

// checkChild returns an error if c is the command itself or the run is over. The caller holds r.cageMu.
func (r *Run) checkChild(c Child) error {
	switch {
	case r.over:
		return errOver
	case c.PID == r.pid:
		return fmt.Errorf("pid %d is the command itself, not a descendant", c.PID)
	}
	return nil
}

// freezeLocked works like [Run.Freeze]; the caller holds r.cageMu.
func (r *Run) freezeLocked(on bool) error {
	if r.frozen == on {
		return nil
	}
	if on && r.over {
		return errOver
	}
	// Where freezing is SIGSTOP, the command's stop is ours and not its own.
	r.stopping.Store(on)
	err := r.cage.freeze(on)
	if err != nil {
		err = r.watch.stopTree(on)
	}
	switch {
	case err == nil:
		r.frozen = on
	case on: // a part may have stopped
		_ = r.cage.freeze(false)
		_ = r.watch.stopTree(false)
		r.stopping.Store(false)
	}
	return err
}

// thawForEnd marks the run as over, thaws it and continues the stopped descendants. Nothing of the run can be stopped from then on. The caller
// holds r.cageMu.
func (r *Run) thawForEnd() {
	r.over = true
	_ = r.freezeLocked(false)
	for _, c := range r.stopped {
		_ = signalAll([]proctree.Process{c.process()}, false)
	}
	r.stopped = nil
}

// process returns the child as package proctree names processes.
func (c Child) process() proctree.Process {
	return proctree.Process{PID: c.PID, Start: c.Start, Name: c.Name}
}

// same reports whether two children are the same process.
func (c Child) same(o Child) bool { return c.PID == o.PID && c.Start == o.Start }

// livingMembers returns the processes of the run that are alive now, including the command. Each is looked up again, because the tree may have
// seen it between fork and exec, when it had its parent's name. The caller holds w.mu, and the list is valid only as long.
func (w *watcher) livingMembers() []proctree.Process {
	pids := w.familyPIDs[:0]
	if w.tree == nil {
		pids = allMembers(pids, w.run.cage)
	} else if _, err := w.scanTree(); err == nil {
		for _, p := range w.members() {
			pids = append(pids, p.PID)
		}
	}
	list := slices.Grow(w.familyNow[:0], min(len(pids), maxFamily))
	for _, pid := range pids {
		if p, err := proctree.Lookup(pid); err == nil && !p.Zombie() && pid != os.Getpid() { // whose thread is in the group while it forks, in cgroup v1
			list = append(list, p)
		}
	}
	w.familyPIDs, w.familyNow = reuseSmall(pids), reuseSmall(list)
	return list
}

// reuseSmall returns list, to be filled again, or nil when its capacity is over 512: a run that once had thousands of processes need not keep the
// room.
func reuseSmall[E any](list []E) []E {
	const most = 512
	if cap(list) > most {
		return nil
	}
	return list
}

// members returns the processes of the tree. The caller holds the lock, and the list is valid until the next call.
func (w *watcher) members() []proctree.Process {
	list := w.tree.AppendMembers(w.ofTree[:0])
	w.ofTree = reuseSmall(list)
	return list
}

// protectedPIDs returns the pids of those in family that are the command or lead to the agent: those that were spared from the OOM killer when
// they were found, and those that lead there now. The caller holds w.mu, and the map is valid only as long.
func (w *watcher) protectedPIDs(family []proctree.Process) map[int]bool {
	if w.protected == nil {
		w.protected = map[int]bool{}
	}
	protected := w.protected
	clear(protected)
	protected[w.run.pid] = true
	for _, p := range family {
		if m := w.known[p.PID]; m != nil && m.protected && m.started == p.Start || w.agents.knows(p.PID, p.Start) {
			protected[p.PID] = true
		}
	}
	if !w.run.spec.Launcher {
		return protected
	}
	for at := w.run.pid; ; {
		var first *proctree.Process
		for i, p := range family {
			if p.PPID == at && (first == nil || cmp.Or(cmp.Compare(p.Start, first.Start), cmp.Compare(p.PID, first.PID)) < 0) {
				first = &family[i]
			}
		}
		if first == nil || at != w.run.pid && protected[first.PID] {
			return protected
		}
		protected[first.PID] = true
		if at = first.PID; !isLauncherName(first.Name) {
			return protected
		}
	}
}

// runningCommands are the commands of the runs under way in this program. A run that adopts its
// orphans must not take another run's command for one: both are our children.
var runningCommands siblings

type siblings struct {
	mu  sync.Mutex
	ids map[int]string // the runs' IDs by the pids of their commands, "" for a program that is part of no run
}

// startRecorded runs launch and records the pid and the ID of its run, with the lock held, so that no one can ask about the pid before it is
// recorded.
func (s *siblings) startRecorded(id string, launch func() (pid int, err error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	pid, err := launch()
	if err != nil {
		return err
	}
	if s.ids == nil {
		s.ids = map[int]string{}
	}
	s.ids[pid] = id
	return nil
}

// ended forgets a command that has ended.
func (s *siblings) ended(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.ids, pid)
}

// has reports whether a pid is that of a command of a run of this program.
func (s *siblings) has(pid int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.ids[pid]
	return ok
}

// others returns the IDs of the runs under way but for that of the command with this pid.
func (s *siblings) others(pid int) (ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at, id := range s.ids {
		if at != pid && id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// startedHere reports whether this process has started p itself, as the command of a run or otherwise, and so did not adopt it.
func startedHere(p proctree.Process) bool {
	if runningCommands.has(p.PID) {
		return true
	}
	if p.PPID != os.Getpid() {
		return false
	}
	started, _ := startedByGo(p.PID)
	return started
}

// isOfAnother reports whether this process has adopted p from another run of this program: p carries that run's cookie. An orphan without any
// counts for every run.
func (r *Run) isOfAnother(p proctree.Process) bool {
	if p.PPID != os.Getpid() {
		return false
	}
	others := runningCommands.others(r.pid)
	return len(others) > 0 && slices.Contains(others, readRunID(p.PID))
}

// Beside calls start, which starts a program that this process needs but that is part of no run, such as one that shows a notice. Where no
// kernel group holds a run, its orphans are found as children of this process, and such a program would be taken for one and ended. The caller
// calls ended when it has waited for the program. On Linux 5.4 and newer, programs started by os/exec need no Beside.
func Beside(start func() (pid int, err error)) (ended func(), err error) {
	var started int
	err = runningCommands.startRecorded("", func() (pid int, err error) {
		started, err = start()
		return started, err
	})
	if err != nil {
		return nil, err
	}
	return func() { runningCommands.ended(started) }, nil
}

// ReapOrphans takes the exit statuses of the processes that this one adopts, until release is called. It does nothing unless this process
// adopts any: as the first of its PID namespace, which a container's program is, or as a subreaper. A run with [Spec].Subreaper does the
// same while it lasts.
func ReapOrphans() (release func()) { return reapOrphans(false) }
