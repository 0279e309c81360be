package metrics

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/fleet/hosts"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
)

// adoptEvery is the least time between two passes that give an end to runs whose plimsoll was killed.
const adoptEvery = time.Minute

// recent is the time for which the largest result of a run that has ended still shows: a scrape must not miss it.
const recent = time.Hour

// outcomes are shown with 0 before there is one: an alert on a counter sees 0 become 1, and not a series that begins with 1.
var outcomes = []string{
	string(journal.OutcomeOK), string(journal.OutcomeFailed), string(journal.OutcomeOOM), string(journal.OutcomeLimit), string(journal.OutcomeRefused),
	string(journal.OutcomeSignalled), runs.Died,
}

// Host is the memory of the host, in bytes.
type Host struct {
	TotalBytes, AvailableBytes int64
	// Stall is the share of the last ten seconds in percent in which something waited for memory; negative where nobody counts it.
	Stall float64
	// DiskBytes and DiskFreeBytes are of the file system that the runs are kept on; 0 where nobody tells.
	DiskBytes, DiskFreeBytes int64
}

// Runs collects from the store of runs: every run of this user, whoever runs it. All of it is read at a scrape, and nothing between
// two of them.
type Runs struct {
	dir  string
	host func() (Host, bool)

	mu      sync.Mutex
	traces  func() Traces    // nil where none are sent
	fleet   func() hosts.Now // nil where there is none
	store   *runs.Store
	adopted time.Time
}

// NewRuns reads the store in a state directory; host may be nil.
func NewRuns(stateDir string, host func() (Host, bool)) *Runs {
	return &Runs{dir: stateDir, host: host}
}

// Close closes the store.
func (r *Runs) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.store == nil {
		return nil
	}
	err := r.store.Close()
	r.store = nil
	return err
}

// Add shows the runs beside what the process itself counts.
func (m *Metrics) Add(r *Runs) { m.shown.add(r.show) }

// Handler answers scrapes with the metrics of the runs and of this process.
func Handler(r *Runs) http.Handler { return newExposition(nil, showGo, showProcess, r.show) }

// Write writes the metrics of the runs alone, as a file for node_exporter.
func (r *Runs) Write(to io.Writer) error { return newExposition(nil, r.show).write(to, nil) }

// show reads the store of runs and sets the metrics of a scrape. If the store cannot be read, only plimsoll.runs.readable says so.
func (r *Runs) show(all *instruments) {
	r.mu.Lock()
	err := r.readInto(all)
	traces, fleet := r.traces, r.fleet
	r.mu.Unlock()
	if fleet != nil {
		showFleet(all, fleet())
	}
	if traces != nil {
		now := traces()
		now.show(all)
	}
	readable := int64(1)
	if err != nil {
		readable = 0 // the other series end, and an alert is for this one
	}
	all.gauge("plimsoll.runs.readable", "1", "1 when the store of runs could be read, else 0.").set(readable, nil)
}

// readInto reads the store of runs and sets the metrics of a scrape from it.
func (r *Runs) readInto(all *instruments) error {
	if r.store == nil {
		store, err := runs.Open(r.dir)
		if err != nil {
			return err
		}
		r.store = store
	}
	var failed error
	if now := time.Now(); now.Sub(r.adopted) > adoptEvery {
		r.adopted = now
		failed = runs.Adopt(r.dir, now) // what could not be ended shows as died nevertheless
	}
	if err := r.store.Poll(); err != nil {
		return errors.Join(failed, err)
	}
	totals := r.store.Totals()
	showTotals(all, totals)
	showLive(all, totals, r.store)
	kept, size := r.store.Kept()
	all.gauge("plimsoll.runs.kept", "{run}", "Runs that have ended and are kept.").set(int64(kept), nil)
	all.gauge("plimsoll.runs.kept.size", "By", "Size of their files.").set(size, nil)
	if r.host != nil {
		if h, ok := r.host(); ok {
			h.show(all)
		}
	}
	return nil
}

// show adds the host's figures to a scrape, without those that are unknown.
func (h *Host) show(all *instruments) {
	all.gauge("plimsoll.host.memory.total", "By", "Memory of the host, or of the cgroup that bounds it.").set(h.TotalBytes, nil)
	all.gauge("plimsoll.host.memory.available", "By", "Memory that new work could use.").set(h.AvailableBytes, nil)
	if h.Stall >= 0 {
		all.gauge("plimsoll.host.memory.stall.ratio", "1", "Share of the last ten seconds in which something waited for memory.").setFloat(h.Stall/100, nil)
	}
	if h.DiskBytes > 0 {
		all.gauge("plimsoll.state.disk.total", "By", "Size of the file system that Plimsoll keeps its state on.").set(h.DiskBytes, nil)
		all.gauge("plimsoll.state.disk.free", "By", "What is free of it.").set(h.DiskFreeBytes, nil)
	}
}

