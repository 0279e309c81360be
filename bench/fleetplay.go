package main

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/estimate"
	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/internal/process/sizing"
	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/admission"
)

// cluster has a number of equal hosts and the agents that are played on them.
type cluster struct {
	hosts, agents int
	hostMemory    limit.Bytes
}

// maxQueued bounds what waits at the engine: a workflow's manager submits the next job when one has started.
const maxQueued = 1000

// host returns a host without any run, as a decision reads it.
func (f cluster) host() sizing.Host {
	return sizing.Host{Reading: headroom.Reading{MemTotal: f.hostMemory, MemAvailable: f.hostMemory}}
}

// most is the largest request that a host can ever take.
func (f cluster) most() limit.Bytes { return f.hostMemory - headroom.MinFree(f.hostMemory) }

// playable returns the workflow with its tasks in the order of their starts, without those that no request or no host would do for.
func (f cluster) playable(w estimate.Workflow) estimate.Workflow {
	tasks := slices.DeleteFunc(slices.Clone(w.Tasks), func(t estimate.Task) bool {
		return t.Requested == 0 || t.Sample.Demand > f.most()
	})
	slices.SortStableFunc(tasks, func(a, b estimate.Task) int { return a.Start.Compare(b.Start) })
	return estimate.Workflow{Name: w.Name, Tasks: tasks}
}

// agent is one task that a team runs, once or again after it was killed.
type agent struct {
	task   *estimate.Task
	team   int
	number int // by its order of arrival
	again  bool
	killed bool // in the attempt that runs
	limit  limit.Bytes
	claim  admission.Holder // what it has reserved and uses
	host   *fleetHost
	ends   time.Duration
}

// fleetHost has the memory that is available and the part of it that is reserved and not used yet, as admission counts them.
type fleetHost struct {
	available, unused limit.Bytes
	running           []*agent
}

// fleetResult has the agents that were killed at least once, the time until the last had ended, the time until 99 of 100 had, the time of the one
// that takes longest, and what was reserved and what was needed, in byte-seconds.
type fleetResult struct {
	killed                  int
	makespan, most, longest time.Duration
	reserved, used          float64
}

// simulate returns how the agents fare if s sets their requests. The result depends on the seed alone.
func (f cluster) simulate(ctx context.Context, workflows []estimate.Workflow, s sizer, seed uint64) (result fleetResult) {
	arriving := f.draw(workflows, seed)
	g := &fleetGround{cluster: f, sizer: s, hosts: make([]fleetHost, f.hosts)}
	for i := range g.hosts {
		g.hosts[i].available = f.hostMemory
	}
	for ended := 0; ended < f.agents && ctx.Err() == nil; {
		for len(g.queue) < maxQueued && len(arriving) > 0 {
			g.submit(arriving[0])
			arriving = arriving[1:]
		}
		a := g.running[0]
		g.running = g.running[1:]
		g.now = a.ends
		g.leave(a)
		seconds := a.task.Runtime.Seconds()
		result.reserved += float64(a.claim.Reservation) * seconds
		s.learn(a, g.now)
		if a.killed {
			if !a.again {
				result.killed++
			}
			a.again = true
			g.submit(a)
		} else {
			ended++
			result.used += float64(a.task.Sample.Demand) * seconds
			result.longest = max(result.longest, a.task.Runtime)
			if ended == (f.agents*99+99)/100 {
				result.most = g.now
			}
		}
		g.startQueued(a.host)
	}
	result.makespan = g.now
	return result
}

