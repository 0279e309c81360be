package runs

import (
	"fmt"
	"testing"
	"time"
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
