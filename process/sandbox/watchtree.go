package sandbox

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"syscall"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/proctree"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// lookAtTreeWhenDue looks at the tree when its pause is over, and returns the time until the next call. Inside a container whose use can be
// read (one small file) it also looks as soon as that use has grown by a sixteenth of the container's limit: the process that takes it may
// be killed and gone before the next look. A container that is full has nothing left to grow by.
func (w *watcher) lookAtTreeWhenDue(now time.Time, first bool) time.Duration {
	c, ok := w.run.cage.(interface {
		usedAround() (used, limit int64, ok bool)
	})
	if !ok {
		return w.lookAtTree(now)
	}
	used, bound, ok := c.usedAround()
	if !ok {
		return w.lookAtTree(now)
	}
	if first || !now.Before(w.due) || used-w.usedThen >= bound/16 {
		w.due, w.usedThen = now.Add(w.lookAtTree(now)), used
	}
	pause := w.due.Sub(now)
	if left := limit.Bytes(bound - used); left >= limit.Bytes(bound/16) {
		pause = min(pause, max(tick, timeToTake(left/2)))
	}
	return pause
}

// lookAtTree samples the process tree, ends processes where it is over a limit, the largest descendant first and the command last, and
// returns the pause until the next look.
func (w *watcher) lookAtTree(now time.Time) time.Duration {
	pids, memory := w.run.spec.enforcedLimits().Pids, w.run.currentLimit()
	still := w.still.isStill(now, memory)
	if still && !w.still.hasNewcomers() {
		return w.still.pause(memory, pids)
	}
	changed, err := w.scanTree()
	if err != nil {
		return sampleEvery
	}
	w.reportOuterKills()
	if still && !changed {
		w.still.recordScan()
		return w.still.pause(memory, pids)
	}
	if w.run.spec.Meet != nil {
		for _, p := range w.members() {
			w.reportProcess(p.PID, p.Name)
		}
	}
	_, _ = w.tree.RaiseOOMScore(childScore)
	usage := w.tree.Measure()
	w.data = usage.Data
	s := Sample{Working: usage.Anon, Processes: usage.Processes}
	if memory > 0 && usage.RSS >= memory/2 {
		// Sums of resident pages count shared ones several times; near the limit the
		// exact figure is worth its price.
		exact := w.tree.Precise()
		s.Working = exact.Working()
	}
	w.sampled = now
	w.high.Working = max(w.high.Working, min(usage.HighWater, usage.RSS))
	if w.run.spec.Observe != nil {
		s.CPU, s.Work = w.cpu.readTimes(w.alivePIDs())
	}
	w.recordSample(s)
	if pids > 0 && usage.Processes > pids {
		w.endYoungest(usage.Processes - pids)
		return time.Millisecond
	}
	if memory <= 0 || s.Working <= memory/4 {
		w.still.recordLook(now, s)
		return w.still.pause(memory, pids)
	}
	w.still.recordLook(now, Sample{})
	if s.Working > memory {
		w.endLargest()
		return tick / 5 // look again soon: is it enough?
	}
	if s.Working > memory/2 { // the nearer the limit, the closer the look
		return tick
	}
	return sampleEvery / 4
}

// scanTree brings the tree up to date and makes new descendants nicer than the command. Every look at the tree has to call it, because a new
// process is reported only once, to the first scan. It reports whether processes have appeared or gone. The caller holds w.mu.
func (w *watcher) scanTree() (changed bool, err error) {
	changes, err := w.tree.Scan()
	changed = len(changes.Appeared)+len(changes.Gone) > 0
	w.gone = append(w.gone, changes.Gone[:min(len(changes.Gone), maxLost-len(w.gone))]...)
	if err != nil || w.run.spec.Launcher || w.agents.isAgent != nil || !w.run.spec.enforcedLimits().isBackground() {
		return changed, err
	}
	for _, p := range changes.Appeared {
		if p.PID != w.run.pid {
			lowerPriority(p.PID, addNice(w.run.nice, childNice))
		}
	}
	return changed, nil
}

