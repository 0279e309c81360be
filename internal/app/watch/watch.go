// Package watch is the family of commands that look at runs: `plimsoll runs`, `top`, `watch` and `status`.
//
// All of them read the store of package internal/watch/runs, which every run writes; none of them needs a daemon. [Open] gives the store
// as it is now, with an end for each run whose plimsoll was killed; who looks on polls it. What a project or an agent has named is
// made printable by the command that prints it.
package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/run"
	"github.com/plimsoll/plimsoll/internal/app/submit"
	"github.com/plimsoll/plimsoll/internal/app/window"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// Open opens the store of runs and reads it. Before that it ends the runs whose plimsoll was killed, and asks the engines about submitted
// jobs. The caller closes it.
func Open(c *core.Core) (*runs.Store, error) {
	dir, err := c.Dirs.State()
	if err != nil {
		return nil, err
	}
	if err := runs.Adopt(dir, time.Now()); err != nil {
		c.Warn("runs that were killed could not all be ended: " + err.Error())
	}
	if err := submit.Refresh(context.Background(), c); err != nil {
		c.Warn("jobs that were submitted are shown as they were: " + err.Error())
	}
	s, err := runs.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := s.Poll(); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// The runs of [List] and [Show], and the states that are no outcome.
type (
	Entry = runs.Entry
	Run   = runs.Run
)

const (
	Waiting  = runs.Waiting
	YourTurn = runs.YourTurn
	Idle     = runs.Idle
	Running  = runs.Running
)

// RunEventBytes bounds the events in the file of a run; the rest of the file is for samples, kills, compactions and the end.
const RunEventBytes = limit.Bytes(runs.MaxEvents)

// StateWords puts a state, or an outcome, into the words that a person reads.
func StateWords(state string) string { return runs.DescribeState(state) }

// SpentWords returns what was used of a limit of what a run may spend, for people.
func SpentWords(l journal.Limit) string { return runs.FormatSpent(l) }

// Sparkline draws values, one letter each, against most; 0 means against the largest of them.
func Sparkline(values []int64, most int64) string { return runs.Sparkline(values, most) }

// Filter selects runs. The zero value selects all but the MCP gateways inside runs.
type Filter struct {
	Tool, Project string
	// Outcome is one of [Outcomes]: that of a report, "running" (all that have started and not ended), "waits_for_you" or "idle" (of those),
	// "waiting", "died"; "" for all.
	Outcome string
	// Killed leaves out runs of which nothing was killed for memory.
	Killed bool
	// Since leaves out runs that ended before it.
	Since time.Time
	// All includes the MCP gateways inside runs.
	All bool
}

// Outcomes returns the values that Filter.Outcome may have.
func Outcomes() []string {
	return []string{
		string(journal.OutcomeOK), string(journal.OutcomeFailed), string(journal.OutcomeOOM), string(journal.OutcomeLimit), string(journal.OutcomeRefused),
		string(journal.OutcomeSignalled), runs.Running, runs.YourTurn, runs.Idle, runs.Waiting, runs.Died, runs.Lost,
	}
}

// Takes reports whether the filter selects a run.
func (f Filter) Takes(e *runs.Entry) bool {
	switch {
	case f.Tool != "" && e.Tool != f.Tool, f.Project != "" && e.Project != f.Project, f.Outcome != "" && e.Outcome != f.Outcome && e.State != f.Outcome:
		return false
	case f.Killed && e.Killed() == 0 && e.Outcome != string(journal.OutcomeOOM):
		return false
	case !f.Since.IsZero() && e.Ended != nil && e.Ended.Before(f.Since):
		return false
	}
	return f.All || e.Parent == "" || e.Kind != runs.KindGateway
}

// List returns the runs that f selects, the newest first; never nil without an error.
func List(c *core.Core, f Filter) ([]runs.Entry, error) {
	s, err := Open(c)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	for _, strange := range s.Strange() {
		c.Warn(strange)
	}
	list := slices.DeleteFunc(s.Entries(), func(e runs.Entry) bool { return !f.Takes(&e) })
	if list == nil {
		list = []runs.Entry{}
	}
	return list, nil
}

// Details are one run with the steps that could be next.
type Details struct {
	*runs.Run
	// Next lists possible next steps, most useful first.
	Next []string `json:"next"`
	// Cost is the cost in US dollars; nil where no price is known.
	Cost *float64 `json:"cost,omitempty"`
}

// MarshalJSON writes the run with the members next and cost added.
func (d Details) MarshalJSON() ([]byte, error) {
	type plain runs.Run
	next := d.Next
	if next == nil {
		next = []string{}
	}
	return json.Marshal(struct {
		*plain
		Next []string `json:"next"`
		Cost *float64 `json:"cost,omitempty"`
	}{(*plain)(d.Run), next, d.Cost})
}

// detailsOf returns a run with its cost, nil if no price is known, and advice on it.
func detailsOf(c *core.Core, r *runs.Run) Details {
	d := Details{Run: r, Next: run.Advice(r.Report, r.Header.Decision)}
	if cost, ok := Cost(c.Config)(&r.Entry); ok {
		d.Cost = &cost
	}
	if r.Outcome == runs.Waiting {
		d.Next = append(d.Next, "plimsoll top shows who holds what it waits for")
	}
	return d
}

// Show returns one run. id is its ID, the beginning of it, or "last". A *runs.UnknownError comes with the line in the list, if that is left.
func Show(c *core.Core, id string) (Details, error) {
	s, err := Open(c)
	if err != nil {
		return Details{}, err
	}
	defer s.Close()
	r, err := s.Run(id)
	if r == nil {
		return Details{}, err
	}
	return detailsOf(c, r), err
}

// Export calls give with every run that f selects, whole or with what is left of it, the oldest first. An error of give ends it.
func Export(c *core.Core, f Filter, give func(Details) error) error {
	s, err := Open(c)
	if err != nil {
		return err
	}
	defer s.Close()
	for _, e := range slices.Backward(s.Entries()) {
		if !f.Takes(&e) {
			continue
		}
		r, err := s.Run(e.ID)
		if _, gone := errors.AsType[*runs.UnknownError](err); err != nil && !gone {
			return err
		}
		if r == nil {
			continue // it was removed meanwhile
		}
		if err := give(detailsOf(c, r)); err != nil {
			return err
		}
	}
	return nil
}

// followEvery is the time between two looks at a run that is followed; a writer needs as long until what happened can be read.
const followEvery = 250 * time.Millisecond

// Follow calls give with the records of a run as they come, the newest kept ones first, and returns the run when it has ended or ctx has.
// An error of give ends it.
func Follow(ctx context.Context, c *core.Core, id string, give func(journal.Record) error) (Details, error) {
	s, err := Open(c)
	if err != nil {
		return Details{}, err
	}
	defer s.Close()
	first, err := s.Find(id)
	if err != nil {
		return Details{}, err
	}
	last, ask := uint64(0), submit.Asker(c)
	for {
		ask()
		r, err := s.Run(first.ID)
		if err != nil {
			return Details{}, err
		}
		for _, rec := range r.Records {
			if rec.Seq <= last {
				continue
			}
			last = rec.Seq
			if err := give(rec); err != nil {
				return Details{}, err
			}
		}
		if !r.Live() {
			return detailsOf(c, r), nil
		}
		select {
		case <-ctx.Done():
			return detailsOf(c, r), nil
		case <-time.After(followEvery):
		}
		if err := s.Poll(); err != nil {
			return Details{}, err
		}
	}
}

// Cuts lists what was cut from conversations, the newest first: all, those whose entry or conversation has an ID that begins with of, or
// where there are none, those of the run that [Show] finds by it. It is an error when there is nothing by that name.
func Cuts(c *core.Core, of string) ([]window.Entry, error) {
	found, err := window.Cuts(c, of)
	if err != nil || of == "" || len(found) > 0 {
		return found, err
	}
	d, err := Show(c, of)
	if d.Run == nil {
		return nil, fmt.Errorf("no cut, conversation or run has the ID %q; plimsoll runs --cuts lists what was cut", printable.Name(of))
	}
	if err != nil {
		return nil, err
	}
	all, err := window.Cuts(c, "")
	return slices.DeleteFunc(all, func(e window.Entry) bool {
		return !slices.ContainsFunc(d.Run.Compactions, func(c runs.Compaction) bool { return c.Checkpoint == e.ID })
	}), err
}
