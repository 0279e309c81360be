package runs

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// States of a run that has no outcome yet, and of one that has none because its plimsoll was killed. Other outcomes are those of
// [journal.Outcome].
const (
	Running = "running"
	Waiting = "waiting"
	Died    = "died"
)

// Entry is one run in a list, and a line of the index. Sizes are in bytes.
type Entry struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	Parent  string `json:"parent,omitempty"`
	Tool    string `json:"tool"`
	Variant string `json:"variant,omitempty"`
	Project string `json:"project"`
	PID     int    `json:"pid,omitempty"`
	// Job is the name of the job that the run is of, Engine what places that, and Node the machine where it did; "" for a run that nobody submitted.
	Job     string    `json:"job,omitempty"`
	Engine  string    `json:"engine,omitempty"`
	Node    string    `json:"node,omitempty"`
	Started time.Time `json:"started"`
	// Ended is nil while it runs or waits.
	Ended *time.Time `json:"ended"`
	// Outcome is the outcome in the report, or "running", "waiting", "died".
	Outcome string `json:"outcome"`
	// State says what a run that lives is at: [Running], [Waiting], [YourTurn] or [Idle]; "" once it has ended. StateSince has
	// the beginning of that, the zero time while it works.
	State            string         `json:"state,omitempty"`
	StateSince       time.Time      `json:"state_since,omitzero"`
	ExitCode         int            `json:"exit_code"`
	Signal           string         `json:"signal,omitempty"`
	DurationMS       int64          `json:"duration_ms"`
	PeakBytes        int64          `json:"peak_bytes"`
	LimitBytes       int64          `json:"limit_bytes"`
	ReservationBytes int64          `json:"reservation_bytes"`
	OOMKills         int            `json:"oom_kills"`
	KilledChildren   int            `json:"killed_children"`
	Window           journal.Window `json:"window"`
	MCP              journal.MCP    `json:"mcp"`
	Editor           journal.Editor `json:"editor,omitzero"`
	Observed
	// Reason says in a few words why it ended, or what it waits for; "" while it runs.
	Reason string `json:"reason"`
	// Notifies is [Header].Notifies.
	Notifies string `json:"notifies,omitempty"`

	// Host is the name of another host on which it lives; "" is this one.
	Host string `json:"host,omitempty"`

	// Day is the folder of its file, Bytes the file's size and Dropped how many lines found no room in it.
	Day     string `json:"day,omitempty"`
	Bytes   int64  `json:"file_bytes,omitempty"`
	Dropped int64  `json:"dropped,omitempty"`
}

// Observed has the figures of a run that come from its records and are not in its report.
type Observed struct {
	// LargestResult is the largest result of a tool in bytes, LargestTool which tool it was ("server/tool"), and LargestAt when. LargeResults
	// counts those over [LargeResult].
	LargestResult int64     `json:"largest_result_bytes,omitempty"`
	LargestTool   string    `json:"largest_result_tool,omitempty"`
	LargestAt     time.Time `json:"largest_result_at,omitzero"`
	LargeResults  int64     `json:"large_results,omitempty"`
	// Waited counts how often it stood in the queue, WaitedMS is the time that it stood there in all.
	Waited   int64 `json:"waited,omitempty"`
	WaitedMS int64 `json:"waited_ms,omitempty"`
	// CompactedFrom and CompactedTo are the sums over all compactions of the tokens that a request had before and after.
	CompactedFrom int64 `json:"compacted_from_tokens,omitempty"`
	CompactedTo   int64 `json:"compacted_to_tokens,omitempty"`
	// BreakerTrips counts how often the window was halved.
	BreakerTrips int64 `json:"breaker_trips,omitempty"`

	// AgentRequests counts the requests to models that an agent of Plimsoll's own made, which go through no proxy; AgentPeakTokens and
	// AgentLimitTokens are of the one whose window was the fullest. AgentRooms counts how often it made room, AgentCutBytes the bytes cut
	// then.
	AgentRequests    int64 `json:"agent_requests,omitempty"`
	AgentPeakTokens  int64 `json:"agent_peak_tokens,omitempty"`
	AgentLimitTokens int64 `json:"agent_limit_tokens,omitempty"`
	AgentRooms       int64 `json:"agent_rooms,omitempty"`
	AgentCutBytes    int64 `json:"agent_cut_bytes,omitempty"`

	// KilledAt is the time at which the newest of its processes, or itself, was killed for memory or at another limit.
	KilledAt time.Time `json:"killed_at,omitzero"`

	// Usage is the tokens that each of its models read and wrote, of the first 16 models.
	Usage []Usage `json:"usage,omitempty"`
	// SpendLines counts the lines of its limits of what it may spend, and of budgets, that were reached.
	SpendLines []SpendLine `json:"spend_lines,omitempty"`
	// Plans tells how much of its subscriptions was used, of the newest 16 windows.
	Plans []Plan `json:"plans,omitempty"`

	// RateWait tells how its requests wait for their provider; Told is the zero time where none did.
	RateWait RateWait `json:"rate_wait,omitzero"`

	model string // of the last request of an agent of Plimsoll's own
	// asked are the requests to models that have no answer yet, by their numbers; at most maxAsked.
	asked map[uint64]Usage
	// through is true for a run whose requests an outer run counts too.
	through bool
	waits   time.Time // since when it stands in the queue
	inUse   use
}

