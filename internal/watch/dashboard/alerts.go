package dashboard

import (
	"fmt"
	"time"

	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/limit"
)

// Alert is a state or an event that a person should look at.
type Alert struct {
	// Level is "warning" or "critical".
	Level string    `json:"level"`
	Run   string    `json:"run"`
	Tool  string    `json:"tool"`
	What  string    `json:"what"` // "memory", "idle", "oom", "result", "window", "waiting", "refused", "died"
	Text  string    `json:"text"`
	Time  time.Time `json:"time"`
	// Help is the command to type about it.
	Help string `json:"help"`
}

const (
	// Memory is reported at three quarters of the limit, and as critical at nine tenths, as the first system that Plimsoll takes over did.
	memoryWarning, memoryCritical = 75, 90
	// longWait is the wait of a run after which an alert is given.
	longWait = 5 * time.Minute
	// recent is the time for which past events are shown.
	recent = 24 * time.Hour
)

// alertsOf returns the alerts about live runs, by their start, and then those about runs of the last 24 hours, the newest first; at most
// maxAlerts. total is the memory of the host in bytes, 0 where it is not known; help returns the command to type about one.
func alertsOf(entries []runs.Entry, live []*runs.Run, now time.Time, total int64, help func(e *runs.Entry, what string) string) []Alert {
	var list []Alert
	add := func(e *runs.Entry, level, what string, at time.Time, form string, args ...any) {
		if len(list) < maxAlerts {
			list = append(list, Alert{Level: level, Run: e.ID, Tool: e.Tool, What: what, Text: fmt.Sprintf(form, args...), Time: at, Help: help(e, what)})
		}
	}
	for _, r := range live {
		if used := r.Now(); r.LimitBytes > 0 {
			// The working set, not the page cache: that goes before anything is killed.
			share := 100 * float64(used.Working) / float64(r.LimitBytes)
			level := "warning"
			if share >= memoryCritical {
				level = "critical"
			}
			if share >= memoryWarning {
				add(&r.Entry, level, "memory", r.Seen, "uses %.0f %% of its %s", share, limit.Bytes(r.LimitBytes).Human())
			}
		}
		if r.Outcome == runs.Waiting && now.Sub(r.Started) > longWait {
			add(&r.Entry, "warning", "waiting", r.Started, "has waited since %s: %s", r.Started.Local().Format("15:04"), r.Reason)
		}
	}
	var idle []runs.IdleRun
	byID := map[string]*runs.Entry{}
	for _, r := range live {
		if r.State == runs.Idle && r.Parent == "" {
			idle, byID[r.ID] = append(idle, r.Idle(r.Now().Working)), &r.Entry
		}
	}
	if f, much := runs.ForgottenOf(idle, total); much {
		for _, one := range f.Runs {
			add(byID[one.ID], "warning", "idle", one.Since, "is used by nobody since %s and holds %s; all that are idle hold %d %% of this machine",
				one.Since.Local().Format("15:04"), limit.Bytes(one.Bytes).Human(), 100*f.Bytes/f.Total)
		}
	}
	for i := range entries {
		e := &entries[i]
		at := e.Started
		if e.Ended != nil {
			at = *e.Ended
		}
		if now.Sub(at) > recent || len(list) >= maxAlerts {
			continue
		}
		killed := at
		if !e.KilledAt.IsZero() {
			killed = e.KilledAt
		}
		switch e.Outcome {
		case "oom":
			add(e, "critical", "oom", killed, "%s", e.Reason)
		case "refused":
			add(e, "warning", "refused", at, "%s", e.Reason)
		case runs.Died:
			add(e, "critical", "died", at, "%s", e.Reason)
		}
		if e.Outcome != "oom" && e.KilledChildren > 0 {
			text := "a process of it was killed for memory"
			if e.KilledChildren > 1 {
				text = fmt.Sprintf("%d of its processes were killed for memory", e.KilledChildren)
			}
			add(e, "warning", "oom", killed, "%s", text)
		}
		if e.LargestResult > runs.LargeResult {
			add(e, "warning", "result", at, "%s answered with %s", e.LargestTool, limit.Bytes(e.LargestResult).Human())
		}
		if w := e.Window; w.LimitTokens > 0 && w.PeakTokens > w.LimitTokens {
			add(e, "warning", "window", at, "a request had %s tokens for a window of %s", limit.Tokens(w.PeakTokens), limit.Tokens(w.LimitTokens))
		}
	}
	return list
}
