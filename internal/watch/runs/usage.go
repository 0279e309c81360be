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

// Usage counts the tokens that one model read and wrote for a run, as its provider counted them. Input includes Cached and Written, Output
// includes Reasoning. Tokens of a subscription are counted apart from those that are paid for.
type Usage struct {
	Model     string `json:"model"`
	Upstream  string `json:"upstream,omitempty"`
	Plan      bool   `json:"plan,omitempty"`
	Input     int64  `json:"input_tokens"`
	Cached    int64  `json:"cached_tokens,omitempty"`
	Written   int64  `json:"written_tokens,omitempty"`
	Hour      int64  `json:"written_hour_tokens,omitempty"` // the part of Written that is kept for an hour
	Output    int64  `json:"output_tokens"`
	Reasoning int64  `json:"reasoning_tokens,omitempty"`
	// Guessed is the part of Input and Output that stands in for what the provider did not name.
	Guessed int64 `json:"guessed_tokens,omitempty"`
	// Cost is in US dollars; with Plan nobody paid it. Unpriced is the number of tokens of which no price was known.
	Cost     float64 `json:"cost_usd,omitempty"`
	Unpriced int64   `json:"unpriced_tokens,omitempty"`
	// Through is true for what an outer run has counted too.
	Through bool `json:"through,omitempty"`
}

// maxUsage bounds the models of one run in [Observed.Usage]; later ones are counted as [OtherModels].
const maxUsage = 16

// OtherModels is the name under which the models beyond maxUsage are counted together.
const OtherModels = "other"

// AddUsage adds tokens to those of a model. Tokens without a cost are counted as unpriced. Nothing is added without a model or without tokens.
func (o *Observed) AddUsage(u Usage) {
	if u.Model == "" || u.Input == 0 && u.Output == 0 {
		return
	}
	if u.Cost == 0 {
		u.Unpriced = u.Input + u.Output
	}
	at := o.usageRow(&u)
	at.Input, at.Cached, at.Written, at.Hour = at.Input+u.Input, at.Cached+u.Cached, at.Written+u.Written, at.Hour+u.Hour
	at.Output, at.Reasoning, at.Guessed = at.Output+u.Output, at.Reasoning+u.Reasoning, at.Guessed+u.Guessed
	at.Cost, at.Unpriced = at.Cost+u.Cost, at.Unpriced+u.Unpriced
}

// usageRow returns the row of o.Usage that u belongs to, which it adds if there is none. If there are too many models, it is that of
// [OtherModels].
func (o *Observed) usageRow(u *Usage) *Usage {
	for i := range o.Usage {
		if x := &o.Usage[i]; x.Model == u.Model && x.Upstream == u.Upstream && x.Plan == u.Plan && x.Through == u.Through {
			return x
		}
	}
	if len(o.Usage) >= maxUsage && u.Model != OtherModels {
		return o.usageRow(&Usage{Model: OtherModels, Plan: u.Plan, Through: u.Through})
	}
	o.Usage = append(o.Usage, Usage{Model: u.Model, Upstream: u.Upstream, Plan: u.Plan, Through: u.Through})
	return &o.Usage[len(o.Usage)-1]
}

// addUsed adds the tokens that an event reports. A request is noted with our estimate, which counts only if no answer comes: see countUnanswered. An
// answer that is an error counts nothing.
func (o *Observed) addUsed(e journal.Event) {
	switch e := e.(type) {
	case journal.WindowOn:
		o.through = e.Through
	case journal.WindowOff:
		o.through = e.Through
	case journal.WindowRequest:
		if o.asked == nil {
			o.asked = map[uint64]Usage{}
		}
		if e.Request > 0 && len(o.asked) < maxAsked {
			o.asked[e.Request] = Usage{Model: e.Model, Upstream: e.Upstream, Through: o.through, Input: e.Tokens, Guessed: e.Tokens}
		}
	case journal.WindowRefused:
		delete(o.asked, e.Request)
	case journal.WindowResponse:
		delete(o.asked, e.Request)
		if e.Status >= 300 {
			return
		}
		o.AddUsage(Usage{
			Model: e.Model, Upstream: e.Upstream, Plan: e.Plan, Through: o.through, Input: max(e.TokensIn, e.GuessIn), Cached: e.CacheRead, Written: e.CacheWrite, Hour: e.CacheHour,
			Output: max(e.TokensOut, e.GuessOut), Reasoning: e.Reasoning, Guessed: max(e.GuessIn-e.TokensIn, 0) + max(e.GuessOut-e.TokensOut, 0), Cost: e.Cost,
		})
	case journal.AgentRequest:
		o.model = e.Model
	case journal.AgentQueryEnded:
		o.AddUsage(Usage{Model: o.model, Through: o.through, Input: e.TokensIn, Cached: e.TokensCached, Output: e.TokensOut})
	}
}

// countUnanswered counts the input of requests without an answer, for a run that was killed in the middle of them.
func (o *Observed) countUnanswered() {
	for n, u := range o.asked {
		delete(o.asked, n)
		o.AddUsage(u)
	}
}

// Cost returns what the tokens of a run have cost in US dollars, without those of a subscription. price returns the price of one row of tokens that
// had none when they were used, or false when it still has none; ok is false when nothing has a price.
func (o *Observed) Cost(price func(Usage) (cost float64, ok bool)) (sum float64, ok bool) {
	for _, u := range o.Usage {
		if u.Plan {
			continue
		}
		if u.Cost > 0 {
			sum, ok = sum+u.Cost, true
		} else if cost, priced := price(u); priced {
			sum, ok = sum+cost, true
		}
	}
	return sum, ok
}

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

// sameWindow reports whether two plans are of one window of one account.
func (p *Plan) sameWindow(q *Plan) bool {
	return p.Upstream == q.Upstream && p.Account == q.Account && p.Window == q.Window
}

// newPlan returns what an event says of a plan.
func newPlan(at time.Time, e journal.WindowPlan) Plan {
	return Plan{Told: at, Upstream: e.Upstream, Account: e.Account, Window: e.Window, Utilization: e.Utilization, Status: e.Status, Reset: e.Reset}
}

// AddPlan returns the plans with p in the place of what was told of the same window before, unless that is newer. Of more than maxPlans,
// the one that was told longest ago is dropped. It may change plans.
func AddPlan(plans []Plan, p Plan) []Plan {
	for i := range plans {
		if plans[i].sameWindow(&p) {
			if !p.Told.Before(plans[i].Told) {
				plans[i] = p
			}
			return plans
		}
	}
	if len(plans) >= maxPlans {
		oldest := slices.MinFunc(plans, func(a, b Plan) int { return a.Told.Compare(b.Told) })
		plans = slices.DeleteFunc(plans, func(q Plan) bool { return q.sameWindow(&oldest) })
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

// newRateWait returns what an event says of requests that wait.
func newRateWait(at time.Time, e *journal.WindowRateWaited) RateWait {
	return RateWait{Told: at, Upstream: e.Upstream, Waiting: e.Waiting, SinceMS: e.Since.Milliseconds(), Unit: e.Unit, Left: e.Left, Limit: e.Limit, PauseMS: e.Pause.Milliseconds()}
}

// toldFor bounds the time for which a run is believed to wait: while it does it tells so every two seconds.
const toldFor = 10 * time.Second

// Sentence says what the requests wait for: "waits for the provider: 12 s (42 tokens/min left of 40,000)"; "" where none waits, or nothing was told
// for longer than toldFor.
func (w RateWait) Sentence(now time.Time) string {
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