// showTotals sets the counters, which outlive a restart and the clean-up.
func showTotals(all *instruments, totals runs.Totals) {
	ended := all.counter("plimsoll.runs.ended", "{run}", "Runs that have ended, by outcome.")
	kills := all.counter("plimsoll.run.oom.kills", "{process}", "Commands (agent) and processes of theirs (child) that were killed for memory.")
	waits := all.counter("plimsoll.run.waits", "{run}", "Runs that had to wait for memory or a slot.")
	waited := all.counter("plimsoll.run.waited", "s", "Time that they waited.")
	requests := all.counter("plimsoll.run.requests", "{request}", "Model requests.")
	tokens := all.counter("plimsoll.run.tokens", "{token}", "Tokens as the providers counted them, else as estimated, by type.")
	compactions := all.counter("plimsoll.run.compactions", "{compaction}", "How often room was made in a conversation.")
	compacted := all.counter("plimsoll.run.compaction.tokens", "{token}", "Input tokens of the requests in which room was made, before and after.")
	cut := all.counter("plimsoll.run.cut", "By", "Bytes left out of requests.")
	repairs := all.counter("plimsoll.run.repairs", "{repair}", "Tool calls and results that were paired again.")
	recoveries := all.counter("plimsoll.run.overflow.recoveries", "{request}", "Requests that were refused as too long and then fit.")
	over := all.counter("plimsoll.run.over.window", "{run}", "Runs with a request that was larger than its window.")
	loops := all.counter("plimsoll.run.loops", "{loop}", "How often an agent repeated itself, each episode once.")
	cost := all.counter("plimsoll.model.cost.dollars", "{dollar}", "US dollars that the tokens of models have cost; with plan, what those of a subscription would have cost.")
	lines := all.counter("plimsoll.run.spend.lines", "{line}", "How often runs came to four fifths (soft) or the whole (hard) of what they, or a budget, may spend.")
	trips := all.counter("plimsoll.run.breaker.trips", "{time}", "Times that a window was halved after a death for memory or repeated refusals.")
	calls := all.counter("plimsoll.run.tool.calls", "{call}", "Calls of tools over MCP.")
	results := all.counter("plimsoll.run.tool.results", "By", "Results as servers sent them (upstream) and as agents got them (delivered).")
	spilled := all.counter("plimsoll.run.tool.spilled", "{result}", "Results of which the agent got a page.")
	large := all.counter("plimsoll.run.results.large", "{result}", "Results over 200 KB.")
	dropped := all.counter("plimsoll.run.lines.dropped", "{line}", "Lines of what happened that found no room in a run's file.")
	for name, s := range totals {
		tool := textLabel("tool", name)
		of := makeLabels(tool)
		two := func(i *instrument, key, a string, inA int64, b string, inB int64) {
			i.add(inA, makeLabels(tool, label{key, a}))
			i.add(inB, makeLabels(tool, label{key, b}))
		}
		for _, outcome := range outcomes {
			ended.add(0, makeLabels(tool, label{"outcome", outcome}))
		}
		for outcome, n := range s.Outcomes {
			ended.add(n, makeLabels(tool, textLabel("outcome", outcome)))
		}
		two(kills, "of", "agent", s.OOMKills, "child", s.ChildKills)
		two(tokens, "type", "input", s.TokensIn, "output", s.TokensOut)
		two(compacted, "when", "before", s.CompactedFrom, "after", s.CompactedTo)
		two(results, "at", "upstream", s.UpstreamBytes, "delivered", s.DeliveredBytes)
		waited.setFloat(float64(s.WaitedMS)/1000, of)
		for _, c := range s.Costs {
			cost.addFloat(c.Cost, makeLabels(tool, textLabel("model", c.Model), boolLabel("plan", c.Plan)))
		}
		for _, l := range s.SpendLines {
			lines.add(l.Times, makeLabels(tool, textLabel("limit", l.Limit), textLabel("line", l.Line)))
		}
		for i, n := range map[*instrument]int64{
			waits: s.Waited, requests: s.Requests, compactions: s.Compactions, cut: s.CutBytes, repairs: s.Repairs, recoveries: s.Recoveries, over: s.OverWindow,
			loops: s.Loops, trips: s.BreakerTrips, calls: s.Calls, spilled: s.Spilled, large: s.LargeResults, dropped: s.Dropped,
		} {
			i.add(n, of)
		}
	}
}

