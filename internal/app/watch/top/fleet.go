package top

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/watch"
	"github.com/plimsoll/plimsoll/internal/fleet/hosts"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/limit"
)

// view is a [hosts.View].
type view interface {
	Now() hosts.Now
	Wait(ctx context.Context)
	Close()
}

// Fleet sums up the other hosts.
type Fleet struct {
	Hosts int `json:"hosts"`
	hosts.Load
	// Gone are the names of those that fell silent without a word, the newest first, at most maxGone.
	Gone []string `json:"gone,omitempty"`
	// Away says since when only this host is shown, and why; "" while the fleet can be reached.
	Away string `json:"away,omitempty"`
	// LeftOut counts runs of other hosts that match and have no row.
	LeftOut int `json:"left_out,omitempty"`
	reached bool
}

const (
	// maxOthers bounds the rows of runs on other hosts: the first by the order that was asked for.
	maxOthers = 1000
	maxGone   = 8
)

// otherHosts returns the sums over the other hosts, and the rows of their runs that match, at most maxOthers, the first in the order that
// want has. Both are nil without a fleet.
func (l *Live) otherHosts(want Want, now time.Time) (*Fleet, []Row) {
	if l.hosts == nil {
		return nil, nil
	}
	seen := l.hosts.Now()
	f := &Fleet{Hosts: len(seen.Hosts), Load: seen.TotalLoad(), Away: watch.AwayWords(seen), reached: seen.Ready || seen.Away != nil}
	for _, h := range seen.Gone[:min(len(seen.Gone), maxGone)] {
		f.Gone = append(f.Gone, h.Label)
	}
	var rows []Row
	var worst *Row // of the first maxOthers so far, nil while there are fewer
	first := func() {
		if len(rows) > maxOthers {
			rows = append([]Row{}, Arrange(rows, want.Sort, want.Reverse, "")[:maxOthers]...)
			worst = &rows[maxOthers-1]
		}
	}
	matched := 0
	for _, h := range seen.Hosts {
		for i := range h.Runs {
			r := otherRow(h, &h.Runs[i], now)
			if !matches(&r, want.Filter) {
				continue
			}
			matched++
			if worst != nil {
				if c := compare(&r, worst, want.Sort); c >= 0 && !want.Reverse || c <= 0 && want.Reverse {
					continue
				}
			}
			if rows = append(rows, r); len(rows) >= 2*maxOthers {
				first()
			}
		}
	}
	first()
	f.LeftOut = matched - len(rows)
	return f, rows
}

// otherRow returns the row of a run on another host h.
func otherRow(h *hosts.Host, r *hosts.Run, now time.Time) Row {
	e := watch.EntryOf(h, r)
	row := rowOf(&e, now, nil)
	row.Host, row.PID, row.MemoryBytes, row.Processes, row.CPUPercent = h.Label, r.PID, r.Memory, r.Processes, r.CPU
	if r.Cost > 0 {
		row.Cost = &r.Cost
	}
	return row
}

// elsewhere returns an error about a run of another host; nil about one of this host.
func elsewhere(id string) error {
	host, run, other := strings.Cut(id, "/")
	if !other {
		return nil
	}
	return errors.New(run + " is on " + host + ": there plimsoll runs " + run + " has more of it, and plimsoll top pauses and ends it")
}

// line returns the sums in one line.
func (f *Fleet) line(now time.Time, p painter) string {
	switch {
	case f.Away != "":
		return "fleet " + p.yellow(printable.Name(f.Away))
	case !f.reached:
		return "fleet being asked"
	}
	text := fmt.Sprintf("fleet %s more", limit.Count(f.Hosts, "host"))
	if len(f.Gone) > 0 {
		text += ", " + p.red("gone: "+strings.Join(f.Gone, ", "))
	}
	if f.Hosts > 0 {
		text += fmt.Sprintf("; %s free of %s; %d running, %d waiting", size(f.AvailableBytes), size(f.TotalBytes), f.Running, f.Waiting)
	}
	if !f.Oldest.IsZero() {
		text += " since " + shortTime(now.Sub(f.Oldest))
	}
	if f.Cost > 0 {
		text += "; cost today " + limit.Dollars(f.Cost)
	}
	if f.LeftOut > 0 {
		text += fmt.Sprintf("; %d runs left out", f.LeftOut)
	}
	return text
}