// reportOuterKills counts the processes that the kernel has killed at the limit of the container around this program, and reports the likeliest
// victims: the largest of the last look, else the youngest of those that are gone. Processes that we have ended for the same reason are not counted
// again.
func (w *watcher) reportOuterKills() {
	gone := w.gone
	w.gone = w.gone[:0]
	if c, ok := w.run.cage.(interface{ bounded() bool }); !ok || !c.bounded() {
		return
	}
	total := w.run.cage.oomKills()
	fresh := total - w.around
	w.around = total
	ours := min(fresh, w.ended)
	fresh, w.ended = fresh-ours, w.ended-ours
	if fresh > 0 {
		w.kills += fresh
		w.run.spec.appendEvent(journal.OOMKills{New: fresh, Total: w.kills})
	}
	if waiting := fresh + w.unnamed; waiting > 0 {
		sorting.StableBy(gone, func(a, b proctree.Process) int {
			return cmp.Or(cmp.Compare(w.bytesAtLastLook(b), w.bytesAtLastLook(a)), cmp.Compare(b.Start, a.Start))
		})
		named := 0
		for _, p := range gone {
			if p.PID != w.run.pid && named < waiting {
				named++
				w.checkAgentKilled(p.PID, p.Start)
				w.run.spec.appendEvent(journal.ChildKilled{PID: p.PID, Name: p.Name, Bytes: int64(w.bytesAtLastLook(p)), By: "kernel"})
			}
		}
		w.unnamed = min(waiting-named, fresh) // whoever it was before had gone unseen
	}
	if p, held, ok := w.tree.Largest(true); ok {
		w.largest = member{pid: p.PID, started: p.Start, bytes: held}
	}
}

// bytesAtLastLook returns the bytes that p held at the last look if it was the largest descendant then, else 0.
func (w *watcher) bytesAtLastLook(p proctree.Process) limit.Bytes {
	if w.largest.pid == p.PID && w.largest.started == p.Start {
		return w.largest.bytes
	}
	return 0
}

// endLargest kills the largest descendant; if none holds 1 MiB, the largest process of all, which may be the command. If that one was killed
// already and is not gone yet, it does nothing.
func (w *watcher) endLargest() {
	victim, held, ok := w.tree.Largest(true)
	if !ok || held < limit.MiB {
		victim, held, ok = w.tree.Largest(false)
	}
	if !ok {
		return
	}
	if w.exiting[victim.PID] == victim.Start {
		return // dying takes a moment, and nobody is counted twice
	}
	root := victim.PID == w.run.pid
	if err := proctree.Signal(victim, syscall.SIGKILL); err != nil {
		return
	}
	w.recordEnded(victim)
	w.run.limitKills.Add(1)
	w.ended++
	if root {
		w.run.killedByUs.Store(true)
		return
	}
	w.checkAgentKilled(victim.PID, victim.Start)
	w.run.spec.appendEvent(journal.ChildKilled{PID: victim.PID, Name: victim.Name, Bytes: int64(held), By: "plimsoll"})
}

// recordEnded records that we have ended p, so that it is not ended and counted twice. Beyond maxLost the record starts afresh.
func (w *watcher) recordEnded(p proctree.Process) {
	if len(w.exiting) >= maxLost || w.exiting == nil {
		w.exiting = map[int]uint64{}
	}
	w.exiting[p.PID] = p.Start
}

// endYoungest kills the n processes that started last, but never the command itself.
func (w *watcher) endYoungest(n int) {
	members := slices.DeleteFunc(w.tree.Members(), func(p proctree.Process) bool {
		now, err := proctree.Lookup(p.PID)
		return p.PID == w.run.pid || err != nil || now.Zombie()
	})
	sorting.By(members, func(a, b proctree.Process) int { return cmp.Compare(b.Start, a.Start) })
	for _, p := range members[:min(n, len(members))] {
		if w.exiting[p.PID] == p.Start || proctree.Signal(p, syscall.SIGKILL) != nil {
			continue // dying takes a moment, and nobody is counted twice
		}
		w.recordEnded(p)
		w.run.limitKills.Add(1)
		w.run.pidsKills.Add(1)
	}
}

// stopTree stops every process of the run by signals, or continues them, in layers without a freezer.
func (w *watcher) stopTree(on bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var members []proctree.Process
	if w.tree != nil {
		if _, err := w.scanTree(); err != nil {
			return err
		}
		members = w.tree.Members()
	} else {
		for _, m := range w.known {
			members = append(members, proctree.Process{PID: m.pid, Start: m.started})
		}
	}
	return signalAll(members, on)
}

// killTree kills every process in the tree; it does nothing for a cage that has a group.
func (w *watcher) killTree() error {
	if w.tree == nil {
		return nil
	}
	_, err := w.tree.KillTree(context.Background(), proctree.KillOptions{})
	return err
}

