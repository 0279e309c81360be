package top

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/watch"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
)

// Replay is the [Source] of past states, from the store. Its clock moves on by itself, and can be set.
type Replay struct {
	store *runs.Store
	all   []runs.Entry
	now   func() time.Time
	price price

	mu       sync.Mutex
	from, to time.Time // what there is to see
	at       time.Time // where the clock was at since
	since    time.Time
	speed    float64 // 0 stands still
	loaded   map[string]*runs.Run
	order    []string // of loading
}

// maxLoaded bounds the runs that are held at one time; a file has 4 MiB at most.
const maxLoaded = 64

// OpenReplay opens the store at a time, or at the beginning of a run, with atEnd at its end. when is a run as for [runs.Store.Find],
// "15:04", "2006-01-02 15:04", RFC 3339, or a duration: "20m" means twenty minutes ago.
func OpenReplay(c *core.Core, when string, atEnd bool) (*Replay, error) {
	store, err := watch.Open(c)
	if err != nil {
		return nil, err
	}
	r, err := newReplay(store, when, atEnd, time.Now)
	if err != nil {
		_ = store.Close()
		return nil, err
	}
	r.price = priceOf(c)
	return r, nil
}

// newReplay returns a replay of the store with its clock set to when; see [OpenReplay]. It is an error if nothing is stored of that time.
func newReplay(store *runs.Store, when string, atEnd bool, now func() time.Time) (*Replay, error) {
	r := &Replay{store: store, all: store.Entries(), now: now, loaded: map[string]*runs.Run{}, speed: 1}
	if len(r.all) == 0 {
		return nil, fmt.Errorf("--replay %q: there is nothing to replay: no run is kept; plimsoll runs lists what there is", when)
	}
	r.to = now()
	if at, ok := parseWhen(when, r.to); ok {
		r.at = at
	} else {
		e, err := store.Find(when)
		if err != nil {
			return nil, fmt.Errorf("--replay takes a time (15:04, 2006-01-02 15:04, 20m for twenty minutes ago) or a run: %w", err)
		}
		end := r.to
		if e.Ended != nil {
			end, r.to = *e.Ended, e.Ended.Add(Keep)
		}
		if r.at = e.Started; atEnd {
			r.at = end
		}
	}
	r.from = slices.MinFunc(r.all, func(a, b runs.Entry) int { return a.Started.Compare(b.Started) }).Started
	if r.at.Before(r.from) {
		return nil, fmt.Errorf("the oldest run that is kept began %s: nothing is known of %s", r.from.Local().Format(time.DateTime), r.at.Local().Format(time.DateTime))
	}
	if r.at.After(r.to) {
		return nil, fmt.Errorf("%s has not come yet", r.at.Local().Format(time.DateTime))
	}
	r.since = now()
	return r, nil
}

// parseWhen reads a time as people write it; false when it is none. A time of day that has not come yet is yesterday's, and a duration is that
// long ago.
func parseWhen(when string, now time.Time) (time.Time, bool) {
	if d, err := time.ParseDuration(when); err == nil && d >= 0 {
		return now.Add(-d), true
	}
	if t, err := time.Parse(time.RFC3339, when); err == nil {
		return t, true
	}
	for _, form := range []string{time.DateTime, "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(form, when, time.Local); err == nil {
			return t, true
		}
	}
	for _, form := range []string{time.TimeOnly, "15:04"} {
		if t, err := time.ParseInLocation(form, when, time.Local); err == nil {
			n := now.Local()
			at := time.Date(n.Year(), n.Month(), n.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.Local)
			if at.After(now) { // of yesterday
				at = at.AddDate(0, 0, -1)
			}
			return at, true
		}
	}
	return time.Time{}, false
}

// Close implements [Source].
func (r *Replay) Close() error { return r.store.Close() }

// clock returns the time in the replay. The caller holds the lock.
func (r *Replay) clock() time.Time {
	at := r.at.Add(time.Duration(float64(r.now().Sub(r.since)) * r.speed))
	if at.After(r.to) {
		return r.to
	}
	return at
}

// Jump moves the clock by a time, within the times that can be shown.
func (r *Replay) Jump(by time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.clock().Add(by)
	if at.Before(r.from) {
		at = r.from
	}
	if at.After(r.to) {
		at = r.to
	}
	r.at, r.since = at, r.now()
}