// LargeResult is the size in bytes from which a result of a tool is reported: 200 KB, as in the first system that Plimsoll takes over.
const LargeResult = 200 << 10

// observe adds what an event says to the figures of a run that its entry shows.
func (o *Observed) observe(r *journal.Record) {
	o.addUsed(r.Event)
	o.inUse.observe(r)
	o.setKilled(r)
	switch e := r.Event.(type) {
	case journal.Waiting:
		if o.waits.IsZero() {
			o.waits = r.Time
			o.Waited++
		}
	case journal.Admitted, journal.Refused, journal.RunStarted, journal.RunEnded:
		o.endWait(r.Time)
	case journal.WindowRateWaited:
		o.RateWait = newRateWait(r.Time, &e)
	case journal.LimitReached:
		if isSpendLimit(e.Name) {
			o.SpendLines = addSpendLine(o.SpendLines, SpendLine{Limit: e.Name, Line: e.Line, Times: 1})
		}
	case journal.WindowPlan:
		o.Plans = AddPlan(o.Plans, newPlan(r.Time, e))
	case journal.WindowCompacted:
		o.CompactedFrom += e.Before
		o.CompactedTo += e.After
	case journal.AgentRequest:
		o.AgentRequests++
		if o.AgentLimitTokens == 0 || float64(e.Tokens)*float64(o.AgentLimitTokens) > float64(o.AgentPeakTokens)*float64(e.LimitTokens) {
			o.AgentPeakTokens, o.AgentLimitTokens = e.Tokens, e.LimitTokens
		}
	case journal.AgentRoom:
		o.AgentRooms++
		o.AgentCutBytes += e.CutBytes
		o.CompactedFrom += e.BeforeTokens
		if e.BeforeTokens > 0 {
			o.CompactedTo += e.Tokens
		}
	case journal.WindowBreaker:
		if e.State == "tripped" {
			o.BreakerTrips++
		}
	case journal.ToolCalled:
		if e.UpstreamBytes > LargeResult {
			o.LargeResults++
		}
		if e.UpstreamBytes > o.LargestResult {
			o.LargestResult, o.LargestTool, o.LargestAt = e.UpstreamBytes, toolName(e.Server, cmp.Or(e.Tool, e.Method)), r.Time
		}
	}
}

// setKilled sets KilledAt to the time of a record that reports a kill. The kernel's kills of the command itself are reported before its end,
// when they are noticed, so the end counts only if there was none.
func (o *Observed) setKilled(r *journal.Record) {
	_, ok := parseKill(r, "")
	switch r.Event.(type) {
	case journal.OOMKills:
		ok = true
	case journal.RunEnded:
		ok = ok && o.KilledAt.IsZero()
	}
	if ok {
		o.KilledAt = r.Time
	}
}

