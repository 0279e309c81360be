package journal

import (
	"cmp"
	"slices"
	"sync"
)

// ReportSchema is the version of [Report]'s JSON. Keys are only ever added within a version.
const ReportSchema = 1

// Outcome is the way in which a run ended.
type Outcome string

// The outcomes of a run. OutcomeOOM is only used when the command itself died of memory; a killed child is counted in KilledChildren instead.
const (
	OutcomeOK        Outcome = "ok"
	OutcomeFailed    Outcome = "failed"
	OutcomeOOM       Outcome = "oom"
	OutcomeLimit     Outcome = "limit"
	OutcomeRefused   Outcome = "refused"
	OutcomeSignalled Outcome = "signalled"
)

// Report is the run report, as `plimsoll run --report FILE` writes it. Sizes are bytes,
// durations milliseconds. docs/report.md documents every key.
type Report struct {
	Schema      int         `json:"schema"`
	Tool        string      `json:"tool"`
	Variant     string      `json:"variant"` // of a generic tool: "test" of make test; else ""
	Project     string      `json:"project"`
	Command     []string    `json:"command"`
	Started     string      `json:"started,omitempty"` // RFC 3339
	ExitCode    int         `json:"exit_code"`
	Signal      string      `json:"signal"`
	Outcome     Outcome     `json:"outcome"`
	DurationMS  int64       `json:"duration_ms"`
	Layer       string      `json:"layer"`
	Enforcement Enforcement `json:"enforcement"`
	Limits      []Limit     `json:"limits"`
	// LimitReached names the limit for which the run was ended or failed, as in Limits.
	LimitReached string `json:"limit_reached,omitempty"`

	LimitBytes int64 `json:"limit_bytes"`
	// FirstLimitBytes is the limit that it began with, where it has grown since; 0 where it has not.
	FirstLimitBytes  int64    `json:"first_limit_bytes,omitempty"`
	SwapLimitBytes   int64    `json:"swap_limit_bytes"`
	PidsLimit        int      `json:"pids_limit"`
	ReservationBytes int64    `json:"reservation_bytes"`
	Estimate         Estimate `json:"estimate"`

	PeakBytes     int64  `json:"peak_bytes"`
	PeakAnonBytes int64  `json:"peak_anon_bytes"`
	PeakMethod    string `json:"peak_method"`
	PeakExact     bool   `json:"peak_exact"`
	OOMKills      int    `json:"oom_kills"`
	OOMDKills     int    `json:"oomd_kills"`
	// RanInto and RanIntoBytes are those of [RunEnded].
	RanInto      string `json:"ran_into,omitempty"`
	RanIntoBytes int64  `json:"ran_into_bytes,omitempty"`

	KilledChildren []Process  `json:"killed_children"`
	Leftovers      []Process  `json:"leftovers"`
	Orphans        []Orphaned `json:"orphans"`
	Window         Window     `json:"window"`
	MCP            MCP        `json:"mcp"`
	// Editor describes the traffic between an editor and the agent, where they speak the Agent Client Protocol.
	Editor   Editor   `json:"editor,omitzero"`
	Warnings []string `json:"warnings,omitempty"`
	// Resume is the command that goes on with the session of a tool that was ended, "" where there is none.
	Resume string `json:"resume,omitempty"`
	// Remembers says what the memory does in the run, what it does not, and why.
	Remembers string `json:"remembers,omitempty"`
	// RefusedBy is [Refused].By.
	RefusedBy string `json:"refused_by,omitempty"`
}

// RefusedByEnforcement is [Refused].By where the kernel would not hold the run's limits and that is required.
const RefusedByEnforcement = "enforcement"

// Enforcement names what holds each limit: "kernel", "process", "watched" or "none".
type Enforcement struct {
	Memory string `json:"memory"`
	Swap   string `json:"swap"`
	Pids   string `json:"pids"`
	CPU    string `json:"cpu"`  // the weight
	CPUs   string `json:"cpus"` // the quota
}

// Estimate is the memory that the run was expected to need, the source of that figure, and the number of runs behind it.
type Estimate struct {
	Bytes   int64  `json:"bytes"`
	Source  string `json:"source"`
	Samples int    `json:"samples"`
	// Guessed is true when no run has shown a need yet, although there is a history.
	Guessed bool `json:"guessed,omitempty"`
}

// Process is a descendant of the agent that the report names.
type Process struct {
	PID   int    `json:"pid"`
	Name  string `json:"name"`
	Bytes int64  `json:"bytes,omitempty"`
	By    string `json:"by,omitempty"`
	Fate  string `json:"fate,omitempty"`
}