// Speed calls change with the speed of the clock, sets the result, which is 0 to 3600, and returns it. At 0 the clock stands still.
func (r *Replay) Speed(change func(old float64) float64) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at, r.since = r.clock(), r.now()
	r.speed = max(0, min(change(r.speed), 3600))
	return r.speed
}

// Read implements [Source].
func (r *Replay) Read(_ context.Context, _ Want) (Snapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.clock()
	snap := Snapshot{Host: Host{Time: at, Replayed: true, Waiting: []Waiter{}}, Runs: []Row{}}
	for i := range r.all {
		e := &r.all[i]
		if e.Started.After(at) || e.Ended != nil && e.Ended.Add(Keep).Before(at) || e.Kind == runs.KindGateway && e.Parent != "" {
			continue
		}
		if len(snap.Runs) >= maxLoaded {
			snap.Host.Unread = fmt.Sprintf("more than %d runs at that time; the newest are shown", maxLoaded)
			break
		}
		run, err := r.load(e.ID)
		if err != nil { // only its line in the list is left
			row := rowOf(e, at, r.price)
			row.Reason = joinWords(row.Reason, err.Error())
			snap.Runs = append(snap.Runs, row)
			continue
		}
		row := rowAt(run, at, r.price)
		switch row.State {
		case runs.Waiting:
			snap.Host.Waiting = append(snap.Host.Waiting, Waiter{
				ID: row.ID, Tool: row.Tool, Project: row.Project, Position: len(snap.Host.Waiting) + 1, AsksBytes: row.ReservationBytes, Since: row.Started,
			})
		case runs.Running:
			snap.Host.Running++
			if row.Parent == "" {
				snap.Host.ReservedBytes += row.ReservationBytes
			}
		}
		snap.Runs = append(snap.Runs, row)
	}
	return snap, nil
}

// Run implements [Source].
func (r *Replay) Run(_ context.Context, id string) (*runs.Run, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.load(id)
}

// load returns a run, from memory if it was loaded before. At most maxLoaded runs are kept; the one that was loaded first makes room.
func (r *Replay) load(id string) (*runs.Run, error) {
	if run := r.loaded[id]; run != nil {
		return run, nil
	}
	run, err := r.store.Run(id)
	if err != nil {
		return nil, err
	}
	if len(r.order) >= maxLoaded {
		delete(r.loaded, r.order[0])
		r.order = r.order[1:]
	}
	r.loaded[id], r.order = run, append(r.order, id)
	return run, nil
}

// rowAt returns the row of a run as it was at a time.
func rowAt(run *runs.Run, at time.Time, price price) Row {
	row := rowOf(&run.Entry, at, price)
	if run.Ended != nil && !run.Ended.After(at) {
		return row
	}
	row.Ended, row.State, row.Reason, row.Cost, row.DurationMS = nil, runs.Running, "", nil, 0
	if a := run.Admission; a != nil && at.Before(run.Started.Add(a.Waited)) {
		row.State, row.Reason = runs.Waiting, "waited for its turn"
	} else if run.Queue != nil || run.Outcome == string(journal.OutcomeRefused) {
		row.State = runs.Waiting
	}
	row.MemoryBytes, row.PeakBytes, row.Processes, row.WindowTokens, row.Kills = 0, 0, 0, 0, 0
	row.Compactions, row.LargestBytes, row.LargestTool = 0, 0, ""
	for _, s := range run.Samples {
		if s.AtMS > row.AgeMS {
			break
		}
		row.PeakBytes = max(row.PeakBytes, s.Charged, s.Working)
	}
	row.SetAt(run, at)
	for _, c := range run.Compactions {
		if !c.Time.After(at) {
			row.Compactions++
		}
	}
	for _, k := range run.Kills {
		if !k.Time.After(at) {
			row.Kills++
		}
	}
	for _, l := range run.Largest {
		if !l.Time.After(at) && l.UpstreamBytes > row.LargestBytes {
			row.LargestBytes, row.LargestTool = l.UpstreamBytes, cmp.Or(l.Tool, l.Method)
		}
	}
	return row
}