// endWait adds the time since the run began to wait to WaitedMS; it does nothing if the run does not wait.
func (o *Observed) endWait(at time.Time) {
	if !o.waits.IsZero() {
		o.WaitedMS += max(0, at.Sub(o.waits).Milliseconds())
		o.waits = time.Time{}
	}
}

// Live reports whether the run has not ended: it runs or waits.
func (e *Entry) Live() bool { return e.Outcome == Running || e.Outcome == Waiting }

// Requests returns the number of requests to models, through a proxy and by an agent of Plimsoll's own.
func (e *Entry) Requests() int64 { return e.Window.Requests + e.AgentRequests }

// Rooms returns how often a conversation was compacted, by a proxy and by an agent of Plimsoll's own.
func (e *Entry) Rooms() int64 { return e.Window.Compactions + e.AgentRooms }

// PeakWindow returns the tokens of the request that filled its window the most, and the size of that window; 0 when unknown. Where no request went
// through a proxy, they are those of an agent of Plimsoll's own.
func (e *Entry) PeakWindow() (tokens, limit int64) {
	if e.Window.Requests > 0 {
		return e.Window.PeakTokens, e.Window.LimitTokens
	}
	return e.AgentPeakTokens, e.AgentLimitTokens
}

// Killed returns the number of processes killed for memory: those that are known by name, or the kernel's count if that is more.
func (e *Entry) Killed() int { return max(e.OOMKills, e.KilledChildren) }

// maxReason bounds the reason of an entry in bytes.
const maxReason = 300

// newEntry returns the line of a run for the index. day is the folder of its file.
func newEntry(h *Header, r *journal.Report, day string) Entry {
	e := Entry{
		ID: h.ID, Kind: h.Kind, Parent: h.Parent, PID: h.PID, Job: h.Job, Started: h.Started, Day: day, Notifies: h.Notifies,
		Tool: r.Tool, Variant: r.Variant, Project: r.Project,
		Outcome: string(r.Outcome), ExitCode: r.ExitCode, Signal: r.Signal, DurationMS: r.DurationMS,
		PeakBytes: r.PeakBytes, LimitBytes: r.LimitBytes, ReservationBytes: r.ReservationBytes,
		OOMKills: r.OOMKills + r.OOMDKills, KilledChildren: len(r.KilledChildren), Window: r.Window, MCP: r.MCP, Editor: r.Editor,
	}
	e.Window.SummaryError = limit.Short(e.Window.SummaryError, maxReason)
	return e
}

// endReason returns why a run ended, by its report, in at most maxReason bytes; "" for one that ended well. refusal is the text for a refused run.
func endReason(r *journal.Report, refusal string) string {
	if r.Outcome == journal.OutcomeRefused {
		first, _, _ := strings.Cut(cmp.Or(refusal, "refused"), "\n")
		return limit.Short(first, maxReason)
	}
	var parts []string
	switch {
	case r.Outcome == journal.OutcomeOOM && r.OOMDKills > 0 && r.OOMKills == 0:
		parts = append(parts, "ended by systemd-oomd")
	case r.Outcome == journal.OutcomeOOM:
		parts = append(parts, "killed at its memory limit of "+limit.Bytes(r.LimitBytes).Human())
	case r.LimitReached != "":
		parts = append(parts, "ended at its limit "+r.LimitReached)
	case r.Signal != "":
		parts = append(parts, "ended by "+r.Signal)
	case r.ExitCode != 0:
		parts = append(parts, fmt.Sprintf("exit status %d", r.ExitCode))
	}
	if n := len(r.KilledChildren); n > 0 {
		first := r.KilledChildren[0]
		text := fmt.Sprintf("%s was killed for memory", first.Name)
		if first.Bytes > 0 {
			text = fmt.Sprintf("%s was killed for memory at %s", first.Name, limit.Bytes(first.Bytes).Human())
		}
		if n > 1 {
			text += fmt.Sprintf(", and %d more", n-1)
		}
		parts = append(parts, text)
	}
	return limit.Short(strings.Join(parts, "; "), maxReason)
}