// waitEmpty returns when no descendant of the command is left, or when [Run.stopWaiting] is called. Such a call counts only after a first tick:
// the Ctrl-C that ended the command is not meant for the leftovers.
func (w *watcher) waitEmpty() {
	for len(w.descendants()) > 0 {
		select {
		case <-w.run.stopWait:
			return
		case <-time.After(tick):
			w.run.waiting.Store(true)
		}
	}
}

// descendants returns the living descendants of the command; none when they can't be listed.
func (w *watcher) descendants() []member {
	w.run.cageMu.Lock()
	defer w.run.cageMu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.descendantsLocked()
}

// descendantsLocked returns the living processes of the run without the command. The caller holds w.mu.
func (w *watcher) descendantsLocked() []member {
	var left []member
	if w.tree != nil {
		if _, err := w.scanTree(); err != nil {
			return nil
		}
		for _, p := range w.tree.Members() {
			if p.PID == w.run.pid || !proctree.Alive(p.PID, p.Start) {
				continue
			}
			left = append(left, member{pid: p.PID, name: p.Name, started: p.Start})
		}
		return left
	}
	for _, pid := range allMembers(nil, w.run.cage) {
		p, err := proctree.Lookup(pid)
		if err != nil || p.Zombie() || pid == w.run.pid {
			continue
		}
		left = append(left, member{pid: pid, name: p.Name, started: p.Start, stopped: p.State == 'T'})
	}
	return left
}

// endLeftovers ends or leaves the descendants that outlived the command, as OnExit says, and returns each with its fate. The error says that some
// could not be ended. The caller holds the run's cageMu.
func (w *watcher) endLeftovers() ([]Leftover, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	left := w.descendantsLocked()
	// A tree is looked at once more below, by one who knows that processes come and go meanwhile.
	if len(left) == 0 && (w.tree == nil || w.run.spec.OnExit == LeaveLeftovers) {
		return nil, w.closeTree()
	}
	if w.run.spec.OnExit == LeaveLeftovers {
		list := make([]Leftover, len(left))
		for i, m := range left {
			list[i] = Leftover{PID: m.pid, Name: m.name, Fate: "left"}
		}
		return list, w.closeTree()
	}
	if w.tree != nil {
		return w.endTree()
	}
	for _, m := range left {
		p := proctree.Process{PID: m.pid, Start: m.started}
		_ = proctree.Signal(p, syscall.SIGTERM)
		if m.stopped { // it can't answer otherwise
			_ = signalAll([]proctree.Process{p}, false)
		}
	}
	stubborn := left
	deadline := time.Now().Add(w.run.spec.Grace)
	for pause := time.Millisecond; len(stubborn) > 0 && time.Now().Before(deadline); pause = min(2*pause, 50*time.Millisecond) {
		time.Sleep(pause)
		stubborn = w.descendantsLocked()
		for _, m := range stubborn { // born meanwhile
			if len(left) < maxKnown && !slices.ContainsFunc(left, m.same) {
				left = append(left, m)
			}
		}
	}
	var err error
	if len(stubborn) > 0 {
		err = w.run.cage.kill()
	}
	survived := w.descendantsLocked()
	for end := time.Now().Add(time.Second); len(survived) > 0 && time.Now().Before(end); survived = w.descendantsLocked() {
		time.Sleep(time.Millisecond) // SIGKILL was sent; dying takes a moment
	}
	list := make([]Leftover, len(left))
	for i, m := range left {
		list[i] = Leftover{PID: m.pid, Name: m.name, Fate: "terminated"}
		switch {
		case slices.ContainsFunc(survived, m.same):
			list[i].Fate = "survived"
		case slices.ContainsFunc(stubborn, m.same):
			list[i].Fate = "killed"
		}
	}
	return list, err
}

// endTree ends the process tree except for its root, and closes it. It returns each process with its fate.
func (w *watcher) endTree() ([]Leftover, error) {
	ended, err := w.tree.KillTree(context.Background(), proctree.KillOptions{Grace: w.run.spec.Grace, SpareRoot: true})
	list := make([]Leftover, len(ended))
	for i, l := range ended {
		list[i] = Leftover{PID: l.PID, Name: l.Name, Fate: string(l.Fate)}
	}
	return list, errors.Join(err, w.closeTree())
}

// closeTree scans the tree a last time, to count the kills since the last look, and closes it. Without a tree it does nothing.
func (w *watcher) closeTree() error {
	if w.tree == nil {
		return nil
	}
	if _, err := w.scanTree(); err == nil {
		w.reportOuterKills()
	}
	w.still.signs.close()
	return w.tree.Close()
}
