package runs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// Bounds of what is held of one run.
const (
	maxContext     = 4096 // requests; beyond, two become one with the fuller window
	maxCompactions = 512
	maxKills       = 256
	maxTools       = 512
	maxLargest     = 32
	maxRecords     = 256
)

// Run is one run with what happened in it.
type Run struct {
	Entry
	Header Header `json:"header"`
	// Report is the run report: so far while the run lives, as it was written once it has ended.
	Report  journal.Report `json:"report"`
	Samples []Sample       `json:"samples"`
	// ByProcess is the memory over time by process, for a run from [Store.Run]; nil where nobody has asked the processes.
	ByProcess *ByProcess `json:"by_process,omitempty"`
	// Context is the fill of the window, request by request.
	Context     []Context    `json:"context"`
	Compactions []Compaction `json:"compactions"`
	Kills       []Kill       `json:"kills"`
	// Tools are the tools by the size of their results, the largest sum first; Largest are the largest single results, the largest first.
	Tools   []Tool   `json:"tools"`
	Largest []Result `json:"largest"`
	// Admission has the terms of the sum by which the run was admitted; nil before that, and without admission.
	Admission *journal.Admitted `json:"admission,omitempty"`
	// Refusal is the text for a refused run, "" for others.
	Refusal string `json:"refusal,omitempty"`
	// Forgotten says which idle runs held more than a quarter of the machine when this one started; "" when none did.
	Forgotten string `json:"forgotten,omitempty"`
	// Queue is the place of a waiting run in the queue; nil for others.
	Queue *journal.Waiting `json:"queue,omitempty"`
	// Records are the newest records.
	Records []journal.Record `json:"records"`
	// Model is the model of the last request.
	Model string `json:"model,omitempty"`
	// Seen is the time of the last line, Damaged counts lines that could not be read.
	Seen    time.Time `json:"seen"`
	Damaged int       `json:"damaged,omitempty"`
	// Newer is true when the file was written by a newer version, so that not all of it is known.
	Newer bool `json:"newer,omitempty"`

	reporter *journal.Reporter
	tools    map[string]*Tool
	shares   sharesSeen
	ended    bool
	died     bool
	started  bool // the command runs
	requests int
	every    int   // requests per entry of Context
	peak     int64 // of the samples
}

// Context says how full the window was in one request, in tokens.
type Context struct {
	Time   time.Time `json:"time"`
	Tokens int64     `json:"tokens"`
	Limit  int64     `json:"limit"`
	Model  string    `json:"model"`
	// Messages is the number of messages it had.
	Messages int `json:"messages,omitempty"`
}

// Compaction is one compaction of a conversation.
type Compaction struct {
	Time time.Time `json:"time"`
	journal.WindowCompacted
}

// Kill is a process that was ended for memory or at another limit, or a run that was.
type Kill struct {
	Time  time.Time `json:"time"`
	PID   int       `json:"pid,omitempty"`
	Name  string    `json:"name"`
	Bytes int64     `json:"bytes,omitempty"`
	By    string    `json:"by"` // "kernel", "plimsoll", "systemd-oomd", or ByServerLimit
	What  string    `json:"what,omitempty"`
	// Child is true for a child of the command or an MCP server, false for the whole run.
	Child bool `json:"child,omitempty"`
}

// ByServerLimit is the [Kill].By of an MCP server that was killed at its own memory limit.
const ByServerLimit = "its memory limit"

// Tool counts the calls of one tool of an MCP server. Server is "" for tools that belong to no server.
type Tool struct {
	Server         string `json:"server"`
	Tool           string `json:"tool"`
	Calls          int64  `json:"calls"`
	Failed         int64  `json:"failed,omitempty"`
	UpstreamBytes  int64  `json:"upstream_bytes"`
	DeliveredBytes int64  `json:"delivered_bytes"`
	MaxBytes       int64  `json:"max_bytes"`
	Spilled        int64  `json:"spilled"`
}

// Result is one result of a tool.
type Result struct {
	Time time.Time `json:"time"`
	journal.ToolCalled
}