// Window holds the work of the window plane for the run. PeakTokens and LimitTokens are of the request that filled its window the most; TokensIn
// and TokensOut are the provider's own numbers where it gave them, else the estimates.
type Window struct {
	Proxy              bool   `json:"proxy"`              // requests went through the proxy
	NoProxy            string `json:"no_proxy,omitempty"` // why they did not
	Unknown            bool   `json:"unknown,omitempty"`  // the program is none of the agents that are known
	Requests           int64  `json:"requests"`
	Passed             int64  `json:"passed"`
	TokensIn           int64  `json:"tokens_in"`
	TokensOut          int64  `json:"tokens_out"`
	PeakTokens         int64  `json:"peak_tokens"`
	LimitTokens        int64  `json:"limit_tokens"`
	Compactions        int64  `json:"compactions"`
	Repairs            int64  `json:"repairs"`
	CutBytes           int64  `json:"cut_bytes"`
	OverflowRecoveries int64  `json:"overflow_recoveries"`
	Refused            int64  `json:"refused"`
	Stalled            int64  `json:"stalled,omitempty"` // answers that stood still and were ended
	// Loops counts how often the agent repeated itself, each episode once; Loop says of the newest what repeated.
	Loops         int64  `json:"loops,omitempty"`
	Loop          string `json:"loop,omitempty"`
	SummaryTokens int64  `json:"summary_tokens,omitempty"`
	// RateWaits counts the requests that waited for their provider's rate, for RateWaitedMS in all; RateAgain of them it had refused.
	RateWaits    int64 `json:"rate_waits,omitempty"`
	RateAgain    int64 `json:"rate_again,omitempty"`
	RateWaitedMS int64 `json:"rate_waited_ms,omitempty"`
	// SummariesFailed counts the summaries that a model was asked for and that could not be used; SummaryError is why, of the last.
	SummariesFailed int64  `json:"summaries_failed,omitempty"`
	SummaryError    string `json:"summary_error,omitempty"`
}

// observe adds an event of the window plane to the figures.
func (w *Window) observe(e Event) {
	switch e := e.(type) {
	case WindowOn:
		w.Proxy = true
	case WindowOff:
		w.NoProxy, w.Unknown = e.Reason, e.Unknown
	case WindowRequest:
		w.Requests++
		if w.LimitTokens == 0 || float64(e.Tokens)*float64(w.LimitTokens) > float64(w.PeakTokens)*float64(e.LimitTokens) {
			w.PeakTokens, w.LimitTokens = e.Tokens, e.LimitTokens
		}
	case WindowResponse:
		if e.Status < 300 {
			in := e.TokensIn
			in = cmp.Or(in, e.Estimated)
			w.TokensIn += in
			w.TokensOut += e.TokensOut
		}
	case WindowRepaired:
		w.Repairs += int64(e.Count)
	case WindowCompacted:
		w.Compactions++
		w.CutBytes += e.CutBytes
		w.SummaryTokens += e.SummaryIn + e.SummaryOut
	case WindowSummaryUnused:
		w.SummaryTokens += e.SummaryIn + e.SummaryOut
	case WindowSummary:
		w.SummaryTokens += e.SummaryIn + e.SummaryOut
		if e.Outcome == "failed" || e.Outcome == "timed_out" {
			w.SummariesFailed++
			w.SummaryError = e.Error
		}
	case WindowOverflow:
		if e.Action == "recovered" {
			w.OverflowRecoveries++
		}
	case WindowStalled:
		w.Stalled++
	case WindowLoop:
		w.Loops++
		w.Loop = e.Text
	case WindowRateWaited:
		w.RateWaits, w.RateAgain, w.RateWaitedMS = w.RateWaits+int64(e.Requests), w.RateAgain+int64(e.Again), w.RateWaitedMS+e.Waited.Milliseconds()
	case WindowRefused:
		w.Refused++
	case WindowPassed:
		w.Passed++
	}
}

// MCP holds the work of the tools plane for the run.
type MCP struct {
	Calls          int64 `json:"calls"`
	UpstreamBytes  int64 `json:"upstream_bytes"`
	DeliveredBytes int64 `json:"delivered_bytes"`
	Spilled        int64 `json:"spilled"`
	// DefinitionTokens are the tokens that the tools of the last list take of a model's window, Deferred those not in it; of a run, the
	// sums over its servers.
	DefinitionTokens int `json:"definition_tokens,omitempty"`
	Deferred         int `json:"deferred_tools,omitempty"`
}

// maxListed bounds the process lists and warnings of a report; the counters go on.
const maxListed = 100

// Reporter folds records into a [Report]. It is an [Observer]; Report may be called at any time, from any goroutine.
type Reporter struct {
	mu     sync.Mutex
	report Report
}

// NewReporter starts from what is known before the run: tool, project, command, estimate, limits. Killed children, leftovers and orphans start
// empty.
func NewReporter(start Report) *Reporter {
	start.Schema = ReportSchema
	if start.Command == nil {
		start.Command = []string{}
	}
	start.KilledChildren, start.Leftovers = []Process{}, []Process{}
	start.Limits = append([]Limit{}, start.Limits...)
	start.Orphans = []Orphaned{}
	return &Reporter{report: start}
}

