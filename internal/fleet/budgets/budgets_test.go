package budgets_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/plimsoll/plimsoll/internal/fleet"
	"github.com/plimsoll/plimsoll/internal/fleet/budgets"
	"github.com/plimsoll/plimsoll/internal/spend"
	"github.com/plimsoll/plimsoll/internal/testing/natsserver"
)

// cell is a key that answers as a server in trouble does: with acknowledgements that are lost, writes that come to nothing, and old values.
type cell struct {
	mu     sync.Mutex
	values [][]byte
	dice   *rand.Rand
	faulty bool
}

func (c *cell) Get(context.Context, string) (fleet.Entry, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.values) == 0 {
		return fleet.Entry{}, fleet.ErrNone
	}
	at := len(c.values) - 1
	if c.faulty && c.dice.IntN(5) == 0 {
		at = c.dice.IntN(len(c.values))
	}
	return fleet.Entry{Value: c.values[at], Revision: uint64(at + 1)}, nil
}

func (c *cell) Change(ctx context.Context, key string, change func(fleet.Entry) ([]byte, error)) error {
	for {
		e, err := c.Get(ctx, key)
		if err != nil && !errors.Is(err, fleet.ErrNone) {
			return err
		}
		value, err := change(e)
		if err != nil || value == nil {
			return err
		}
		c.mu.Lock()
		if c.faulty && c.dice.IntN(10) == 0 {
			c.mu.Unlock()
			return fleet.ErrAway
		}
		same := int(e.Revision) == len(c.values)
		if same {
			c.values = append(c.values, value)
		}
		lost := c.faulty && same && c.dice.IntN(10) == 0
		c.mu.Unlock()
		if lost {
			return fleet.ErrAway
		}
		if same {
			return nil
		}
	}
}

// host is a book as the division sees it, without what is under way.
type host struct {
	id                                   string
	spent, granted, told, published, max float64
	lowered                              bool
}

func (h *host) ask(t *testing.T, team *budgets.Team, want float64) bool {
	keep := h.granted
	if h.lowered {
		keep = max(h.granted, h.published)
		h.lowered = false
	}
	p, err := team.Divide(t.Context(), spend.Claim{Budget: spend.BudgetDay, Period: "20261129", Host: h.id, Max: h.max, Spent: h.spent, Want: want, Told: h.told, Keep: keep})
	if err != nil {
		if !errors.Is(err, fleet.ErrAway) {
			t.Fatal(err)
		}
		return false
	}
	h.lowered = p.Granted < p.Published
	h.granted, h.published, h.told = p.Granted, p.Published, h.spent
	return true
}

// Whatever is lost and however old what is read is, all hosts together spend no more than the budget, and in the end all of it.
func TestNoBudgetIsPassed(t *testing.T) {
	for seed := range uint64(30) {
		dice := rand.New(rand.NewPCG(seed, 1))
		store := &cell{dice: dice, faulty: true}
		const budget = 20.0
		hosts := make([]*host, 2+dice.IntN(8))
		teams := make([]*budgets.Team, len(hosts))
		for i := range hosts {
			hosts[i] = &host{id: fmt.Sprint("h", i), max: budget}
			teams[i] = budgets.NewTeam(store, hosts[i].id)
		}
		dead := dice.IntN(len(hosts))
		spend := func() (sum float64) {
			for _, h := range hosts {
				sum += h.spent
			}
			return sum
		}
		for step := range 1500 {
			if step == 1000 { // the trouble is over
				store.mu.Lock()
				store.faulty = false
				store.mu.Unlock()
			}
			i := dice.IntN(len(hosts))
			h, cost := hosts[i], 0.02+0.3*dice.Float64()
			if i == dead && step > 100 && step < 1000 {
				continue
			}
			switch {
			case dice.IntN(4) == 0:
				h.ask(t, teams[i], 0)
			case h.spent+cost <= h.granted || h.ask(t, teams[i], cost) && h.spent+cost <= h.granted:
				h.spent += cost
			}
			if sum := spend(); sum > budget+1e-6 {
				t.Fatalf("seed %d: %v of %v are spent after %d steps", seed, sum, budget, step)
			}
		}
		if sum := spend(); sum < budget-0.35 {
			t.Errorf("seed %d: only %v of %v could be spent", seed, sum, budget)
		}
	}
}

