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
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
)

const (
	// maxRows bounds the tools and models with a row of their own on a day; the others share one.
	maxRows = 100
	// maxBack bounds the days that are summed again when what has ended belongs to them.
	maxBack = 30
	// other is the tool and the model of the row that the others share.
	other = "other"
)

// Spent sums what the runs of one tool used of one model on one day of one host. Input includes Cached and Written. With Plan nobody paid the Cost.
type Spent struct {
	Tool      string  `json:"tool"`
	Model     string  `json:"model"`
	Upstream  string  `json:"upstream,omitempty"`
	Plan      bool    `json:"plan,omitempty"`
	Runs      int     `json:"runs"`
	Input     int64   `json:"input_tokens"`
	Cached    int64   `json:"cached_tokens,omitempty"`
	Written   int64   `json:"written_tokens,omitempty"`
	Output    int64   `json:"output_tokens"`
	Reasoning int64   `json:"reasoning_tokens,omitempty"`
	Guessed   int64   `json:"guessed_tokens,omitempty"`
	Unpriced  int64   `json:"unpriced_tokens,omitempty"`
	Cost      float64 `json:"cost_usd,omitempty"`
}

// Day has what the runs of one host that began on one day of its local time have used.
type Day struct {
	Name string  `json:"name"` // of the host
	ID   string  `json:"id"`
	Day  string  `json:"day"`
	Runs int     `json:"runs"`
	Rows []Spent `json:"rows"`
}

func (d *Day) add(e *runs.Entry) {
	asked := false
	for _, u := range e.Usage {
		if u.Through { // the outer run has it
			continue
		}
		asked = true
		r := d.row(Spent{Tool: clean(e.Tool, maxName), Model: clean(u.Model, maxName), Upstream: clean(u.Upstream, maxName), Plan: u.Plan})
		r.Runs++
		r.Input, r.Cached, r.Written, r.Output = r.Input+u.Input, r.Cached+u.Cached, r.Written+u.Written, r.Output+u.Output
		r.Reasoning, r.Guessed, r.Unpriced, r.Cost = r.Reasoning+u.Reasoning, r.Guessed+u.Guessed, r.Unpriced+u.Unpriced, r.Cost+u.Cost
	}
	if asked {
		d.Runs++
	}
}

func (d *Day) row(of Spent) *Spent {
	for i := range d.Rows {
		if r := &d.Rows[i]; r.Tool == of.Tool && r.Model == of.Model && r.Upstream == of.Upstream && r.Plan == of.Plan {
			return r
		}
	}
	if len(d.Rows) >= maxRows && of.Tool != other {
		return d.row(Spent{Tool: other, Model: other, Plan: of.Plan})
	}
	d.Rows = append(d.Rows, of)
	return &d.Rows[len(d.Rows)-1]
}

func dayOf(t time.Time) string { return t.Local().Format(time.DateOnly) }

// daysSince sums what ended since the beginning of a day, by the days on which the runs began, and returns the earliest of those. It reads nothing
// while the size of the index is known.
func daysSince(stateDir string, known int64, from time.Time) (days map[string]*Day, earliest time.Time, size int64, err error) {
	days, earliest = map[string]*Day{}, from
	size, err = runs.AskedSince(stateDir, known, from, func(e *runs.Entry) {
		day := dayOf(e.Started)
		if days[day] == nil {
			days[day] = &Day{Day: day}
		}
		days[day].add(e)
		if e.Started.Before(earliest) {
			earliest = midnight(e.Started)
		}
	})
	return days, earliest, size, err
}

func midnight(t time.Time) time.Time {
	y, m, d := t.Local().Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.Local)
}

// spending tells the fleet what this host spent, day by day. The index of runs has it all, so what could not be told while the fleet was
// away is told with the next one: a file has the day up to which all is.
type spending struct {
	o    *Options
	size int64  // of the index when it was read last; -1 when it is to be read anyway
	day  string // on which that was
	// What the runs of that day that have ended used.
	tokens     int64
	cost, plan float64
}

func (s *spending) file() string { return filepath.Join(s.o.State, "fleet", "spent") }

