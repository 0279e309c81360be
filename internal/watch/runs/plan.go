package runs

import (
	"cmp"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/journal"
)

// A Plan tells how much of one window of a subscription was used, as its provider told a run last ([journal.WindowPlan]).
type Plan struct {
	Told        time.Time `json:"told"`
	Upstream    string    `json:"upstream"`
	Account     string    `json:"account"`
	Window      string    `json:"window"`
	Utilization float64   `json:"utilization"`
	Status      string    `json:"status,omitempty"`
	Reset       time.Time `json:"reset,omitzero"`
}

// maxPlans bounds the windows of a run; those told last stay.
const maxPlans = 16

func (p *Plan) same(q *Plan) bool {
	return p.Upstream == q.Upstream && p.Account == q.Account && p.Window == q.Window
}

func planOf(at time.Time, e journal.WindowPlan) Plan {
	return Plan{Told: at, Upstream: e.Upstream, Account: e.Account, Window: e.Window, Utilization: e.Utilization, Status: e.Status, Reset: e.Reset}
}

// AddPlan returns the plans with what was told of one window, in the place of what was told of it before.
func AddPlan(plans []Plan, p Plan) []Plan {
	for i := range plans {
		if plans[i].same(&p) {
			if !p.Told.Before(plans[i].Told) {
				plans[i] = p
			}
			return plans
		}
	}
	if len(plans) >= maxPlans {
		oldest := slices.MinFunc(plans, func(a, b Plan) int { return a.Told.Compare(b.Told) })
		plans = slices.DeleteFunc(plans, func(q Plan) bool { return q.same(&oldest) })
	}
	plans = append(plans, p)
	sorting.By(plans, func(a, b Plan) int {
		return cmp.Or(cmp.Compare(a.Upstream, b.Upstream), cmp.Compare(a.Account, b.Account), cmp.Compare(a.Window, b.Window))
	})
	return plans
}
