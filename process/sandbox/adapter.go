package sandbox

import (
	"time"

	"github.com/plimsoll/plimsoll/internal/process/proctree"
	"github.com/plimsoll/plimsoll/journal"
)

const (
	// agentWait is the time for which a process below an adapter is left alone, because it may still become the agent: a process marked as
	// a child can get its OOM score back, but without privileges not its nice value.
	agentWait = 5 * time.Second
	// agentRest bounds the time for an adapter to report that its agent was killed, or to start it again, before the run is ended.
	agentRest = 2 * time.Second
	// maxAgents bounds the agents that are remembered, and maxAbove how many processes may stand between one and the command.
	maxAgents, maxAbove = 256, 64
)

// agents finds the agents below a command that only translates for them ([Spec].Agent). The watcher's lock guards it.
type agents struct {
	isAgent func(argv []string) bool // nil: the command itself is the agent
	root    int
	known   map[int]uint64 // pid to start time, with those that have ended
	killed  bool           // one of them was, for memory
	ending  bool           // the end of the run is waited for
}

// role is the role of a process in a run with an adapter.
type role uint8

const (
	aTool role = iota
	undecided
	anAgent
)

// findRole returns the role of a process: anAgent if [Spec].Agent accepts its arguments, which it then remembers; aTool for one below an agent,
// whatever its arguments, and for any other one older than agentWait; undecided for a young one. Without [Spec].Agent all are tools.
func (a *agents) findRole(p proctree.Process) role {
	if a.isAgent == nil {
		return aTool
	}
	if a.knows(p.PID, p.Start) {
		return anAgent
	}
	young := processAge(p) < agentWait
	for above, n := p.PPID, 0; above != a.root; n++ {
		q, err := proctree.Lookup(above)
		switch {
		case err != nil || above <= 1 || n == maxAbove: // an orphan, or its parent has just gone
			return aTool
		case a.knows(q.PID, q.Start):
			return aTool
		}
		above = q.PPID
	}
	switch {
	case a.isAgent(readArguments(p.PID)):
		a.remember(p)
		return anAgent
	case young:
		return undecided
	}
	return aTool
}

// knows reports whether the process with this pid and start time was found to be an agent, alive or not.
func (a *agents) knows(pid int, start uint64) bool {
	was, ok := a.known[pid]
	return ok && was == start
}

// remember records p as an agent. When maxAgents are recorded, those that are dead are dropped; if all are alive, p is not recorded.
func (a *agents) remember(p proctree.Process) {
	if a.known == nil {
		a.known = map[int]uint64{}
	}
	for pid, start := range a.known {
		if len(a.known) >= maxAgents && !proctree.Alive(pid, start) {
			delete(a.known, pid)
		}
	}
	if len(a.known) < maxAgents {
		a.known[p.PID] = p.Start
	}
}

// anyAlive reports whether an agent lives now.
func (a *agents) anyAlive() bool {
	for pid, start := range a.known {
		if proctree.Alive(pid, start) {
			return true
		}
	}
	return false
}

// mayBeAgent reports whether p must not be treated as a tool: it is an agent, or so young that it may become one. An agent that is new gets the
// command's OOM score and nice value, see protectAgent. It is called with the tree locked.
func (w *watcher) mayBeAgent(p proctree.Process) bool {
	known := w.agents.knows(p.PID, p.Start)
	s := w.agents.findRole(p)
	if s == anAgent && !known {
		w.protectAgent(p)
	}
	return s != aTool
}

// protectAgent gives an agent, and at most maxAbove processes between it and the command, the command's own OOM score and nice value, and marks them
// as protected, so that they are not treated as children later.
func (w *watcher) protectAgent(p proctree.Process) {
	for range maxAbove {
		_ = proctree.OOMScoreAs(p.PID, w.run.pid)
		setPriority(p.PID, w.run.nice)
		if m := w.known[p.PID]; m != nil {
			m.protected, m.settled = true, true
		}
		var err error
		if p, err = proctree.Lookup(p.PPID); err != nil || p.PID == w.run.pid || p.PID <= 1 {
			return
		}
	}
}

// settleRole decides, once for each process, whether m is a child, and if so raises its OOM score and, in a background run, lowers its priority. The
// agent, the processes that lead to it, and those that may still become it are left alone.
func (w *watcher) settleRole(m *member) {
	if m.protected || m.settled {
		return
	}
	if w.agents.isAgent != nil {
		p, err := proctree.Lookup(m.pid)
		if err != nil {
			return
		}
		switch w.agents.findRole(p) {
		case undecided:
			return
		case anAgent:
			w.protectAgent(p)
			return
		}
	}
	m.settled = true
	_, _ = proctree.OOMScoreAdj(m.pid, childScore)
	if w.run.spec.enforcedLimits().isBackground() {
		lowerPriority(m.pid, addNice(w.run.nice, childNice))
	}
}

// checkAgentKilled is called for every process that was killed for memory. If it was an agent and none is alive after agentRest, the run is asked to
// end: by then the adapter has had the time to report the death itself.
func (w *watcher) checkAgentKilled(pid int, start uint64) {
	if !w.agents.knows(pid, start) {
		return
	}
	w.agents.killed = true
	if !w.agents.ending {
		w.agents.ending = true
		go w.run.endWithoutAgent()
	}
}

// endWithoutAgent waits for agentRest, and ends the run if no agent is alive then and the command has not ended.
func (r *Run) endWithoutAgent() {
	select {
	case <-r.exited:
		return
	case <-time.After(agentRest):
	}
	r.watch.mu.Lock()
	alive := r.watch.agents.anyAlive()
	r.watch.agents.ending = !alive
	r.watch.mu.Unlock()
	if alive {
		return
	}
	r.spec.appendEvent(journal.Warned{About: "agent", Text: "the agent was killed for memory, and what stands between it and the editor goes on: the run was asked to end"})
	r.End("memory")
}

// agentKilled reports whether an agent behind an adapter was killed for memory.
func (w *watcher) agentKilled() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.agents.killed
}
