package runs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/sorting"
)

// UnknownError means that no run was found by an ID, or only its line in the index.
type UnknownError struct {
	ID string
	// Several are the IDs that begin with ID, when there is more than one.
	Several []string
	// Removed is true when the run is in the index, but its file is gone.
	Removed bool
}

// Last is the word for the newest run.
const Last = "last"

// Error implements error.
func (e *UnknownError) Error() string {
	switch {
	case len(e.Several) > 0:
		return fmt.Sprintf("several runs begin with %q: %s; write more of it", e.ID, strings.Join(e.Several, ", "))
	case e.Removed:
		return fmt.Sprintf("of run %s only the line in the list is kept: its file is gone", e.ID)
	}
	return fmt.Sprintf("there is no run %q; plimsoll runs lists them", e.ID)
}

// Find returns the entry of the run that id names: its ID, the name of its job, the name of its tool (the newest run of it), or the
// beginning of its ID; "last" is the newest run of all. Gateways inside runs are found by their ID alone. The error for none, or several,
// is an *UnknownError.
func (s *Store) Find(id string) (Entry, error) {
	list := s.Entries()
	if i := slices.IndexFunc(list, func(e Entry) bool { return e.ID == id }); i >= 0 {
		return list[i], nil
	}
	if i := slices.IndexFunc(list, func(e Entry) bool { return id != "" && e.Job == id }); i >= 0 {
		return list[i], nil
	}
	named := func(e Entry) bool {
		return (e.Parent == "" || e.Kind == KindRun) && (id == Last || id != "" && e.Tool == id)
	}
	if i := slices.IndexFunc(list, named); i >= 0 {
		return list[i], nil
	}
	var found []Entry
	for _, e := range list {
		if id != "" && id != Last && strings.HasPrefix(e.ID, id) {
			found = append(found, e)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return Entry{}, &UnknownError{ID: id}
	}
	several := &UnknownError{ID: id}
	for _, e := range found[:min(len(found), 8)] {
		several.Several = append(several.Several, e.ID)
	}
	return Entry{}, several
}

// Run reads a whole run, whose id is given as for Find. What gateways, daemons and agents inside the run did is added to Tools, Largest and
// Compactions. When its file is gone, it returns what the index has together with an *UnknownError.
func (s *Store) Run(id string) (*Run, error) {
	e, err := s.Find(id)
	if err != nil {
		return nil, err
	}
	r, err := s.loadRun(e)
	if err != nil {
		return r, err
	}
	if e.Kind != KindRun {
		return r, nil
	}
	inside := newRun() // what they wrote is finer than the sums in the run's own file
	for _, other := range s.Entries() {
		if other.Parent != e.ID || other.Kind == KindRun {
			continue
		}
		g, err := s.loadRun(other)
		if err != nil {
			continue
		}
		for _, t := range g.Tools {
			to := inside.toolSums(t.Server, t.Tool)
			to.Calls, to.Failed, to.Spilled = to.Calls+t.Calls, to.Failed+t.Failed, to.Spilled+t.Spilled
			to.UpstreamBytes, to.DeliveredBytes = to.UpstreamBytes+t.UpstreamBytes, to.DeliveredBytes+t.DeliveredBytes
			to.MaxBytes = max(to.MaxBytes, t.MaxBytes)
		}
		r.Largest = append(r.Largest, g.Largest...)
		r.Compactions = append(r.Compactions, g.Compactions...)
	}
	sorting.StableBy(r.Compactions, func(a, b Compaction) int { return a.Time.Compare(b.Time) })
	r.Compactions = r.Compactions[:min(len(r.Compactions), maxCompactions)]
	for key, t := range inside.tools {
		own := r.tools[key]
		if own == nil || t.Calls > own.Calls { // the sums come at the end of the run
			r.tools[key] = t
		} else {
			own.MaxBytes, own.Failed = max(own.MaxBytes, t.MaxBytes), max(own.Failed, t.Failed)
		}
	}
	sorting.StableBy(r.Largest, func(a, b Result) int { return int(b.UpstreamBytes - a.UpstreamBytes) })
	r.Largest = r.Largest[:min(len(r.Largest), maxLargest)]
	r.recompute()
	return r, nil
}

// loadRun reads the file of a run from its beginning, and adds what is known of its job. If that fails, it returns a run with the entry alone and the
// error, an *UnknownError if the file is gone. A job without a run is returned as one.
func (s *Store) loadRun(e Entry) (*Run, error) {
	if j := s.placed.seen[e.ID]; j != nil && e.Kind == KindJob {
		return j.run, nil
	}
	if t := s.live[e.ID]; t != nil {
		e.Day = t.run.Day
	}
	r := newRun()
	r.Entry = e
	t, err := openTail(s.root, e.Day, e.ID)
	if err != nil {
		return r, &UnknownError{ID: e.ID, Removed: true}
	}
	defer t.close()
	if _, err := t.poll(); err != nil {
		return r, err
	}
	if t.run.reporter == nil {
		return r, &UnknownError{ID: e.ID, Removed: true}
	}
	if !t.run.ended && e.Outcome == Died {
		t.run.ended, t.run.died, t.run.Ended = true, true, e.Ended
		t.run.recompute()
	}
	s.addJob(&t.run.Entry)
	t.run.ByProcess = t.run.shares.columns()
	return t.run, nil
}