// tell writes the days on which something has changed. After an error it is done again next time.
func (s *spending) tell(ctx context.Context, now time.Time) error {
	known := s.size
	if s.day != dayOf(now) {
		known = -1
	}
	text, _ := statefile.Read(s.file(), 64)
	told := strings.TrimSpace(string(text))
	oldest := midnight(now.AddDate(0, 0, -maxBack))
	from, err := time.ParseInLocation(time.DateOnly, told, time.Local)
	if err != nil || from.Before(oldest) {
		from = oldest
	}
	days, earliest, size, err := daysSince(s.o.State, known, from)
	if err != nil || size == known {
		return err
	}
	s.size = -1
	if earliest.Before(from) && from.After(oldest) { // a run of days: the others of its day ended before
		if from = earliest; from.Before(oldest) {
			from = oldest
		}
		if days, _, size, err = daysSince(s.o.State, -1, from); err != nil {
			return err
		}
	}
	s.day, s.tokens, s.cost, s.plan = dayOf(now), 0, 0, 0
	if today := days[s.day]; today != nil {
		for _, r := range today.Rows {
			s.tokens += r.Input + r.Output
			if r.Plan {
				s.plan += r.Cost
			} else {
				s.cost += r.Cost
			}
		}
	}
	for _, d := range days {
		if d.Day < dayOf(from) || d.Runs == 0 { // not all of that day was read
			continue
		}
		if err := s.write(ctx, d); err != nil {
			return err
		}
	}
	s.size = size
	if yesterday := dayOf(now.AddDate(0, 0, -1)); yesterday != told {
		return atomicfile.Write(s.file(), []byte(yesterday+"\n"), 0o600, atomicfile.Volatile)
	}
	return nil
}

var errKnown = errors.New("it is known")

// write puts a day into its place, unless more is known of it: what is kept of runs here may have been removed.
func (s *spending) write(ctx context.Context, d *Day) error {
	d.Name, d.ID = s.o.Key.Name, s.o.Key.ID
	sorting.By(d.Rows, func(a, b Spent) int {
		return cmp.Or(strings.Compare(a.Tool, b.Tool), strings.Compare(a.Model, b.Model), strings.Compare(a.Upstream, b.Upstream))
	})
	value, err := json.Marshal(d)
	if err != nil {
		return err
	}
	err = s.o.Fleet.Bucket(fleet.Spent).Change(ctx, fleet.Key(d.Day, d.ID), func(old []byte) ([]byte, error) {
		var before Day
		if json.Unmarshal(old, &before) == nil && (before.Runs > d.Runs || string(old) == string(value)) {
			return nil, errKnown
		}
		return value, nil
	})
	if errors.Is(err, errKnown) {
		return nil
	}
	return err
}

// Days gives what the other hosts spent on days from one on, until all is read or the context ends. What they wrote is bounded and cleaned.
func Days(ctx context.Context, f *fleet.Fleet, own Key, from string, give func(*Day)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := false
	err := f.Bucket(fleet.Spent).Watch(ctx, func(e fleet.Entry, ready bool) {
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

func decodeDay(value []byte) (*Day, error) {
	d := &Day{}
	if json.Unmarshal(value, d) != nil || !ValidID(d.ID) {
		return nil, errNotOurs
	}
	if _, err := time.Parse(time.DateOnly, d.Day); err != nil {
		return nil, errNotOurs
	}
	d.Name, d.Runs = clean(d.Name, maxName), max(0, d.Runs)
	d.Rows = d.Rows[:min(len(d.Rows), maxRows+2)]
	for i := range d.Rows {
		r := &d.Rows[i]
		r.Tool, r.Model, r.Upstream = clean(r.Tool, maxName), clean(r.Model, maxName), clean(r.Upstream, maxName)
		for _, n := range []*int64{&r.Input, &r.Cached, &r.Written, &r.Output, &r.Reasoning, &r.Guessed, &r.Unpriced} {
			*n = max(0, *n)
		}
		r.Runs, r.Cost = max(0, r.Runs), max(0, r.Cost)
	}
	return d, nil
}