// Follow returns a run whose records come from a journal and not from a file: pass each to [Run.Observe].
func Follow(h Header) *Run {
	r := newRun()
	r.addLine(line{header: &h})
	return r
}

// Observe adds a record to a run from [Follow].
func (r *Run) Observe(rec journal.Record) {
	r.addRecord(rec)
	switch rec.Event.(type) {
	case journal.RunEnded, journal.Refused:
		r.ended, r.Report = true, r.reporter.Report()
		r.Ended = &rec.Time
	}
	r.recompute()
}

// newRun returns a run of which nothing is known.
func newRun() *Run {
	return &Run{tools: map[string]*Tool{}, every: 1}
}

// addLine adds one line of the file. A line before the header is counted as damaged. Samples beyond MaxSamples only count for the peak.
func (r *Run) addLine(l line) {
	switch {
	case l.header != nil && r.reporter == nil:
		r.Header = *l.header
		if r.ID != "" {
			r.Header.ID = r.ID // it is the file's name by which a run is found
		}
		r.Newer = l.header.Schema > Schema
		r.Entry = newEntry(&r.Header, &l.header.Report, r.Day)
		r.Seen = l.header.Started
		r.reporter = journal.NewReporter(l.header.Report)
	case r.reporter == nil:
		r.Damaged++
	case l.sample != nil:
		if len(r.Samples) < MaxSamples {
			r.Samples = append(r.Samples, *l.sample)
		}
		r.peak = max(r.peak, l.sample.Charged, l.sample.Working)
		r.Seen = r.Header.Started.Add(time.Duration(l.sample.AtMS) * time.Millisecond)
	case l.shares != nil:
		r.shares.add(l.shares)
	case l.end != nil:
		r.setEnd(l.end)
	case l.record != nil:
		r.addRecord(*l.record)
	}
}

// setEnd takes over the last line of a run's file. If its writer died, the report stays the one that was computed from the lines before.
func (r *Run) setEnd(e *End) {
	r.ended, r.died, r.Dropped = true, e.Died, e.Dropped
	at := e.Time
	r.Ended, r.Seen = &at, at
	r.endWait(at)
	if e.Died {
		return // what stands in it is our own fold
	}
	r.Report = e.Report
}

// addRecord adds a record to all that is known of the run. Of the records themselves the newest are kept, at least maxRecords.
func (r *Run) addRecord(rec journal.Record) {
	r.reporter.Observe(rec)
	r.Observed.observe(&rec)
	r.Seen = rec.Time
	if len(r.Records) >= 2*maxRecords {
		r.Records = append(r.Records[:0], r.Records[len(r.Records)-maxRecords+1:]...)
	}
	r.Records = append(r.Records, rec)
	if k, ok := parseKill(&rec, r.Tool); ok && len(r.Kills) < maxKills {
		if _, ended := rec.Event.(journal.RunEnded); ended {
			k.Time = r.KilledAt
		}
		r.Kills = append(r.Kills, k)
	}
	switch e := rec.Event.(type) {
	case journal.Waiting:
		r.Queue = &e
	case journal.Admitted:
		r.Admission, r.Queue = &e, nil
	case journal.Refused:
		r.Refusal, r.Queue = e.Reason, nil
	case journal.RunStarted:
		r.started, r.Queue = true, nil
	case journal.Forgotten:
		r.Forgotten = e.Text
	case journal.WindowRequest:
		r.addRequest(rec.Time, &e)
	case journal.AgentRequest:
		r.addRequest(rec.Time, &journal.WindowRequest{Model: e.Model, Tokens: e.Tokens, LimitTokens: e.LimitTokens, Messages: e.Messages})
	case journal.WindowCompacted:
		if len(r.Compactions) < maxCompactions {
			r.Compactions = append(r.Compactions, Compaction{rec.Time, e})
		}
	case journal.AgentRoom:
		if len(r.Compactions) < maxCompactions {
			r.Compactions = append(r.Compactions, Compaction{rec.Time, journal.WindowCompacted{
				Model: r.Model, Reason: e.Why, Rungs: e.Rungs, Before: e.BeforeTokens, After: e.Tokens, Messages: e.Messages, CutBytes: e.CutBytes,
			}})
		}
	case journal.ToolCalled:
		r.addCall(rec.Time, &e)
	case journal.ToolsTallied:
		if e.Calls == 0 {
			return // of definitions
		}
		t := r.toolSums(e.Server, e.Tool)
		t.Calls += e.Calls
		t.UpstreamBytes += e.UpstreamBytes
		t.DeliveredBytes += e.DeliveredBytes
		t.Spilled += e.Spilled
	}
}

