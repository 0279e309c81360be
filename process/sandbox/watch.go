package sandbox

import (
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/proctree"
	"github.com/plimsoll/plimsoll/internal/process/rounding"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// The watcher's rhythm. A 250 MB agent with eight 60 MB children under 400 MB survived 20 of 20 times when the children's score was raised within
// 50 ms, and 0 of 20 times with a poll of 500 ms; half a second is enough for everything else.
const (
	tick = 50 * time.Millisecond
	// fastTick is the rhythm from a quarter of the limit on while no alarm is set: eight children that each take 60 MB at once were faster than 50 ms.
	fastTick    = 10 * time.Millisecond
	sampleEvery = 500 * time.Millisecond
	// calmEvery is the time between two looks while the run uses less than a quarter of its limit and an alarm is set for the end of that;
	// the kernel keeps the peak meanwhile.
	calmEvery = time.Second
	// stillEvery is the time between two looks when the run then holds to the byte what it held at the last one: it waits for something.
	stillEvery = 2 * time.Second
	// childScore is the oom_score_adj of every descendant: the kernel takes it before the agent. 500 was measured to be too little.
	childScore = 1000
	// maxKnown bounds the table of processes by pid; beyond it new ones are still raised, only not remembered by name.
	maxKnown = 32768
)

// watcher follows one run: it raises the children's OOM score, samples, counts OOM kills,
// and holds the limits of the layers that can't do it themselves.
type watcher struct {
	run  *Run
	tree *proctree.Tree // for cages that can't list their members

	mu       sync.Mutex
	lastSeen Sample
	high     Sample
	cpu      cpuUse
	waits    processorWait
	known    map[int]*member
	pids     []int
	round    uint32
	kills    int
	unnamed  int            // kills whose victim had not gone at the last count
	lost     []member       // gone since the last OOM count, newest last
	exiting  map[int]uint64 // ended over a limit: pid to start time
	around   int            // the kernel's kills in the group around us at the last count
	ended    int            // what we have ended over the limit and the kernel has not counted
	largest  member         // of the tree, at the last look
	gone     []proctree.Process
	due      time.Time   // when the tree is looked at next, in a container
	usedThen int64       // what the container held when it was looked at last, bytes
	data     limit.Bytes // the largest data segment of any process so far
	still    stillness
	sampled  time.Time
	listed   time.Time
	moved    []member      // who left the run's group, within bounds
	charged  int64         // what the run held at the last look, bytes
	alarm    atomic.Bool   // the cage wakes us near the limit
	raised   chan struct{} // the limit has grown
	telling  atomic.Bool   // somebody is told that the run is near its limit
	// What a look needs and does not keep: the next one takes it again, so that a run that only waits makes no garbage.
	familyPIDs, living []int
	familyNow, ofTree  []proctree.Process
	protected          map[int]bool
	agents             agents // where the command only translates
	eachShare          iter.Seq2[string, limit.Bytes]
}

// member is a process of the run as it was last seen.
type member struct {
	pid       int
	name      string
	bytes     limit.Bytes
	round     uint32
	protected bool // the agent, or part of the chain of launchers that leads to it
	settled   bool // it is known what it is, and it was marked
	parent    int
	started   uint64
	met       time.Time // when it was seen first
	named     time.Time // when name was read
	stopped   bool      // by a signal, when it was found as a leftover
}

// same reports whether two members are the same process.
func (m member) same(o member) bool { return m.pid == o.pid && m.started == o.started }

// nameEvery is the time between two readings of a young process's name: a fork has its parent's name until it calls exec.
// A process that has lived for youngFor is asked for its name only when it grows ([watcher.sample]).
const (
	nameEvery = tick
	youngFor  = time.Second
)

// refreshName reads a process's name again, and passes another one on to [Spec].Meet. The old name stays when the process has gone. The caller
// holds the lock.
func (w *watcher) refreshName(m *member, now time.Time) {
	m.named = now
	if p, err := proctree.Lookup(m.pid); err == nil && p.Start == m.started && p.Name != m.name {
		m.name = p.Name
		w.reportProcess(m.pid, m.name)
	}
}

// reportProcess passes a process and its name on to [Spec].Meet. The caller holds the lock.
func (w *watcher) reportProcess(pid int, name string) {
	if w.run.spec.Meet != nil {
		w.run.spec.Meet(pid, name)
	}
}

// maxLost bounds the processes remembered as candidates for an OOM kill.
const maxLost = 256

// newWatcher returns the watcher of a run. If the cage cannot list its processes, it watches the process tree; if that fails, it warns.
func newWatcher(r *Run, adopts bool) *watcher {
	w := &watcher{run: r, known: map[int]*member{}, raised: make(chan struct{}, 1), agents: agents{isAgent: r.spec.Agent, root: r.pid}}
	w.eachShare = w.eachMemory
	if _, knows := r.cage.members(nil); !knows {
		tree, err := proctree.New(proctree.Options{
			Root: r.pid, Cookie: CookieName + "=" + r.spec.ID, Subreaper: adopts,
			Exclude: func(p proctree.Process) bool { return p.PID != r.pid && (startedHere(p) || adopts && r.isOfAnother(p)) },
			Spare:   w.mayBeAgent,
		})
		if err == nil {
			w.tree, w.still.signs = tree, openMachineSigns()
		} else {
			r.spec.appendEvent(journal.Warned{About: "watching", Text: "the process tree can't be watched: " + err.Error()})
		}
	}
	return w
}

// alarmed is a cage that wakes the watcher when the run comes near its limit.
type alarmed interface {
	// setAlarm makes the cage send to wake when the run comes near memory, its limit in bytes. It returns when stop is closed, or at once
	// when no alarm can be set; ready is true while one is.
	setAlarm(memory int64, wake chan<- struct{}, ready *atomic.Bool, stop <-chan struct{})
	// adjustThrottle is called with the charged bytes after every look, when the children have been marked.
	adjustThrottle(charged int64)
	// disableThrottle is called when the processes go on without a watcher.
	disableThrottle()
}

// lookUntil looks at the run until stop is closed: after the pause that each look asks for, and when the alarm for the memory limit wakes it.
func (w *watcher) lookUntil(stop <-chan struct{}) {
	wake := make(chan struct{}, 1)
	var alarm sync.WaitGroup
	defer alarm.Wait()
	if c, ok := w.run.cage.(alarmed); ok {
		if w.run.currentLimit() > 0 {
			alarm.Go(func() { w.keepAlarm(c, wake, stop) })
		}
	}
	t := time.NewTimer(w.lookOnce(true))
	defer t.Stop()
	for {
		select {
		case <-stop:
			return
		case <-wake:
			t.Reset(rounding.Pause(w.lookOnce(false)))
		case <-t.C:
			t.Reset(rounding.Pause(w.lookOnce(false)))
		}
	}
}

// lookOnce samples, lists and counts as far as each is due, and returns the pause until the next look. first is true for the first one,
// when all is due.
func (w *watcher) lookOnce(first bool) time.Duration {
	w.run.cageMu.Lock()
	defer w.run.cageMu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if w.tree != nil {
		return w.lookAtTreeWhenDue(now, first)
	}
	memory := int64(w.run.currentLimit())
	charged, chargedThen := w.run.cage.charged(), w.charged
	w.charged = charged
	near := memory > 0 && charged >= memory/4
	if first || near || now.Sub(w.listed) >= sampleEvery {
		w.listed = now
		w.updateMembers(now)
	}
	if first || now.Sub(w.sampled) >= sampleEvery || memory > 0 && charged >= memory/4*3 && now.Sub(w.sampled) >= tick {
		w.sampleCage(now)
		w.reportKills()
	}
	alarm := w.alarm.Load()
	if c, ok := w.run.cage.(alarmed); ok && alarm {
		c.adjustThrottle(charged)
	}
	switch {
	case near && alarm:
		return tick
	case near:
		return fastTick
	case (alarm || memory <= 0) && charged == chargedThen:
		return stillEvery
	case alarm || memory <= 0:
		return calmEvery
	}
	return tick
}

// updateMembers reads the members of the cage. It adds new ones, whose OOM score is raised unless they are spared, and moves those that are gone
// to w.lost.
func (w *watcher) updateMembers(now time.Time) {
	w.pids, _ = w.run.cage.members(w.pids[:0])
	w.round++
	for _, pid := range w.pids {
		m := w.known[pid]
		if m == nil {
			m = w.addMember(pid, now)
		} else if now.Sub(m.met) < youngFor && now.Sub(m.named) >= nameEvery {
			w.refreshName(m, now)
		}
		m.round = w.round
		w.settleRole(m)
	}
	if w.known[w.run.pid] == nil { // it left before it was seen, or has ended
		w.recordMoved(member{pid: w.run.pid, name: proctree.Name(w.run.pid), started: w.run.started})
	}
	if len(w.known) == len(w.pids) {
		return
	}
	broken := false
	for pid, m := range w.known {
		if m.round != w.round {
			delete(w.known, pid)
			w.recordGone(*m)
			broken = broken || m.protected
		}
	}
	if broken && w.run.spec.Launcher && w.agents.isAgent == nil {
		w.unprotectOrphans()
	}
}

// unprotectOrphans makes children of the protected processes whose launcher has ended while the run goes on. A shell that starts something in the
// background before it becomes the agent looks like a launcher for a moment, and the process that it started looks like the agent.
func (w *watcher) unprotectOrphans() {
	for again := true; again; {
		again = false
		for _, m := range w.known {
			if parent := w.known[m.parent]; m.protected && m.pid != w.run.pid && (parent == nil || !parent.protected) {
				m.protected, again = false, true
				w.settleRole(m)
			}
		}
	}
}

// recordGone keeps a process that is gone as a candidate for the next OOM kills, at most maxLost of them, and as moved if it still runs.
func (w *watcher) recordGone(m member) {
	w.recordMoved(m)
	if len(w.lost) >= maxLost {
		w.lost = slices.Delete(w.lost, 0, maxLost/2)
	}
	w.lost = append(w.lost, m)
}

// addMember adds a new process to those known, up to maxKnown, settles its role and reports it to [Spec].Meet.
func (w *watcher) addMember(pid int, now time.Time) *member {
	m := &member{pid: pid, met: now, named: now}
	if p, err := proctree.Lookup(pid); err == nil {
		m.name, m.parent, m.started = p.Name, p.PPID, p.Start
	}
	m.protected = pid == w.run.pid || w.run.spec.Launcher && w.leadsToAgent(m)
	if len(w.known) < maxKnown {
		w.known[pid] = m
	}
	w.settleRole(m)
	w.reportProcess(pid, m.name)
	return m
}

// leadsToAgent reports whether m is the first child of a launcher in the chain that leads to the agent: npx starts a shell that starts the
// agent, and the agent must not be the victim. An interpreter is no launcher: node and python are the agent that they run.
func (w *watcher) leadsToAgent(m *member) bool {
	parent := w.known[m.parent]
	if parent == nil || !parent.protected || !isLauncherName(proctree.Name(m.parent)) {
		return false
	}
	for _, sibling := range w.known {
		if sibling.protected && sibling.parent == m.parent && sibling.pid != m.pid {
			return false
		}
	}
	return true
}

// reportKills counts the kernel's OOM kills since the last count, and reports as the likeliest victims the largest of the processes that are gone
// since then. A killed process stays a member until its parent has been told, so a kill without a lost process is named by a later count, as long as
// a process is on its way out.
func (w *watcher) reportKills() {
	total := w.run.cage.oomKills()
	fresh := total - w.kills
	if fresh > 0 {
		w.kills = total
		w.run.spec.appendEvent(journal.OOMKills{New: fresh, Total: total})
	}
	waiting := fresh + w.unnamed
	if waiting > 0 {
		sorting.StableBy(w.lost, func(a, b member) int { return int(b.bytes - a.bytes) })
	}
	named := min(waiting, len(w.lost))
	for _, m := range w.lost[:named] {
		if m.pid != w.run.pid {
			w.checkAgentKilled(m.pid, m.started)
			w.run.spec.appendEvent(journal.ChildKilled{PID: m.pid, Name: m.name, Bytes: int64(m.bytes), By: "kernel"})
		}
	}
	w.lost = w.lost[:0]
	w.unnamed = waiting - named
	if w.unnamed > fresh && !w.anyExiting() { // whoever it was had gone before it was seen
		w.unnamed = fresh
	}
}

// anyExiting reports whether a process of the run is on its way out: on a busy machine it takes seconds to free what one held.
func (w *watcher) anyExiting() bool {
	for pid := range w.known {
		if proctree.Dying(pid) {
			return true
		}
	}
	return false
}

// countKills counts the OOM kills a last time, when the run is over, and returns their total.
func (w *watcher) countKills() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tree == nil {
		w.updateMembers(time.Now())
		w.reportKills()
		return w.kills
	}
	return w.kills // the tree was asked a last time when it was closed
}

