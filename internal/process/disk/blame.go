package disk

import "slices"

// blame finds the process behind writers that live only shortly: a loop that starts one after the other goes on when each of them is ended.
type blame struct {
	// lines are the ancestors of those who were ended, the nearest first.
	lines [][]identity
	// waited counts, by limit, the looks since a hard line was reached at which a process had waited for children that had written.
	waited map[string]map[identity]int
}

type identity struct {
	pid   int
	start uint64
}

// identity returns the numbers that tell the process from a later one with the same PID.
func (p *Process) identity() identity { return identity{p.PID, p.Start} }

const (
	// maxLines bounds what is remembered of those who were ended, and maxAncestors of each.
	maxLines, maxAncestors = 64, 32
	// waitedOften is the number of looks that make a process which waits for writers the one behind them, the agent waitedVeryOften: an
	// agent waits for a large copy, too, but once.
	waitedOften, waitedVeryOften = 3, 10
	// agentsChildren is the number of writers ended before the agent that has started them all itself.
	agentsChildren = 3
	// agentShare is the part of what the agent writes itself from which on another writer goes before it.
	agentShare = 10
)

// dropCounts drops the counts for a limit whose hard line is not crossed any more.
func (b *blame) dropCounts(key string) { delete(b.waited, key) }

// countWaits counts, for the limit key, the processes that have waited for children that had written.
func (b *blame) countWaits(key string, r Reading) {
	for i := range r.Processes {
		p := &r.Processes[i]
		if p.Collected < recentLeast {
			continue
		}
		if b.waited == nil {
			b.waited = map[string]map[identity]int{}
		}
		if b.waited[key] == nil {
			b.waited[key] = map[identity]int{}
		}
		if counts := b.waited[key]; len(counts) < maxSaid || counts[p.identity()] > 0 {
			counts[p.identity()]++
		}
	}
}

// choose returns the process to end, and the writer on whose account: the victim itself, one that it has started, or nil if only waits for children
// that wrote were seen. Both are nil if there is nobody to end.
func (b *blame) choose(key string, r Reading) (victim, writer *Process) {
	var agent *Process
	for i := range r.Writers {
		switch w := &r.Writers[i]; {
		case w.Recent < recentLeast:
		case w.Agent:
			if agent == nil || w.Recent > agent.Recent {
				agent = w
			}
		case writer == nil || w.Recent > writer.Recent:
			writer = w
		}
	}
	if agent != nil && (writer == nil || writer.Recent < agent.Recent/agentShare) {
		return agent, agent
	}
	if writer != nil {
		return b.victimFor(writer, r), writer
	}
	for i := range r.Processes { // none lived long enough to be seen
		p := &r.Processes[i]
		often := waitedOften
		if p.Agent {
			often = waitedVeryOften
		}
		if b.waited[key][p.identity()] >= often && (victim == nil || p.Collected > victim.Collected) {
			victim = p
		}
	}
	return victim, nil
}

// victimFor returns the process to end on account of the writer w: the ancestor that keeps the file open to which w writes; else an ancestor that
// has started another writer which was ended before; else w itself. The agent is spared the first times.
func (b *blame) victimFor(w *Process, r Reading) *Process {
	if k := r.find(w.Keeper); k != nil && (!k.Agent || b.endedBelow(k) >= 1) {
		return k
	}
	for _, pid := range ancestors(w, r) {
		if a := r.find(pid); b.endedBelow(a) > 0 {
			if a.Agent && b.endedBelow(a) < agentsChildren {
				break
			}
			return a
		}
	}
	return w
}

// endedBelow returns how many of the processes that were ended had p among their ancestors.
func (b *blame) endedBelow(p *Process) (n int) {
	for _, line := range b.lines {
		if slices.Contains(line, p.identity()) {
			n++
		}
	}
	return n
}

// recordEnded records the ancestors of a process that is being ended.
func (b *blame) recordEnded(victim *Process, r Reading) {
	if len(b.lines) >= maxLines {
		b.lines = b.lines[1:]
	}
	var line []identity
	for _, pid := range ancestors(victim, r) {
		line = append(line, r.find(pid).identity())
	}
	b.lines = append(b.lines, line)
}

// ancestors returns the pids of the ancestors of p that belong to the run, the nearest first, at most maxAncestors.
func ancestors(p *Process, r Reading) (pids []int) {
	for at := r.find(p.Parent); at != nil && len(pids) < maxAncestors; at = r.find(at.Parent) {
		if slices.Contains(pids, at.PID) {
			break
		}
		pids = append(pids, at.PID)
	}
	return pids
}