// parseKill returns the process or run that a record reports as ended for memory or at another limit; ok is false for other records. tool is the
// run's.
func parseKill(rec *journal.Record, tool string) (k Kill, ok bool) {
	switch e := rec.Event.(type) {
	case journal.ChildKilled:
		k = Kill{PID: e.PID, Name: e.Name, Bytes: e.Bytes, By: e.By, Child: true}
	case journal.OOMDKills:
		k = Kill{Name: tool, By: "systemd-oomd"}
	case journal.LimitReached:
		if e.Line != journal.LineHard || !strings.HasPrefix(e.Did, "ended ") { // it warned, or refused requests
			return k, false
		}
		k = Kill{Name: tool, By: "plimsoll", What: e.Name + ": " + e.Did}
	case journal.Pressure:
		if e.Action != "kill" {
			return k, false
		}
		k = Kill{PID: e.PID, Name: e.Name, By: "plimsoll", What: "the host was short of memory: " + e.Reason}
	case journal.RunEnded:
		if e.Outcome != journal.OutcomeOOM {
			return k, false
		}
		k = Kill{Name: tool, Bytes: e.PeakBytes, By: "kernel", What: "the command itself"}
	case journal.ToolServer:
		if e.State != "killed" {
			return k, false
		}
		k = Kill{PID: e.PID, Name: e.Server, Bytes: e.Peak, By: ByServerLimit, What: "an MCP server", Child: true}
	default:
		return k, false
	}
	k.Time = rec.Time
	return k, true
}

// isCompaction reports whether a record says that a conversation was compacted.
func isCompaction(rec *journal.Record) bool {
	switch rec.Event.(type) {
	case journal.WindowCompacted, journal.AgentRoom:
		return true
	}
	return false
}

// addRequest adds a request to Context. If there are too many, only the one with the fullest window of each r.every requests in a row is
// kept; r.every doubles each time Context is full.
func (r *Run) addRequest(at time.Time, e *journal.WindowRequest) {
	r.Model = e.Model
	c := Context{Time: at, Tokens: e.Tokens, Limit: e.LimitTokens, Model: e.Model, Messages: e.Messages}
	if n := len(r.Context); n > 0 && r.requests%r.every != 0 {
		r.Context[n-1] = fuller(r.Context[n-1], c)
	} else {
		r.Context = append(r.Context, c)
	}
	r.requests++
	if len(r.Context) >= maxContext {
		for i := range maxContext / 2 {
			r.Context[i] = fuller(r.Context[2*i], r.Context[2*i+1])
		}
		r.Context = r.Context[:maxContext/2]
		r.every *= 2
		r.requests = 0
	}
}

// fuller returns that of two requests whose window was fuller; b when they are equal.
func fuller(a, b Context) Context {
	if float64(a.Tokens)*float64(max(b.Limit, 1)) > float64(b.Tokens)*float64(max(a.Limit, 1)) {
		return a
	}
	return b
}

// toolSums returns the sums for a tool, which it adds if there are none; from maxTools tools on those of "(others)".
func (r *Run) toolSums(server, name string) *Tool {
	key := server + "\x00" + name
	t := r.tools[key]
	if t == nil {
		if len(r.tools) >= maxTools {
			server, name, key = "", "(others)", "(others)"
			if t = r.tools[key]; t != nil {
				return t
			}
		}
		t = &Tool{Server: server, Tool: name}
		r.tools[key] = t
	}
	return t
}