// sampleCage takes a sample of the cage. When half of the memory limit is used, it also reads what each process holds.
func (w *watcher) sampleCage(now time.Time) {
	s, ok := w.run.cage.sample()
	if !ok {
		return
	}
	w.sampled = now
	s.Processes = len(w.pids)
	s.Work = s.CPU
	if s.CPU == 0 && w.run.spec.Observe != nil {
		s.CPU, s.Work = w.cpu.readTimes(w.pids)
	}
	w.recordSample(s)
	if memory := w.run.currentLimit(); memory > 0 && s.Charged >= memory/2 {
		for pid, m := range w.known {
			held := privateMemory(pid)
			if held > 2*m.bytes { // it has grown: perhaps as another program
				w.refreshName(m, now)
			}
			if held > 0 {
				m.bytes = held
			}
		}
	}
}

// recordSample keeps a sample and the highest figures so far, and calls [Spec].OnNear and [Spec].Observe.
func (w *watcher) recordSample(s Sample) {
	w.lastSeen = s
	w.high.Working = max(w.high.Working, s.Working)
	w.high.Charged = max(w.high.Charged, s.Charged)
	w.high.File = max(w.high.File, s.File)
	w.high.Processes = max(w.high.Processes, s.Processes)
	w.reportNear(s)
	if w.run.spec.Observe != nil {
		w.waits.measure(w.sampled, s.CPU, w.alivePIDs)
		s.Shares = w.eachShare
		w.run.spec.Observe(s)
	}
}

