package dashboard

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/plimsoll/plimsoll/internal/watch/runs"
)

const (
	// maxRows bounds the ended runs shown at once; `plimsoll runs` lists all.
	maxRows = 200
	// maxAlerts bounds the alerts that are shown.
	maxAlerts = 50
)

// row is one run in the list. Sizes are in bytes; times are as in [runs.Entry].
type row struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	Parent  string `json:"parent,omitempty"`
	Tool    string `json:"tool"`
	Variant string `json:"variant,omitempty"`
	Project string `json:"project"`
	// State and Since are [runs.Entry.Condition] and its StateSince.
	State    string     `json:"state"`
	Since    time.Time  `json:"state_since,omitzero"`
	Reason   string     `json:"reason,omitempty"`
	Started  time.Time  `json:"started"`
	Ended    *time.Time `json:"ended"`
	Took     int64      `json:"duration_ms,omitempty"`
	Now      int64      `json:"now_bytes"`
	Peak     int64      `json:"peak_bytes"`
	Limit    int64      `json:"limit_bytes"`
	Reserved int64      `json:"reservation_bytes"`
	// CPU is its use between its last two samples, in percent of one processor.
	CPU         float64   `json:"cpu_percent"`
	Processes   int       `json:"processes,omitempty"`
	Tokens      int64     `json:"window_tokens"`
	TokensPeak  int64     `json:"window_peak_tokens"`
	TokensLimit int64     `json:"window_limit_tokens"`
	Requests    int64     `json:"requests"`
	Compactions int64     `json:"compactions"`
	Largest     int64     `json:"largest_result_bytes"`
	LargestTool string    `json:"largest_result_tool,omitempty"`
	Kills       int       `json:"kills"`
	Model       string    `json:"model,omitempty"`
	Cost        *float64  `json:"cost,omitempty"`     // in US dollars; nil where no price is known
	Spent       []used    `json:"spent,omitempty"`    // while it lives
	KilledAt    time.Time `json:"killed_at,omitzero"` // that of [runs.Observed]
}

func rowOf(e *runs.Entry) row {
	r := row{
		ID: e.ID, Kind: e.Kind, Parent: e.Parent, Tool: e.Tool, Variant: e.Variant, Project: e.Project, State: e.Condition(), Since: e.StateSince, Reason: e.Reason, Started: e.Started, Ended: e.Ended,
		Peak: e.PeakBytes, Limit: e.LimitBytes, Reserved: e.ReservationBytes, Requests: e.Requests(), Compactions: e.Rooms(), Largest: e.LargestResult, LargestTool: e.LargestTool, Kills: e.Killed(),
		KilledAt: e.KilledAt,
	}
	r.TokensPeak, r.TokensLimit = e.PeakWindow()
	if e.Ended != nil {
		r.Took = e.DurationMS
	}
	return r
}

// liveRow returns the row of a live run.
func liveRow(run *runs.Run) row {
	r := rowOf(&run.Entry)
	now := run.Now()
	r.Now, r.Processes, r.Model = max(now.Working, now.Charged), now.Processes, run.Model
	for _, s := range run.Samples {
		r.Peak = max(r.Peak, s.Charged, s.Working)
	}
	if n := len(run.Samples); n > 1 {
		if before := run.Samples[n-2]; now.AtMS > before.AtMS {
			r.CPU = float64(int64(1000*float64(max(0, now.CPUMS-before.CPUMS))/float64(now.AtMS-before.AtMS))) / 10
		}
	}
	if c := run.Fullest(time.Now()); c.Tokens > 0 {
		r.Tokens, r.TokensLimit = c.Tokens, max(c.Limit, r.TokensLimit)
	}
	return r
}

// snapshotOf polls the store and returns a snapshot of it.
func snapshotOf(store *runs.Store, host func() (Host, bool), more func(time.Time) []Alert, before *past, money *spending) (*snapshot, error) {
	if err := store.Poll(); err != nil {
		return nil, err
	}
	s := &snapshot{}
	live := store.Live()
	known := make(map[string]bool, len(live))
	add := func(r row) {
		if text, err := json.Marshal(r); err == nil {
			s.rows = append(s.rows, rowText{r.ID, text})
		}
	}
	var h *Host
	waiting, reserved, total := 0, int64(0), int64(0)
	for i := len(live) - 1; i >= 0; i-- { // the newest first
		r := liveRow(live[i])
		money.fill(&r, &live[i].Entry, live[i].Report.Limits)
		known[r.ID] = true
		if r.State == runs.Waiting {
			waiting++
		} else if r.Parent == "" {
			reserved += r.Reserved
		}
		add(r)
	}
	entries := store.Entries()
	ended := 0
	for i := range entries {
		e := &entries[i]
		if known[e.ID] || e.Live() || e.Kind == runs.KindGateway && e.Parent != "" {
			continue
		}
		if ended++; ended > maxRows {
			break
		}
		r := rowOf(e)
		money.fill(&r, e, nil)
		add(r)
	}
	if host != nil {
		if now, ok := host(); ok {
			now.Waiting, now.ReservedBytes = waiting, reserved
			h, total = &now, now.TotalBytes
			before.note(now, time.Now())
		}
	}
	now := time.Now()
	spent := money.today(entries, now)
	alerts := alertsOf(entries, live, now, total, func(e *runs.Entry, what string) string { return before.command(store, e, what) })
	first := budgetAlerts(spent, now)
	if more != nil {
		first = append(more(now), first...)
	}
	s.rest = rest(h, append(first, alerts...), spent, "")
	return s, nil
}

// rest returns the members of the snapshot beside the rows, as JSON without the braces.
func rest(h *Host, alerts []Alert, spent *Spending, problem string) []byte {
	if alerts == nil {
		alerts = []Alert{}
	}
	text, err := json.Marshal(struct {
		Host   *Host     `json:"host"`
		Alerts []Alert   `json:"alerts"`
		Spent  *Spending `json:"spent"`
		Error  string    `json:"error"`
	}{h, alerts, spent, problem})
	if err != nil {
		return []byte(`"host":null,"alerts":[],"spent":null,"error":"this cannot be shown"`)
	}
	return bytes.TrimSuffix(bytes.TrimPrefix(text, []byte("{")), []byte("}"))
}