// addCall adds a call of a tool to the sums of the tool and, if its result is one of the largest, to Largest.
func (r *Run) addCall(at time.Time, e *journal.ToolCalled) {
	t := r.toolSums(e.Server, cmp.Or(e.Tool, e.Method))
	t.Calls++
	t.UpstreamBytes += e.UpstreamBytes
	t.DeliveredBytes += e.DeliveredBytes
	t.MaxBytes = max(t.MaxBytes, e.UpstreamBytes)
	if e.Spilled {
		t.Spilled++
	}
	if e.Failed {
		t.Failed++
	}
	at2 := Result{at, *e}
	i, _ := slices.BinarySearchFunc(r.Largest, at2, func(a, b Result) int { return cmp.Compare(b.UpstreamBytes, a.UpstreamBytes) })
	if i < maxLargest {
		r.Largest = slices.Insert(r.Largest, i, at2)
		r.Largest = r.Largest[:min(len(r.Largest), maxLargest)]
	}
}

// recompute computes Entry, Report, state and Tools again after lines were added. Without a header it does nothing.
func (r *Run) recompute() {
	if r.reporter == nil {
		return
	}
	if r.died {
		r.countUnanswered()
	}
	day, size := r.Day, r.Bytes
	dropped, ended := r.Dropped, r.Ended
	if !r.ended || r.died {
		r.Report = r.reporter.Report()
	}
	observed := r.Observed
	r.Entry = newEntry(&r.Header, &r.Report, day)
	r.Bytes, r.Dropped, r.Ended, r.Observed = size, dropped, ended, observed
	if len(r.Largest) > 0 && r.Largest[0].UpstreamBytes > r.LargestResult { // of a gateway inside the run
		r.LargestResult, r.LargestTool, r.LargestAt = r.Largest[0].UpstreamBytes, toolName(r.Largest[0].Server, r.Largest[0].Tool), r.Largest[0].Time
	}
	switch {
	case r.died:
		r.Outcome, r.Reason = Died, "its plimsoll was killed"
	case r.ended:
		r.Reason = endReason(&r.Report, r.Refusal)
	case r.Queue != nil:
		r.Outcome = Waiting
		r.State, r.StateSince = Waiting, r.waits
		r.Reason = limit.Short(fmt.Sprintf("waits for %s, %d in the queue", r.Queue.Reason, r.Queue.Position), maxReason)
	default:
		r.Outcome, r.Reason = Running, r.RateWait.Sentence(time.Now())
		r.State, r.StateSince = r.inUse.currentState(hasUser(r.Kind))
		r.DurationMS = max(0, time.Since(r.Started).Milliseconds())
	}
	if !r.ended || r.died {
		r.PeakBytes = max(r.PeakBytes, r.peak)
	}
	if r.died && r.DurationMS == 0 {
		r.DurationMS = max(0, r.Seen.Sub(r.Started).Milliseconds())
	}
	r.Tools = sorting.CollectBy(func(yield func(Tool) bool) {
		for t := range maps.Values(r.tools) {
			if !yield(*t) {
				return
			}
		}
	}, func(a, b Tool) int {
		return cmp.Or(cmp.Compare(b.UpstreamBytes, a.UpstreamBytes), strings.Compare(a.Server, b.Server), strings.Compare(a.Tool, b.Tool))
	})
}

// NewestSample returns the newest sample, the zero Sample before there is one.
func (r *Run) NewestSample() Sample {
	if len(r.Samples) == 0 {
		return Sample{}
	}
	return r.Samples[len(r.Samples)-1]
}

// FullestRequest returns the request with the fullest window among the newest glanceRequests that were made up to at and since the last compaction
// before it; the zero Context for none. A client asks for a title or a summary in between, in a window of its own that is nearly empty.
func (r *Run) FullestRequest(at time.Time) (c Context) {
	since, n := time.Time{}, len(r.Context)
	for _, one := range r.Compactions {
		if !one.Time.After(at) {
			since = one.Time
		}
	}
	for n > 0 && r.Context[n-1].Time.After(at) {
		n--
	}
	for _, next := range r.Context[max(0, n-glanceRequests):n] {
		if !next.Time.Before(since) {
			c = fuller(next, c)
		}
	}
	return c
}
