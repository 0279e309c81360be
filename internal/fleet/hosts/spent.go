package hosts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/fleet"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
)

const (
	// maxTools bounds the tools that are told apart on a day; the others share one name.
	maxTools = 100
	other    = "other"
	// maxBack bounds the days that are summed again when what has ended belongs to them.
	maxBack = 30
)

// Day has what the runs of one host that began on one day of its local time have used.
type Day struct {
	Name string `json:"name"` // of the host
	ID   string `json:"id"`
	Day  string `json:"day"`
	// Runs counts those that asked a model.
	Runs  int               `json:"runs"`
	Tools map[string]*Spent `json:"tools"`
}

// Spent sums what the runs of one tool used: nothing but [runs.Observed.Usage] is told.
type Spent struct {
	Runs int `json:"runs"`
	// Models counts the runs that asked a model.
	Models map[string]int `json:"models"`
	runs.Observed
}

// add adds the use of a run to the day, by its tool. Beyond maxTools, tools count together as one. A run without any use is not counted.
func (d *Day) add(e *runs.Entry) {
	name := cleanText(e.Tool, maxName)
	if d.Tools[name] == nil && len(d.Tools) >= maxTools {
		name = other
	}
	tool := cmp.Or(d.Tools[name], &Spent{Models: map[string]int{}})
	asked, counted := 0, map[string]bool{}
	for _, u := range e.Usage {
		if u.Through { // the outer run has it
			continue
		}
		asked = 1
		u.Model, u.Upstream = cleanText(u.Model, maxName), cleanText(u.Upstream, maxName)
		if tool.AddUsage(u); !counted[u.Model] {
			counted[u.Model] = true
			tool.Models[u.Model]++
		}
	}
	d.Runs, tool.Runs, d.Tools[name] = d.Runs+asked, tool.Runs+asked, tool
}

// formatDay returns the local day of a time, as the days of a host are named.
func formatDay(t time.Time) string { return t.Local().Format(time.DateOnly) }

// midnight returns the time at which the local day of t began.
func midnight(t time.Time) time.Time {
	y, m, d := t.Local().Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.Local)
}

// ended has what the runs that have ended spent, as it was read last.
type ended struct {
	size  int64  // of the index of runs; -1 when it is to be read anyway
	day   string // on which that was
	today Used   // by the runs of that day
}

// publishSpent tells the fleet what the runs that began on each of the last maxBack days have spent, if one has ended since the last call. The file "spent"
// holds the last day that is published in full: what could not be published while the fleet was away follows later.
func (a *announcer) publishSpent(ctx context.Context, now time.Time) error {
	file := filepath.Join(a.State, "fleet", "spent")
	text, _ := statefile.Read(file, 64)
	told := strings.TrimSpace(string(text))
	oldest := midnight(now.AddDate(0, 0, -maxBack))
	from, err := time.ParseInLocation(time.DateOnly, told, time.Local)
	if err != nil || from.Before(oldest) {
		from = oldest
	}
	known := a.ended.size
	if a.ended.day != formatDay(now) {
		known = -1
	}
	var days map[string]*Day
	var size int64
	for {
		first := from
		days = map[string]*Day{}
		size, err = runs.AskedSince(a.State, known, from, func(e *runs.Entry) {
			day := formatDay(e.Started)
			if days[day] == nil {
				days[day] = &Day{Name: a.Key.Name, ID: a.Key.ID, Day: day, Tools: map[string]*Spent{}}
			}
			days[day].add(e)
			if e.Started.Before(first) {
				first = midnight(e.Started)
			}
		})
		if err != nil || size == known {
			return err
		}
		if !first.Before(from) || !from.After(oldest) {
			break
		}
		// A run of days: the others of its day ended before.
		if from, known = first, -1; from.Before(oldest) {
			from = oldest
		}
	}
	a.ended = ended{size: -1, day: formatDay(now)}
	if today := days[a.ended.day]; today != nil {
		for _, tool := range today.Tools {
			for i := range tool.Usage {
				a.ended.today.add(&tool.Usage[i])
			}
		}
	}
	for _, d := range days {
		if d.Day < formatDay(from) || d.Runs == 0 { // not all of that day was read
			continue
		}
		err = errors.Join(err, a.publishDay(ctx, d))
	}
	if err != nil {
		return err
	}
	a.ended.size = size
	if yesterday := formatDay(now.AddDate(0, 0, -1)); yesterday != told {
		return atomicfile.Write(file, []byte(yesterday+"\n"), 0o600, atomicfile.Volatile)
	}
	return nil
}

// publishDay publishes what was spent on a day, unless more runs of that day are published already: the records of old runs may have been removed
// here.
func (a *announcer) publishDay(ctx context.Context, d *Day) error {
	value, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return a.Fleet.Bucket(fleet.Spent).Change(ctx, fleet.Key(d.Day, d.ID), func(old fleet.Entry) ([]byte, error) {
		var before Day
		if json.Unmarshal(old.Value, &before) == nil && (before.Runs > d.Runs || string(old.Value) == string(value)) {
			return nil, nil // it is known
		}
		return value, nil
	})
}

// EachDay calls give with what each other host spent on each day since from, until all was read or ctx ends. Texts and numbers are cleaned and
// bounded. If not all could be read the error is [fleet.ErrAway] or [fleet.ErrRefused].
func EachDay(ctx context.Context, f *fleet.Fleet, own Key, from string, give func(*Day)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := false
	err := f.Bucket(fleet.Spent).Watch(ctx, ">", func(e fleet.Entry, ready bool) {
		if ready {
			done = true
			cancel()
			return
		}
		if d, err := decodeDay(e.Value); err == nil && !e.Gone && d.ID != own.ID && d.Day >= from {
			give(d)
		}
	})
	if err == nil && !done {
		return fleet.ErrAway
	}
	return err
}

// decodeDay reads a day that a host has published. As it comes from others, names are cleaned, negative numbers become 0, and tools beyond the bound
// are left out.
func decodeDay(value []byte) (*Day, error) {
	d := &Day{}
	if json.Unmarshal(value, d) != nil || !ValidID(d.ID) {
		return nil, errNotOurs
	}
	if _, err := time.Parse(time.DateOnly, d.Day); err != nil {
		return nil, errNotOurs
	}
	tools := d.Tools
	d.Name, d.Runs, d.Tools = cleanText(d.Name, maxName), max(0, d.Runs), map[string]*Spent{}
	for name, t := range tools {
		if len(d.Tools) > maxTools || t == nil {
			continue
		}
		kept := &Spent{Runs: max(0, t.Runs), Models: map[string]int{}}
		for _, u := range t.Usage {
			u.Model, u.Upstream, u.Cost = cleanText(u.Model, maxName), cleanText(u.Upstream, maxName), max(0, u.Cost)
			for _, n := range []*int64{&u.Input, &u.Cached, &u.Written, &u.Hour, &u.Output, &u.Reasoning, &u.Guessed, &u.Unpriced} {
				*n = max(0, *n)
			}
			kept.AddUsage(u)
			kept.Models[u.Model] = max(0, t.Models[u.Model])
		}
		d.Tools[cleanText(name, maxName)] = kept
	}
	return d, nil
}
