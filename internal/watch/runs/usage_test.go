package runs

import (
	"fmt"
	"testing"

	"github.com/plimsoll/plimsoll/journal"
)

func observed(events ...journal.WindowResponse) *Observed {
	o := &Observed{}
	for _, e := range events {
		o.observe(&journal.Record{Event: e})
	}
	return o
}

func TestUsageOfARun(t *testing.T) {
	paid := journal.WindowResponse{Upstream: "anthropic", Model: "m", Status: 200, TokensIn: 1000, TokensOut: 100, CacheRead: 600, CacheWrite: 200, CacheHour: 50, Reasoning: 30, Cost: 0.5}
	plan := paid
	plan.Plan = true
	broken := journal.WindowResponse{Upstream: "anthropic", Model: "m", Status: 200, TokensIn: 1000, TokensOut: 1, GuessOut: 40, Cost: 0.1}
	silent := journal.WindowResponse{Upstream: "local", Model: "m", Status: 200, GuessIn: 70, GuessOut: 7}
	refused := journal.WindowResponse{Upstream: "anthropic", Model: "m", Status: 429, TokensIn: 5, Cost: 9}
	o := observed(paid, paid, plan, broken, silent, refused)
	want := []Usage{
		{Model: "m", Upstream: "anthropic", Input: 3000, Cached: 1200, Written: 400, Hour: 100, Output: 240, Reasoning: 60, Guessed: 39, Cost: 1.1},
		{Model: "m", Upstream: "anthropic", Plan: true, Input: 1000, Cached: 600, Written: 200, Hour: 50, Output: 100, Reasoning: 30, Cost: 0.5},
		{Model: "m", Upstream: "local", Input: 70, Output: 7, Guessed: 77, Unpriced: 77},
	}
	if fmt.Sprint(o.Usage) != fmt.Sprint(want) {
		t.Errorf("%+v", o.Usage)
	}
	if cost, ok := o.Cost(func(Usage) (float64, bool) { return 0, false }); !ok || cost != 1.1 {
		t.Errorf("%v, %t: a subscription's tokens are not paid for again", cost, ok)
	}
}

// Whatever names a client invents, the rows are few and no token is lost.
func TestUsageOfManyModels(t *testing.T) {
	o := &Observed{}
	for i := range 1000 {
		o.observe(&journal.Record{Event: journal.WindowResponse{Model: fmt.Sprint("m", i), Plan: i%2 == 0, Status: 200, TokensIn: 3, TokensOut: 1}})
	}
	sum := int64(0)
	for _, u := range o.Usage {
		sum += u.Input + u.Output
	}
	if len(o.Usage) > maxUsage+2 || sum != 4000 {
		t.Errorf("%d rows, %d tokens", len(o.Usage), sum)
	}
}