// draw returns the agents in the order of their arrival: teams, each with a random half of a workflow's tasks in the order of the trace,
// take turns at random.
func (f cluster) draw(workflows []estimate.Workflow, seed uint64) []*agent {
	r := rand.New(rand.NewPCG(seed, seed))
	var turns []int
	var teams [][]*estimate.Task
	for len(turns) < f.agents {
		w := workflows[len(teams)%len(workflows)]
		var tasks []*estimate.Task
		for i := range w.Tasks {
			if len(turns) < f.agents && r.IntN(2) == 0 {
				tasks = append(tasks, &w.Tasks[i])
				turns = append(turns, len(teams))
			}
		}
		teams = append(teams, tasks)
	}
	r.Shuffle(len(turns), func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
	agents := make([]*agent, len(turns))
	for i, team := range turns {
		agents[i] = &agent{task: teams[team][0], team: team, number: i}
		teams[team] = teams[team][1:]
	}
	return agents
}

// fleetGround is the fleet at one moment. Its engine places a run on the host that it fits best, and passes over one that fits nowhere:
// that stands for any engine.
type fleetGround struct {
	cluster
	sizer
	hosts   []fleetHost
	queue   []*agent
	running []*agent // the one that ends next in front; of equal ends the one that came first
	now     time.Duration
}

// submit sets the request of an agent from what is known now, and places it or lets it wait.
func (g *fleetGround) submit(a *agent) {
	last := a.claim.Reservation
	a.claim.Reservation, a.limit = g.decide(a)
	a.claim.Reservation = min(g.most(), max(a.claim.Reservation, 2*last))
	a.limit = max(a.limit, a.claim.Reservation)
	var best *fleetHost
	for i := range g.hosts {
		if h := &g.hosts[i]; a.claim.Reservation <= g.room(h) && (best == nil || g.room(h) < g.room(best)) {
			best = h
		}
	}
	if best == nil {
		g.queue = append(g.queue, a)
		return
	}
	g.start(a, best)
}

// room returns the largest reservation that admission would let in on a host.
func (g *fleetGround) room(h *fleetHost) limit.Bytes {
	return h.available - (g.hostMemory - g.most()) - h.unused
}

// startQueued starts the waiting agents that fit on a host that has become freer.
func (g *fleetGround) startQueued(h *fleetHost) {
	g.queue = slices.DeleteFunc(g.queue, func(a *agent) bool {
		fits := a.claim.Reservation <= g.room(h)
		if fits {
			g.start(a, h)
		}
		return fits
	})
}

// start runs an agent on a host. When all together then need more than the host has, the one that is furthest above its reservation is
// killed, and counts with that reservation until its end.
func (g *fleetGround) start(a *agent, h *fleetHost) {
	a.host, a.ends = h, g.now+a.task.Runtime
	a.claim.Current = min(a.task.Sample.Demand, a.limit)
	a.killed = a.task.Sample.Demand > a.limit
	h.running = append(h.running, a)
	next, _ := slices.BinarySearchFunc(g.running, a, func(b, a *agent) int {
		return cmp.Or(cmp.Compare(b.ends, a.ends), cmp.Compare(b.number, a.number))
	})
	g.running = slices.Insert(g.running, next, a)
	h.available -= a.claim.Current
	h.unused += a.claim.Unused()
	for h.available < 0 {
		worst := slices.MaxFunc(h.running, func(a, b *agent) int {
			return int(a.claim.Current - a.claim.Reservation - b.claim.Current + b.claim.Reservation)
		})
		h.available += worst.claim.Current - worst.claim.Reservation
		worst.claim.Current, worst.killed = worst.claim.Reservation, true
	}
}

// leave gives back what an agent had.
func (g *fleetGround) leave(a *agent) {
	h := a.host
	h.available += a.claim.Current
	h.unused -= a.claim.Unused()
	h.running = slices.DeleteFunc(h.running, func(b *agent) bool { return a == b })
}

// asRun returns the run of an agent as a history stores it.
func (a *agent) asRun(now time.Duration) usage.Run {
	r := usage.Run{
		Time: time.Unix(0, 0).Add(now), Duration: a.task.Runtime, Peak: a.claim.Current, PeakAnon: a.claim.Current, Exact: true,
		Limit: a.limit, Outcome: journal.OutcomeOK,
	}
	if a.killed {
		r.Outcome, r.OOMKills = journal.OutcomeOOM, 1
	}
	return r
}