// A host that dies takes no more from the others than what it held in advance, and steps shrink as a budget runs out.
func TestSteps(t *testing.T) {
	store := &cell{}
	team := budgets.NewTeam(store, "a")
	claim := spend.Claim{Budget: spend.BudgetMonth, Period: "202611", Host: "a", Max: 300, Want: 0.1}
	p, err := team.Divide(t.Context(), claim)
	if err != nil || p.Granted != 0.1+3 || p.Others != 0 { // a hundredth
		t.Errorf("at first %+v, %v", p, err)
	}
	claim.Spent, claim.Keep = 100, p.Granted
	if p, _ = team.Divide(t.Context(), claim); p.Granted != 150.1 { // and half of what it has spent
		t.Errorf("then %+v", p)
	}
	claim.Spent, claim.Keep = 299, p.Granted
	if p, _ = team.Divide(t.Context(), claim); p.Granted < 299.1 || p.Granted > 299.6 {
		t.Errorf("near the line %+v", p)
	}
	// Another one with a budget of its own, which is smaller, gets nothing, and with a larger one something.
	other := spend.Claim{Budget: spend.BudgetMonth, Period: "202611", Host: "b", Max: 200, Want: 0.1}
	if p, _ := budgets.NewTeam(store, "b").Divide(t.Context(), other); p.Granted != 0 || p.Others != 299 || len(p.Top) != 1 || p.Top[0] != (spend.HostSpent{Host: "a", Spent: 299}) {
		t.Errorf("the other %+v", p)
	}
	other.Max = 500
	if p, _ := budgets.NewTeam(store, "b").Divide(t.Context(), other); p.Granted < 5 {
		t.Errorf("the other %+v", p)
	}
	claim.Last, claim.Want, claim.Keep = true, 0, 299
	if p, _ := team.Divide(t.Context(), claim); p.Granted != 299 || p.Published != 299 {
		t.Errorf("at the end %+v", p)
	}
}

// Thousands of hosts that come and go stay one bounded value, which a server takes, and one that comes back is not counted twice.
func TestManyHosts(t *testing.T) {
	store := &cell{}
	divide := func(host int, spent, told float64, last bool) spend.Part {
		t.Helper()
		p, err := budgets.NewTeam(store, strings.Repeat("n", 80)).Divide(t.Context(), spend.Claim{
			Budget: spend.BudgetDay, Period: "20261129", Host: fmt.Sprintf("%016x", host), Max: 1e5, Spent: spent, Told: told, Keep: spent, Last: last,
		})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for i := range 1100 {
		divide(i, 1, 0, true)
	}
	if p := divide(0, 3, 1, false); p.Others != 1099 {
		t.Errorf("the others have spent %v", p.Others)
	}
	if p := divide(5000, 1, 0, true); p.Others != 1102 {
		t.Errorf("all others have spent %v", p.Others)
	}
	longest := []byte{}
	for _, v := range store.values {
		if len(v) > len(longest) {
			longest = v
		}
	}
	f := fleet.New(fleet.Options{URL: natsserver.Start(t).URL})
	defer f.Close()
	if _, err := f.Bucket(fleet.Budgets).Put(t.Context(), "k", longest); err != nil || len(longest) < 100_000 {
		t.Errorf("%d bytes: %v", len(longest), err)
	}
}

// What a server has that is none of ours stops nothing, and opens nothing.
func TestDamage(t *testing.T) {
	for _, text := range []string{"{", `{"hosts":{"a":{"granted":-1}}}`, `{"gone":-2}`, `{"hosts":{"a":{"granted":1,"spent":1,"gone":5}}}`, `{"hosts":{"a":{"granted":5,"spent":0,"gone":5}}}`, `{"hosts":{"a":{"granted":1e308,"spent":1e308}}}`} {
		c := &cell{values: [][]byte{[]byte(text)}}
		for _, look := range []bool{false, true} {
			p, err := budgets.NewTeam(c, "a").Divide(t.Context(), spend.Claim{Budget: "b", Host: "x", Max: 5, Want: 1, Look: look})
			if !errors.Is(err, fleet.ErrRefused) || p.Granted != 0 {
				t.Errorf("%s: %+v, %v", text, p, err)
			}
		}
	}
}

func FuzzValue(f *testing.F) {
	f.Add([]byte(`{"hosts":{"a":{"name":"a","granted":3,"spent":2},"b":{"name":"b","granted":1,"spent":1,"gone":1}},"gone":4}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c := &cell{values: [][]byte{text}}
		p, err := budgets.NewTeam(c, "a").Divide(t.Context(), spend.Claim{Budget: "b", Host: "x", Max: 5, Want: 1})
		if err == nil && !(p.Granted >= 0 && p.Granted <= 5 && p.Others >= 0) {
			t.Errorf("%q: %+v", text, p)
		}
	})
}
