package budgets_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/fleet"
	"github.com/plimsoll/plimsoll/internal/fleet/budgets"
	"github.com/plimsoll/plimsoll/internal/spend"
	"github.com/plimsoll/plimsoll/internal/testing/natsserver"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/window/models"
)

// A machine is a host with a state directory and a connection of its own.
type machine struct {
	name, dir string
	fleet     *fleet.Fleet
	away      atomic.Int32
}

func newMachine(t *testing.T, name, url string) *machine {
	t.Helper()
	m := &machine{name: name, dir: t.TempDir(), fleet: fleet.New(fleet.Options{URL: url})}
	t.Cleanup(m.fleet.Close)
	return m
}

func (m *machine) book(budget spend.Budget) *spend.Book {
	book := spend.OpenBook(m.dir, m.name+"-project", budget)
	book.Join(budgets.NewTeam(m.fleet.Bucket(fleet.Budgets), m.name), "project", func(error) { m.away.Add(1) })
	return book
}

func (m *machine) meter(t *testing.T, budget spend.Budget) *spend.Meter {
	meter := spend.New(spend.Options{Book: m.book(budget)})
	t.Cleanup(meter.Close)
	return meter
}

// cent is a request that is held with a cent: 1,000 tokens of output at $10 a million.
var cent = spend.Request{Model: "m", MaxOutput: 1000, Price: models.Price{Rate: models.Rate{Output: 10}}, Priced: true}

func over(err error) *spend.Over {
	o, _ := errors.AsType[*spend.Over](err)
	return o
}

// A hundred that contend on five hosts spend the whole budget and pass it by no more than what was under way.
func TestContenders(t *testing.T) {
	s := natsserver.Start(t)
	const limit = 2.0
	budget := spend.Budget{Day: limit, ProjectMonth: 50}
	var mu sync.Mutex
	spent, underWay, excess := 0.0, 0, 0
	var all sync.WaitGroup
	for i := range 5 {
		m := newMachine(t, fmt.Sprint("host", i), s.URL)
		for range 20 {
			meter := m.meter(t, budget)
			all.Go(func() {
				for {
					h, err := meter.Hold(t.Context(), cent)
					if o := over(err); o != nil {
						if o.Name != spend.BudgetDay || o.Used < limit-1e-9 || len(o.Hosts) == 0 || len(o.Hosts) > 3 || !strings.Contains(err.Error(), "by all hosts of the fleet together: host") {
							t.Errorf("%v", err)
						}
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					underWay++
					if spent >= limit-1e-9 {
						excess++
					}
					mu.Unlock()
					h.Settle(spend.Amount{Tokens: 1000, Cost: 0.01})
					mu.Lock()
					underWay--
					spent += 0.01
					mu.Unlock()
				}
			})
		}
	}
	all.Wait()
	if spent < limit-1e-9 || spent > limit+5*0.01+1e-9 {
		t.Errorf("%v of %v are spent, %d after that was", spent, limit, excess)
	}
	looker := newMachine(t, "looker", s.URL)
	wait.Within(t, time.Minute, "another host sees it all", func() bool {
		list, err := looker.book(budget).Accounts(t.Context())
		if err != nil || len(list) != 2 || list[0].Spent > spent+1e-6 || list[1].Spent > spent+1e-6 {
			t.Fatalf("%+v, %v", list, err)
		}
		return list[0].Spent > spent-1e-6 && list[1].Spent > spent-1e-6 && len(list[1].Hosts) == 3
	})
}

// With the server away a host goes on with the share it has, is told once, and has told the others everything when the server is back.
func TestAway(t *testing.T) {
	s := natsserver.Start(t)
	budget := spend.Budget{Day: 20, Month: 500, ProjectDay: 20}
	one, two := newMachine(t, "one", s.URL), newMachine(t, "two", s.URL)
	a, b := one.meter(t, budget), two.meter(t, budget)
	pay := func(m *spend.Meter, patience time.Duration) error {
		r := cent
		r.Patience = patience
		h, err := m.Hold(t.Context(), r)
		h.Settle(spend.Amount{Cost: 0.01})
		return err
	}
	for range 10 {
		if err := errors.Join(pay(a, 0), pay(b, 0)); err != nil {
			t.Fatal(err)
		}
	}
	s.Kill()
	paid := 0
	var err error
	for err == nil {
		if err = pay(a, 5*time.Second); err == nil {
			paid++
		}
	}
	busy, ok := errors.AsType[*spend.Busy](err)
	if !ok || busy.Away == nil || !strings.Contains(err.Error(), "this host's share of budget.") || !strings.Contains(err.Error(), s.URL) {
		t.Error(err)
	}
	if paid < 10 || paid > 30 || one.away.Load() != 1 {
		t.Errorf("%d paid, told %d times", paid, one.away.Load())
	}
	// A host that has never asked has a little all the same.
	three := newMachine(t, "three", s.URL)
	if err := pay(three.meter(t, budget), 0); err != nil || three.away.Load() != 1 {
		t.Error(err, three.away.Load())
	}
	s.Start()
	wait.Within(t, time.Minute, "the host has told what it spent, and has more", func() bool { return pay(a, 0) == nil })
	want := 0.2 + 0.01*float64(paid+1)
	wait.Within(t, time.Minute, "another sees it", func() bool {
		list, err := two.book(budget).Accounts(t.Context())
		return err == nil && list[0].Spent >= want-1e-6
	})
}

// What a run did not spend is there for others once it has ended, and a host that is killed keeps what it held.
func TestEnds(t *testing.T) {
	s := natsserver.Start(t)
	budget := spend.Budget{Month: 10}
	one, two := newMachine(t, "one", s.URL), newMachine(t, "two", s.URL)
	left := func() float64 {
		p, err := budgets.NewTeam(two.fleet.Bucket(fleet.Budgets), "two").Divide(t.Context(), spend.Claim{
			Budget: spend.BudgetMonth, Period: time.Now().Format("200601"), Host: "x", Max: 10, Look: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		return p.Left
	}
	first, second := one.book(budget), one.book(budget)
	m, n := spend.New(spend.Options{Book: first}), spend.New(spend.Options{Book: second})
	for _, m := range []*spend.Meter{m, n} {
		h, err := m.Hold(t.Context(), cent)
		if err != nil {
			t.Fatal(err)
		}
		h.Settle(spend.Amount{Cost: 0.02})
	}
	m.Close()
	if got := left(); got > 9.8 {
		t.Errorf("with one run %v are left", got)
	}
	n.Close()
	if got := left(); got < 9.85 || got > 9.87 { // but for what looks holds in advance
		t.Errorf("with none %v are left", got)
	}
}
