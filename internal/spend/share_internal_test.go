package spend

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/window/models"
)

// dollar is a price by which 1,000 tokens of output are a dollar.
var dollar = models.Price{Rate: models.Rate{Output: 1000}}

// A share that is made smaller is kept for the others until no process goes by the old one, and one that is larger is at once.
func TestShareIsLoweredHereFirst(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.Local)
	s := share{}
	s.setAnswer(Part{Granted: 10, Published: 10}, 100, 1, now)
	if s.leastPublished(now) != 10 {
		t.Errorf("%v is kept of a new one", s.leastPublished(now))
	}
	s.setAnswer(Part{Granted: 4, Published: s.leastPublished(now)}, 100, 1, now)
	if s.Granted != 4 || s.leastPublished(now.Add(time.Second)) != 10 || s.leastPublished(now.Add(-time.Hour)) != 10 || s.leastPublished(now.Add(lowerRest)) != 4 {
		t.Errorf("%+v", s)
	}
	// Lower again: the time begins anew.
	later := now.Add(2 * time.Second)
	s.setAnswer(Part{Granted: 2, Published: s.leastPublished(later)}, 100, 1, later)
	if s.leastPublished(later.Add(2*time.Second)) != 10 || s.leastPublished(later.Add(lowerRest)) != 2 {
		t.Errorf("%+v", s)
	}
	s.setAnswer(Part{Granted: 2, Published: 2}, 100, 1, later)
	if s.Lowered != 0 || s.leastPublished(later) != 2 {
		t.Errorf("%+v", s)
	}
}

func TestAdvance(t *testing.T) {
	var s share
	now := time.Now()
	if !s.grantAdvance(100, 5, 0, now) || s.Granted != 7 || s.grantAdvance(100, 7, 0, now) {
		t.Errorf("a host that nobody knows: %+v", s)
	}
	s.setAnswer(Part{Granted: 8, Published: 8, Left: 3, Hosts: 2}, 100, 8, now)
	if s.grantAdvance(100, 8, 0, now) {
		t.Error("one that holds a share is lent something")
	}
	s.Returned = true
	if !s.grantAdvance(100, 8, 0, now) || s.Granted != 8.5 {
		t.Errorf("half of what is left, for three hosts: %+v", s)
	}
	s.setAnswer(Part{Granted: 60, Published: 60}, 100, 8, now)
	if !s.grantAdvance(50, 8, 1, now) || s.Granted != 9 || s.leastPublished(now) != 60 || s.grantAdvance(50, 8, 1, now) {
		t.Errorf("the share of a larger budget: %+v", s)
	}
}

// table is a team whose answers are the test's.
type table struct {
	claims chan Claim
	answer func(Claim) (Part, error)
}

func (f *table) Divide(_ context.Context, c Claim) (Part, error) {
	if f.claims != nil && !c.Look {
		f.claims <- c
	}
	return f.answer(c)
}

// Days and months are the host's own: one whose clock or zone is another spends under another date, and so of another sum.
func TestPeriodsOfATeam(t *testing.T) {
	team := &table{claims: make(chan Claim, 100), answer: func(c Claim) (Part, error) {
		return Part{Granted: c.Spent + c.Held + 1, Published: c.Spent + c.Held + 1}, nil
	}}
	var clock atomic.Int64
	move := func(d time.Duration) { clock.Add(int64(d)) }
	now := func() time.Time { return time.Unix(0, clock.Load()) }
	clock.Store(time.Date(2026, 11, 30, 23, 30, 0, 0, time.Local).UnixNano())
	b := OpenBook(t.TempDir(), "p", Budget{Day: 10, Month: 50})
	b.Join(team, "p", nil)
	b.now = now
	m := New(Options{Book: b})
	defer m.Close()
	pay := func(day, month string) {
		t.Helper()
		h, err := m.Hold(t.Context(), Request{MaxOutput: 1000, Price: dollar, Priced: true})
		if err != nil {
			t.Fatal(err)
		}
		h.Settle(Amount{Cost: 0.9})
		periods := map[string]string{}
		for len(team.claims) > 0 {
			c := <-team.claims
			periods[c.Budget] = c.Period
		}
		if periods[BudgetDay] != day || periods[BudgetMonth] != month {
			t.Errorf("at %v: %v", now(), periods)
		}
	}
	pay("20261130", "202611")
	move(time.Hour) // a clock that is set an hour forward, or the hour that has passed
	pay("20261201", "202612")
	move(-time.Hour) // and back: what the day before had counts, and what was spent meanwhile too
	pay("20261130", "202611")
	if got := spent(t, b, BudgetMonth); !near(got, 1.8) && !near(got, 2.7) {
		t.Errorf("%v are spent", got)
	}
}

// A smaller budget than the one of which the share was is asked for before anything is spent of it.
func TestASmallerBudgetOfATeam(t *testing.T) {
	dir := t.TempDir()
	var away atomic.Bool
	team := &table{answer: func(c Claim) (Part, error) {
		if away.Load() {
			return Part{}, errors.New("away")
		}
		most := max(c.Max-90, c.Spent) // the others have it
		return Part{Granted: most, Published: max(most, c.Keep)}, nil
	}}
	open := func(day float64) *Meter {
		b := OpenBook(dir, "p", Budget{Day: day})
		b.Join(team, "p", nil)
		return New(Options{Book: b})
	}
	first := open(100)
	h, err := first.Hold(t.Context(), Request{MaxOutput: 1000, Price: dollar, Priced: true})
	if err != nil {
		t.Fatal(err)
	}
	h.Settle(Amount{Cost: 1})
	second := open(91)
	defer first.Close()
	defer second.Close()
	_, err = second.Hold(t.Context(), Request{MaxOutput: 1000, Price: dollar, Priced: true, Patience: time.Millisecond})
	if _, busy := errors.AsType[*Busy](err); !busy {
		t.Error(err)
	}

	// Nor with the team away: what a host held of the larger budget is no part of the smaller one.
	away.Store(true)
	third := open(10)
	defer third.Close()
	if _, err := third.Hold(t.Context(), Request{MaxOutput: 1000, Price: dollar, Priced: true, Patience: time.Second}); err == nil {
		t.Error("a share of a budget of 100 is spent of one of 10")
	} else {
		t.Log(err)
	}
}