// now is the use of the runs of one tool at this moment.
type now struct {
	running, waiting, yours, idle  int64
	used, limit, reserved, largest int64
	forgotten                      int64   // of used, by idle runs
	memory, window                 float64 // the highest shares of any run
	messages                       int64
	longest                        time.Duration
}

// showLive sets the gauges of the live runs by tool. A tool without a run has zeros, so that what was shown does not stay.
func showLive(all *instruments, totals runs.Totals, store *runs.Store) {
	at := time.Now()
	byTool := map[string]*now{}
	of := func(tool string) *now {
		if totals[tool] == nil {
			tool = runs.OtherTools
		}
		if byTool[tool] == nil {
			byTool[tool] = &now{}
		}
		return byTool[tool]
	}
	for tool := range totals {
		of(tool)
	}
	for _, run := range store.Live() {
		of(store.ToolOf(&run.Entry)).addRun(run, at)
	}
	for _, e := range store.Ended(at.Add(-recent)) {
		n := of(store.ToolOf(&e))
		n.largest = max(n.largest, e.LargestResult)
	}
	count := all.gauge("plimsoll.runs", "{run}", "Runs that live, by state.")
	used := all.gauge("plimsoll.run.memory.used", "By", "Memory that the runs use, without what can be reclaimed.")
	forgotten := all.gauge("plimsoll.run.memory.idle", "By", "Memory of that which idle runs hold, which nobody uses.")
	bound := all.gauge("plimsoll.run.memory.limit", "By", "The sum of their limits.")
	reserved := all.gauge("plimsoll.run.memory.reserved", "By", "What they have reserved.")
	share := all.gauge("plimsoll.run.memory.ratio.max", "1", "Memory used as a part of the limit: the highest of any run.")
	window := all.gauge("plimsoll.run.window.ratio.max", "1", "Tokens of the newest requests as a part of the window: the highest of any run.")
	messages := all.gauge("plimsoll.run.messages.max", "{message}", "Messages of the request in the fullest window: the most of any run.")
	longest := all.gauge("plimsoll.run.waiting.max", "s", "How long the run that waits longest has waited.")
	largest := all.gauge("plimsoll.run.result.max", "By", "The largest result of a tool, of runs that live or ended within the last hour.")
	for name, n := range byTool {
		tool := textLabel("tool", name)
		count.set(n.running, makeLabels(tool, label{"state", runs.Running}))
		count.set(n.waiting, makeLabels(tool, label{"state", runs.Waiting}))
		count.set(n.yours, makeLabels(tool, label{"state", runs.YourTurn}))
		count.set(n.idle, makeLabels(tool, label{"state", runs.Idle}))
		forgotten.set(n.forgotten, makeLabels(tool))
		used.set(n.used, makeLabels(tool))
		bound.set(n.limit, makeLabels(tool))
		reserved.set(n.reserved, makeLabels(tool))
		share.setFloat(n.memory, makeLabels(tool))
		window.setFloat(n.window, makeLabels(tool))
		messages.set(n.messages, makeLabels(tool))
		longest.setFloat(n.longest.Seconds(), makeLabels(tool))
		largest.set(n.largest, makeLabels(tool))
	}
}

// addRun adds the present use of a run to the sums of its tool.
func (n *now) addRun(run *runs.Run, at time.Time) {
	n.largest = max(n.largest, run.LargestResult)
	c := run.FullestRequest(at)
	n.messages = max(n.messages, int64(c.Messages))
	if c.Limit > 0 {
		n.window = max(n.window, float64(c.Tokens)/float64(c.Limit))
	}
	if run.IsService() {
		return
	}
	if run.Outcome == runs.Waiting {
		n.waiting++
		n.longest = max(n.longest, at.Sub(run.Started))
		return
	}
	switch run.State {
	case runs.YourTurn:
		n.yours++
	case runs.Idle:
		n.idle++
	default:
		n.running++
	}
	working := run.NewestSample().Working
	if run.LimitBytes > 0 {
		n.memory = max(n.memory, float64(working)/float64(run.LimitBytes))
	}
	if run.Parent == "" { // what is inside another run is in its memory, and in what it has reserved
		n.used += working
		if run.State == runs.Idle {
			n.forgotten += working
		}
		n.limit += run.LimitBytes
		n.reserved += run.ReservationBytes
	}
}
