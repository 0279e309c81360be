package runs

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
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

// A RateWait tells of requests that wait until their provider lets them through, as a run told it last ([journal.WindowRateWaited]).
type RateWait struct {
	Told     time.Time `json:"told"`
	Upstream string    `json:"upstream"`
	Waiting  int       `json:"waiting"`
	// SinceMS is the time that the first of them had waited then.
	SinceMS int64  `json:"since_ms"`
	Unit    string `json:"unit,omitempty"`
	Left    int64  `json:"left,omitempty"`
	Limit   int64  `json:"limit,omitempty"`
	PauseMS int64  `json:"pause_ms,omitempty"` // for which the provider asks, from Told on
}

func rateWaitOf(at time.Time, e *journal.WindowRateWaited) RateWait {
	return RateWait{Told: at, Upstream: e.Upstream, Waiting: e.Waiting, SinceMS: e.Since.Milliseconds(), Unit: e.Unit, Left: e.Left, Limit: e.Limit, PauseMS: e.Pause.Milliseconds()}
}

// toldFor bounds the time for which a run is believed to wait: while it does it tells so every two seconds.
const toldFor = 10 * time.Second

// Words says what the requests wait for: "waits for the provider: 12 s (42 tokens/min left of 40,000)"; "" where none waits.
func (w RateWait) Words(now time.Time) string {
	since := now.Sub(w.Told)
	if w.Waiting == 0 || since > toldFor || since < -toldFor {
		return ""
	}
	waited := max(time.Duration(w.SinceMS)*time.Millisecond+since, 0)
	text := fmt.Sprintf("waits for the provider: %d s", int(waited.Seconds()))
	if pause := time.Duration(w.PauseMS)*time.Millisecond - since; pause > 0 {
		text += fmt.Sprintf(" (it asks for a pause, another %d s)", int(pause.Seconds())+1)
	} else if w.Limit > 0 {
		text += fmt.Sprintf(" (%s %s/min left of %s)", limit.Tokens(w.Left), w.Unit, limit.Tokens(w.Limit))
	}
	return text
}