// processor returns the averages of the processors that the run had and wanted, Wanted at most as many as it may use.
func (w *watcher) processor() Processor {
	w.mu.Lock()
	defer w.mu.Unlock()
	most := float64(runtime.NumCPU())
	if quota := w.run.spec.enforcedLimits().CPUs; quota > 0 {
		most = min(most, quota)
	}
	return w.waits.averages(most)
}

// alivePIDs returns the pids that were in the run at the last look. Of a process tree, those whose processor time cannot be read are left out.
// The caller holds w.mu.
func (w *watcher) alivePIDs() []int {
	if w.tree == nil {
		return w.pids
	}
	list := w.living[:0]
	for _, p := range w.members() {
		if p.CPU >= 0 { // its processor time can be read on this system
			list = append(list, p.PID)
		}
	}
	w.living = reuseSmall(list)
	return list
}

// sampleLocked takes the last sample of a run that has a group; a tree is not measured again. The caller holds the run's cage.
func (w *watcher) sampleLocked() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tree == nil {
		w.sampleCage(time.Now())
	}
}

// lastSample returns the last sample, the zero Sample before there is one.
func (w *watcher) lastSample() Sample {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lastSeen
}

// highestData returns the largest data segment that a process of the tree was seen with.
func (w *watcher) highestData() limit.Bytes {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.data
}

// highestSample returns the highest value of each figure of all samples.
func (w *watcher) highestSample() Sample {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.high
}
