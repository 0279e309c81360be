package runs

import (
	"fmt"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/journal"
)

// What was told last of a window stays, in whatever order it comes, and of too many windows the oldest goes.
func TestAddPlan(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	var plans []Plan
	for _, p := range []Plan{
		{Told: at, Upstream: "openai", Window: "5h", Utilization: 0.1},
		{Told: at.Add(2), Upstream: "anthropic", Account: "a", Window: "7d", Utilization: 0.5},
		{Told: at.Add(1), Upstream: "anthropic", Account: "a", Window: "7d", Utilization: 0.4},
		{Told: at, Upstream: "anthropic", Account: "b", Window: "7d", Utilization: 0.2},
	} {
		plans = AddPlan(plans, p)
	}
	if len(plans) != 3 || plans[0].Utilization != 0.5 || plans[1].Account != "b" || plans[2].Upstream != "openai" {
		t.Errorf("%+v", plans)
	}
	for i := range 2 * maxPlans {
		plans = AddPlan(plans, Plan{Told: at.Add(time.Hour + time.Duration(i)), Upstream: "openai", Window: fmt.Sprint(i)})
	}
	if len(plans) != maxPlans {
		t.Errorf("%d windows", len(plans))
	}
	for _, p := range plans {
		if p.Told.Before(at.Add(time.Hour + maxPlans)) {
			t.Errorf("an old one is left: %+v", p)
		}
	}
}

func TestRateWaitWords(t *testing.T) {
	told := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		e     journal.WindowRateWaited
		later time.Duration
		want  string
	}{
		{journal.WindowRateWaited{Waiting: 2, Since: 11 * time.Second, Unit: "tokens", Left: 42, Limit: 40_000}, time.Second, "waits for the provider: 12 s (42 tokens/min left of 40k)"},
		{journal.WindowRateWaited{Waiting: 1, Since: time.Second, Unit: "requests", Limit: 50, Pause: 5 * time.Second}, 2 * time.Second, "waits for the provider: 3 s (it asks for a pause, another 4 s)"},
		{journal.WindowRateWaited{Waiting: 1, Since: time.Second}, 0, "waits for the provider: 1 s"},
		{journal.WindowRateWaited{Requests: 3, Waited: time.Minute}, 0, ""},
		{journal.WindowRateWaited{Waiting: 1, Since: time.Second}, time.Minute, ""}, // it was killed meanwhile, or its journal is full
		{journal.WindowRateWaited{Waiting: 1, Since: time.Second}, -time.Hour, ""},
	} {
		if got := newRateWait(told, &c.e).Sentence(told.Add(c.later)); got != c.want {
			t.Errorf("%+v: %q, want %q", c.e, got, c.want)
		}
	}
}