// Observe implements [Observer]: it adds a record to the report.
func (r *Reporter) Observe(rec Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := &r.report
	switch e := rec.Event.(type) {
	case LayerChosen:
		p.Layer = e.Layer
		p.Enforcement = Enforcement{Memory: e.Memory, Swap: e.Swap, Pids: e.Pids, CPU: cmp.Or(e.CPU, "none"), CPUs: cmp.Or(e.CPUs, "none")}
		p.setLayerLimits(e)
	case MemoryRaised:
		p.FirstLimitBytes = cmp.Or(p.FirstLimitBytes, p.LimitBytes)
		p.LimitBytes = e.ToBytes
		if i := p.limit("memory"); i >= 0 {
			p.Limits[i].Hard = e.ToBytes
		}
	case LimitSet:
		p.setLimit(e.Limit)
	case LimitReached:
		p.reachLimit(e.Name, e.Line)
		p.didAtLimit(e)
	case LimitUsed:
		p.useLimit(e)
	case Admitted:
		p.ReservationBytes = e.ReservationBytes
	case Refused:
		p.Outcome, p.RefusedBy = OutcomeRefused, e.By
		p.ExitCode = 125
	case RunStarted:
		p.LimitBytes = e.LimitBytes
		p.Started = rec.Time.UTC().Format("2006-01-02T15:04:05.000Z07:00")
	case ChildKilled:
		if len(p.KilledChildren) < maxListed {
			p.KilledChildren = append(p.KilledChildren, Process{PID: e.PID, Name: e.Name, Bytes: e.Bytes, By: e.By})
		}
	case OOMKills:
		p.OOMKills = e.Total
		p.reachLimit("memory", LineHard)
	case OOMDKills:
		p.OOMDKills = e.Total
	case Leftover:
		if len(p.Leftovers) < maxListed {
			p.Leftovers = append(p.Leftovers, Process{PID: e.PID, Name: e.Name, Fate: e.Fate})
		}
	case Orphan:
		p.addOrphan(e)
	case Warned:
		if len(p.Warnings) < maxListed {
			p.Warnings = append(p.Warnings, e.Text)
		}
	case WindowOn, WindowOff, WindowRequest, WindowResponse, WindowRepaired, WindowCompacted, WindowSummaryUnused, WindowSummary, WindowOverflow, WindowStalled, WindowLoop, WindowRateWaited, WindowRefused, WindowPassed:
		p.Window.observe(e)
	case MemoryReach:
		p.Remembers = e.Words
	case EditorSeen:
		p.Editor = e.Editor
	case ToolCalled, ToolsListed, ToolsTallied:
		p.MCP.observe(e)
	case RunEnded:
		p.ExitCode, p.Signal, p.Outcome = e.ExitCode, e.Signal, e.Outcome
		p.DurationMS = e.Duration.Milliseconds()
		p.PeakBytes, p.PeakAnonBytes = e.PeakBytes, e.PeakAnonBytes
		p.PeakMethod, p.PeakExact, p.OOMKills = e.PeakMethod, e.PeakExact, e.OOMKills
		p.LimitReached = e.LimitReached
		if p.Outcome != OutcomeOOM && p.Outcome != OutcomeLimit && p.Signal == "" {
			p.Resume = "" // it ended by itself
		}
		p.RanInto, p.RanIntoBytes = e.RanInto, e.RanIntoBytes
	}
}

// Report returns a copy of the report so far.
func (r *Reporter) Report() Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.report
	p.KilledChildren = append([]Process{}, p.KilledChildren...)
	p.Leftovers = append([]Process{}, p.Leftovers...)
	p.Limits = append([]Limit{}, p.Limits...)
	p.Orphans = append([]Orphaned{}, p.Orphans...)
	return p
}

// Orphaned is a descendant that ran on after its parent had ended, as the report lists it.
type Orphaned struct {
	PID        int    `json:"pid"`
	Name       string `json:"name"`
	Bytes      int64  `json:"bytes"`
	ForMS      int64  `json:"for_ms"`
	CPUPercent int    `json:"cpu_percent"`
	Daemon     bool   `json:"daemon"`
	Fate       string `json:"fate"`
}

// addOrphan adds an orphan, or sets what became of one that was asked to end. At most maxListed are listed.
func (p *Report) addOrphan(e Orphan) {
	o := Orphaned{
		PID: e.PID, Name: e.Name, Bytes: e.Bytes, ForMS: e.For.Milliseconds(), CPUPercent: e.CPUPercent,
		Daemon: e.Daemon, Fate: e.Fate,
	}
	if i := slices.IndexFunc(p.Orphans, func(l Orphaned) bool { return l.PID == e.PID && l.Fate == "" }); i >= 0 {
		p.Orphans[i] = o
	} else if len(p.Orphans) < maxListed {
		p.Orphans = append(p.Orphans, o)
	}
}
