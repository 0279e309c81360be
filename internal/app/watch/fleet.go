package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/fleet"
	"github.com/plimsoll/plimsoll/internal/fleet/hosts"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/watch/dashboard"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/limit"
)

const (
	// lookTime bounds how long a command that looks once waits for the fleet.
	lookTime = 2 * time.Second
	// spendTime is that for what the other hosts spent.
	spendTime = 5 * time.Second
)

// OpenHosts begins to follow the other hosts of a fleet, with their runs or without; nil where there is no fleet, or with a warning. The caller
// closes it.
func OpenHosts(c *core.Core, s config.Settings, withRuns bool) *hosts.View {
	f, key, err := c.JoinFleet(s)
	if err != nil {
		c.Warn("the other hosts are not shown: " + err.Error())
		return nil
	}
	if f == nil {
		return nil
	}
	return hosts.Open(f, key, withRuns)
}

// AwayWords says since when, and why, the fleet cannot be reached, "" while it can.
func AwayWords(now hosts.Now) string {
	if now.Away == nil {
		return ""
	}
	return fmt.Sprintf("only this host is shown since %s: %v", now.Since.Local().Format("15:04:05"), now.Away)
}

// lookOnce returns the other hosts of the fleet and their runs, after waiting for them for at most lookTime; the zero value without a fleet, or if
// the configuration cannot be used.
func lookOnce(ctx context.Context, c *core.Core) hosts.Now {
	s, err := c.Config.For("")
	if err != nil {
		return hosts.Now{}
	}
	v := OpenHosts(c, s, true)
	if v == nil {
		return hosts.Now{}
	}
	defer v.Close()
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	v.Wait(ctx)
	now := v.Now()
	if !now.Ready && now.Away == nil {
		now.Away, now.Since = errors.New("the fleet has not answered yet"), time.Now()
	}
	return now
}

// oldQueue is the wait on another host after which an alert is given.
const oldQueue = 15 * time.Minute

// alertsOf returns the alerts about the fleet for the dashboard, at most maxFleetAlerts: that it cannot be reached, or else hosts that fell silent
// and runs that wait for long.
func alertsOf(now hosts.Now, at time.Time) (list []dashboard.Alert) {
	if now.Away != nil {
		return []dashboard.Alert{{Level: "warning", Tool: "The fleet", What: "fleet", Time: now.Since, Help: "plimsoll top", Text: AwayWords(now)}}
	}
	for _, h := range now.Gone {
		text := "fell silent without a word"
		if h.Running > 0 {
			text += "; " + limit.Count(h.Running, "run") + " lived there"
		}
		list = append(list, dashboard.Alert{Level: "critical", Tool: "Host " + h.Label, What: "host", Time: h.Time, Help: "plimsoll top", Text: text})
	}
	for _, h := range now.Hosts {
		if !h.Oldest.IsZero() && at.Sub(h.Oldest) > oldQueue {
			list = append(list, dashboard.Alert{
				Level: "warning", Tool: "Host " + h.Label, What: "waiting", Time: h.Oldest, Help: "plimsoll top",
				Text: fmt.Sprintf("has a run that waits since %s; %d wait there", h.Oldest.Local().Format("15:04"), h.Waiting),
			})
		}
	}
	return list[:min(len(list), maxFleetAlerts)]
}

const maxFleetAlerts = 25

// EntryOf returns a run of another host as one in a list. Its ID has the host's name before it: no run of this host has such a one.
func EntryOf(h *hosts.Host, r *hosts.Run) runs.Entry {
	e := runs.Entry{
		ID: h.Label + "/" + r.ID, Host: h.Label, Kind: r.Kind, Tool: r.Tool, Variant: r.Variant, Project: r.Project, PID: r.PID, Started: r.Started,
		Outcome: runs.Running, State: r.State, StateSince: r.Since, Reason: r.Reason, DurationMS: max(0, time.Since(r.Started).Milliseconds()),
		PeakBytes: r.Peak, LimitBytes: r.Limit, ReservationBytes: r.Reservation, KilledChildren: r.Kills,
	}
	if r.Parent != "" {
		e.Parent = h.Label + "/" + r.Parent
	}
	if r.State == runs.Waiting {
		e.Outcome = runs.Waiting
	}
	e.Window.PeakTokens, e.Window.LimitTokens, e.Window.Compactions = r.WindowTokens, r.WindowLimit, r.Compactions
	if r.WindowTokens > 0 {
		e.Window.Requests = 1
	}
	return e
}

// ListEverywhere returns the runs that f selects: those that are kept here and those that live on other hosts of the fleet, the newest first.
func ListEverywhere(ctx context.Context, c *core.Core, f Filter) ([]runs.Entry, error) {
	list, err := List(c, f)
	if err != nil {
		return nil, err
	}
	now := lookOnce(ctx, c)
	if words := AwayWords(now); words != "" {
		c.Warn(words)
	}
	for _, h := range now.Hosts {
		for i := range h.Runs {
			if e := EntryOf(h, &h.Runs[i]); f.Takes(&e) {
				list = append(list, e)
			}
		}
	}
	sorting.StableBy(list, func(a, b runs.Entry) int { return b.Started.Compare(a.Started) })
	return list, nil
}

// addOthers adds what the other hosts of the fleet spent to sums. It warns if they cannot be asked, or do not tell what the options ask for.
func addOthers(ctx context.Context, c *core.Core, o SpendOptions, sums map[string]*Spent, price func(runs.Usage) (float64, bool)) {
	s, err := c.Config.For("")
	if err != nil || s.Fleet.URL == "" {
		return
	}
	if !slices.Contains([]string{"day", "tool", "model", "host"}, o.By) || o.Project != "" {
		c.Warn("this is what runs of this host spent: other hosts tell what they spent by day, tool and model")
		return
	}
	f, key, err := c.JoinFleet(s)
	if err != nil {
		c.Warn("only what this host spent is shown: " + err.Error())
		return
	}
	ctx, cancel := context.WithTimeout(ctx, spendTime)
	defer cancel()
	ids := map[string]string{key.Name: key.ID}
	err = hosts.EachDay(ctx, f, key, o.Since.Local().Format(time.DateOnly), func(d *hosts.Day) {
		name := d.Name
		if id, known := ids[name]; known && id != d.ID {
			name += "~" + d.ID[:4]
		}
		ids[name] = d.ID
		began, _ := time.ParseInLocation(time.DateOnly, d.Day, time.Local)
		for tool, spent := range d.Tools {
			if o.Tool != "" && o.Tool != tool {
				continue
			}
			e := runs.Entry{Tool: tool, Host: name, Started: began, Observed: runs.Observed{Usage: spent.Usage}}
			if o.By != "model" {
				addSpent(sums, &e, spent.Runs, o.By, price)
				continue
			}
			for i, u := range spent.Usage {
				e.Usage = spent.Usage[i : i+1]
				addSpent(sums, &e, spent.Models[u.Model], o.By, price)
				delete(spent.Models, u.Model) // a model has a row for each address of it
			}
		}
	})
	switch {
	case errors.Is(err, fleet.ErrAway), errors.Is(err, fleet.ErrRefused):
		c.Warn("only what this host spent is shown: " + err.Error())
	case err != nil:
		c.Warn("not all that other hosts spent is shown: " + err.Error())
	}
}
