package runs

import (
	"cmp"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/journal"
)

// View is a run as the screens and lists show it. Sizes are in bytes.
type View struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	Parent  string `json:"parent,omitempty"`
	Tool    string `json:"tool"`
	Variant string `json:"variant,omitempty"`
	Project string `json:"project"`
	// State is "running", "waits_for_you", "idle", "waiting", "paused", "stale", or the outcome: that of the report, or "died".
	State string `json:"state"`
	// StateSince has the time at which it began to wait for its user, or to be idle.
	StateSince time.Time  `json:"state_since,omitzero"`
	Reason     string     `json:"reason"`
	Started    time.Time  `json:"started"`
	Ended      *time.Time `json:"ended"`
	// DurationMS is the time for which a run that has ended lasted.
	DurationMS       int64 `json:"duration_ms,omitempty"`
	MemoryBytes      int64 `json:"current_bytes"`
	PeakBytes        int64 `json:"peak_bytes"`
	LimitBytes       int64 `json:"limit_bytes"`
	ReservationBytes int64 `json:"reservation_bytes"`
	// CPUPercent is the use in percent of one processor; -1 where it is not known.
	CPUPercent float64 `json:"cpu_percent"`
	Processes  int     `json:"processes"`
	// WindowTokens are those of now, or the most once it has ended or made no request since the last compaction.
	WindowTokens int64  `json:"window_tokens"`
	WindowLimit  int64  `json:"window_limit"`
	Compactions  int64  `json:"compactions"`
	LargestBytes int64  `json:"largest_result_bytes"`
	LargestTool  string `json:"largest_result_tool,omitempty"`
	// Kills counts processes that were ended for memory, by the kernel, systemd-oomd or plimsoll.
	Kills int `json:"kills"`
	// Cost is the cost in US dollars; nil where no price is known.
	Cost *float64 `json:"cost,omitempty"`
	// Spent are the limits of what a run that lives may spend, and the budgets that it has come near, each with what was used of it.
	Spent []journal.Limit `json:"spent,omitempty"`
}

// NewView returns what an entry knows of a run. price, which may be nil, returns what it cost; ok is false where no price is known.
func NewView(e *Entry, price func(*Entry) (cost float64, ok bool)) View {
	v := View{
		ID: e.ID, Kind: e.Kind, Parent: e.Parent, Tool: e.Tool, Variant: e.Variant, Project: e.Project,
		State: e.Condition(), StateSince: e.StateSince, Reason: e.Reason, Started: e.Started, Ended: e.Ended,
		PeakBytes: e.PeakBytes, LimitBytes: e.LimitBytes, ReservationBytes: e.ReservationBytes, CPUPercent: -1,
		Compactions: e.Rooms(), LargestBytes: e.LargestResult, LargestTool: e.LargestTool, Kills: e.Killed(),
	}
	v.WindowTokens, v.WindowLimit = e.PeakWindow()
	if price != nil {
		if cost, ok := price(e); ok {
			v.Cost = &cost
		}
	}
	if !e.Live() {
		v.DurationMS = e.DurationMS
	}
	return v
}

// SetAt fills in the memory, processor use and window of a run at a time, by its samples and requests up to then.
func (v *View) SetAt(r *Run, at time.Time) {
	since := at.Sub(r.Started)
	i, _ := slices.BinarySearchFunc(r.Samples, since.Milliseconds()+1, func(s Sample, ms int64) int { return cmp.Compare(s.AtMS, ms) })
	v.setPresent(r, r.Samples[:i], since, at)
}

// SetNow is [View.SetAt] of a run that lives. All of its samples count: their time is by a clock that does not jump, and the machine's may have
// been set back since.
func (v *View) SetNow(r *Run, now time.Time) { v.setPresent(r, r.Samples, now.Sub(r.Started), now) }

// setPresent fills in the memory, processes and CPU of the last sample in seen, and the fullest window of the run. What is not known keeps its
// value.
func (v *View) setPresent(r *Run, seen []Sample, since time.Duration, at time.Time) {
	if len(seen) > 0 {
		last := seen[len(seen)-1]
		v.MemoryBytes, v.Processes = last.Memory(), last.Processes
		v.CPUPercent = cpuPercent(seen, since)
	}
	if c := r.FullestRequest(at); c.Tokens > 0 {
		v.WindowTokens, v.WindowLimit = c.Tokens, c.Limit
	}
}

// samplesRest is the time without a sample after which a run counts as idle: a sample is written only when something has changed.
const samplesRest = 3 * time.Second

// cpuPercent returns the processor use in percent between the last two samples of seen, which is not empty, or from the beginning to the only one; 0
// when the last is long ago. since is the time since the run began.
func cpuPercent(seen []Sample, since time.Duration) float64 {
	last, before := seen[len(seen)-1], Sample{}
	if len(seen) > 1 {
		before = seen[len(seen)-2]
	}
	took := last.AtMS - before.AtMS
	if quiet := since.Milliseconds() - last.AtMS; quiet > samplesRest.Milliseconds()+2*took || took <= 0 {
		return 0
	}
	return 100 * float64(last.CPUMS-before.CPUMS) / float64(took)
}

// Memory returns the memory in bytes that reservations go by: without what can be had back, where that is known.
func (s Sample) Memory() int64 { return cmp.Or(s.Working, s.Charged) }
