package dashboard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/limit"
)

// Alert is a state or an event that a person should look at.
type Alert struct {
	// Level is "warning" or "critical".
	Level string    `json:"level"`
	Run   string    `json:"run"` // "" for a budget or another host, which belong to none
	Tool  string    `json:"tool"`
	What  string    `json:"what"` // "memory", "idle", "oom", "result", "window", "waiting", "refused", "loop", "spend", "died", "host", "fleet", or the name of a budget
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

// alerting collects alerts. Those of one run are about its entry.
type alerting struct {
	now  time.Time
	tool func(id string) string // of a run by its ID
	list []pending
}

type pending struct {
	Alert
	of *runs.Entry
}

// add adds an alert about a run, unless at is longer ago than alerts are shown. A gateway inside a run gets the name of the run's tool.
func (a *alerting) add(e *runs.Entry, level, what string, at time.Time, form string, args ...any) {
	if a.now.Sub(at) > recent {
		return
	}
	tool := e.Tool
	if name, gateway := strings.CutPrefix(tool, "mcp:"); gateway && e.Kind == runs.KindGateway {
		// A gateway inside a run is a part of it; one alone has its client's name nowhere.
		tool = cmp.Or(a.tool(e.Parent), "MCP server "+name)
	}
	a.list = append(a.list, pending{Alert{Level: level, Run: e.ID, Tool: tool, What: what, Text: fmt.Sprintf(form, args...), Time: at}, e})
}

// addState adds alerts about the present: a run near its memory limit, or one that has waited for long.
func (a *alerting) addState(r *runs.Run) {
	if used := r.NewestSample(); r.LimitBytes > 0 {
		// The working set, not the page cache: that goes before anything is killed.
		share := 100 * float64(used.Working) / float64(r.LimitBytes)
		level := "warning"
		if share >= memoryCritical {
			level = "critical"
		}
		if share >= memoryWarning {
			a.add(&r.Entry, level, "memory", a.now, "uses %.0f %% of its %s", share, limit.Bytes(r.LimitBytes).Human())
		}
	}
	if r.Outcome == runs.Waiting && a.now.Sub(r.Started) > longWait {
		a.add(&r.Entry, "warning", "waiting", a.now, "has waited since %s: %s", r.Started.Local().Format("15:04"), r.Reason)
	}
}

// addEvents adds alerts about what happened in a run, or how it ended. Each has the time of its event if that is known: a run may live for
// days.
func (a *alerting) addEvents(e *runs.Entry) {
	end := e.Started
	if e.Ended != nil {
		end = *e.Ended
	}
	or := func(at time.Time) time.Time {
		if at.IsZero() {
			return end
		}
		return at
	}
	killed := or(e.KilledAt)
	switch e.Outcome {
	case "oom":
		a.add(e, "critical", "oom", killed, "%s", e.Reason)
	case "refused":
		a.add(e, "warning", "refused", end, "%s", e.Reason)
	case runs.Died:
		a.add(e, "critical", "died", end, "%s", e.Reason)
	}
	if e.Outcome != "oom" && e.KilledChildren > 0 {
		text := "a process of it was killed for memory"
		if e.KilledChildren > 1 {
			text = fmt.Sprintf("%d of its processes were killed for memory", e.KilledChildren)
		}
		a.add(e, "warning", "oom", killed, "%s", text)
	}
	if e.LargestResult > runs.LargeResult {
		of := e.LargestTool
		if server, tool, ok := strings.Cut(of, "/"); ok {
			of = tool + " of the MCP server " + server
		}
		a.add(e, "warning", "result", or(e.LargestAt), "%s gave a result of %s, much for a model to read; ask it for less", of, limit.Bytes(e.LargestResult).Human())
	}
	if w := e.Window; w.Loops > 0 {
		a.add(e, "warning", "loop", end, "repeats itself: %s", w.Loop)
	}
	if w := e.Window; w.LimitTokens > 0 && w.PeakTokens > w.LimitTokens {
		a.add(e, "warning", "window", end, "a request had %s tokens for a window of %s", limit.Tokens(w.PeakTokens), limit.Tokens(w.LimitTokens))
	}
}

// addForgotten adds alerts about idle runs if all of them together hold much of the host's memory, which is total, in bytes.
func (a *alerting) addForgotten(live []*runs.Run, total int64) {
	var idle []runs.IdleRun
	byID := map[string]*runs.Entry{}
	for _, r := range live {
		if r.State == runs.Idle && r.Parent == "" {
			idle, byID[r.ID] = append(idle, r.AsIdle(r.NewestSample().Working)), &r.Entry
		}
	}
	f, much := runs.SumIdle(idle, total)
	if !much {
		return
	}
	for _, one := range f.Runs {
		a.add(byID[one.ID], "warning", "idle", a.now, "is used by nobody since %s and holds %s; all that are idle hold %d %% of this machine",
			one.Since.Local().Format("15:04"), limit.Bytes(one.Bytes).Human(), 100*f.Bytes/f.Total)
	}
}

// collectAlerts returns the alerts about what is so now, by the start of their runs, and then those about what happened in the last 24 hours, the
// newest first; at most maxAlerts, of which half are kept for the latter. total is the memory of the host in bytes, 0 where it is not known; help
// returns the command to type about one.
func collectAlerts(entries []runs.Entry, live []*runs.Run, now time.Time, total int64, help func(e *runs.Entry, what string) string) []Alert {
	a := alerting{now: now, tool: func(id string) string {
		if i := slices.IndexFunc(entries, func(e runs.Entry) bool { return id != "" && e.ID == id }); i >= 0 {
			return entries[i].Tool
		}
		return ""
	}}
	for _, r := range live {
		a.addState(r)
		a.addSpent(r)
	}
	a.addForgotten(live, total)
	states := a.list
	a.list = nil
	for i := range entries {
		a.addEvents(&entries[i])
	}
	sorting.StableBy(a.list, func(x, y pending) int { return y.Time.Compare(x.Time) })
	states = states[:min(len(states), max(maxAlerts/2, maxAlerts-len(a.list)))]
	all := append(states, a.list[:min(len(a.list), maxAlerts-len(states))]...)
	list := make([]Alert, len(all))
	for i, p := range all {
		if p.Help == "" {
			p.Help = help(p.of, p.What)
		}
		list[i] = p.Alert
	}
	return list
}
