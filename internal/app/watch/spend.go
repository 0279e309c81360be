package watch

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/spend"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
)

// SpendKeys returns what [Spend] can sum by.
func SpendKeys() []string { return []string{"day", "tool", "project", "model", "host", "run"} }

// Spent sums the tokens that some runs have read and written, and their cost. Input includes Cached and Written. The costs are in US dollars: Cost
// was paid for by tokens, and Plan is what those of a subscription would have cost.
type Spent struct {
	Key       string  `json:"key"`
	Runs      int     `json:"runs"`
	Input     int64   `json:"input_tokens"`
	Cached    int64   `json:"cached_tokens"`
	Written   int64   `json:"written_tokens"`
	Output    int64   `json:"output_tokens"`
	Reasoning int64   `json:"reasoning_tokens"`
	Cost      float64 `json:"cost_usd"`
	Plan      float64 `json:"plan_usd"`
	// Guessed and Unpriced are the tokens that stand in for what a provider did not name, and those without a known price.
	Guessed  int64 `json:"guessed_tokens"`
	Unpriced int64 `json:"unpriced_tokens"`
	// Plans tells how much of a subscription was used, as these runs were told last.
	Plans []runs.Plan `json:"plans,omitempty"`
}

// SpendOptions select and order what [Spend] sums.
type SpendOptions struct {
	Filter
	By string // one of [SpendKeys]
}

// Spend sums what the runs that are kept have spent, and what the other hosts of a fleet tell of theirs. Days are those of the local time on which
// a run began; they and runs come with the newest first, all else with the dearest.
func Spend(ctx context.Context, c *core.Core, o SpendOptions) ([]Spent, error) {
	if !slices.Contains(SpendKeys(), o.By) {
		return nil, fmt.Errorf("--by %s: it can be %s", o.By, strings.Join(SpendKeys(), ", ")+", budget")
	}
	list, err := List(c, o.Filter)
	if err != nil {
		return nil, err
	}
	price := priceNow(c.Config)
	if o.By == "host" {
		name := hostName(c)
		for i := range list {
			list[i].Host = name
		}
	}
	sums := sumsBy(list, o.By, price)
	addOthers(ctx, c, o, sums, price)
	return sortSpent(list, o.By, sums), nil
}

// hostName returns the name of this host.
func hostName(c *core.Core) string {
	name, _ := os.Hostname()
	if s, err := c.Config.For(""); err == nil {
		name = cmp.Or(s.Fleet.Host, name)
	}
	return cmp.Or(name, "here")
}

// spentBy sums what these runs have spent.
func spentBy(list []runs.Entry, by string, price func(runs.Usage) (float64, bool)) []Spent {
	return sortSpent(list, by, sumsBy(list, by, price))
}

// sumsBy sums what the runs of list have spent, by the values of by.
func sumsBy(list []runs.Entry, by string, price func(runs.Usage) (float64, bool)) map[string]*Spent {
	sums := map[string]*Spent{}
	for i := range list {
		addSpent(sums, &list[i], 1, by, price)
	}
	return sums
}

// addSpent adds what a run has spent to the sums by key. times is the number of runs that the entry stands for. What went through the proxy
// of an outer run is left out, since that run has it, unless each run is a row.
func addSpent(sums map[string]*Spent, e *runs.Entry, times int, by string, price func(runs.Usage) (float64, bool)) {
	counted := map[string]bool{}
	for _, u := range e.Usage {
		if u.Through && by != "run" { // the outer run has it
			continue
		}
		key := spendKey(e, &u, by)
		s := sums[key]
		if s == nil {
			s = &Spent{Key: key}
			sums[key] = s
		}
		if !counted[key] {
			counted[key] = true
			s.Runs += times
			s.addPlans(e.Plans)
		}
		s.add(&u, price)
	}
}

// sortSpent returns the sums as a list: with by "day" or "run" the newest first, else the most expensive first, by tokens where the costs are
// equal. list says when the runs began.
func sortSpent(list []runs.Entry, by string, sums map[string]*Spent) []Spent {
	out := slices.Collect(maps.Values(sums))
	began := map[string]time.Time{}
	for i := range list {
		began[list[i].ID] = list[i].Started
	}
	sorting.By(out, func(a, b *Spent) int {
		switch by {
		case "day":
			return cmp.Compare(b.Key, a.Key)
		case "run":
			return cmp.Or(began[b.Key].Compare(began[a.Key]), cmp.Compare(a.Key, b.Key))
		}
		return cmp.Or(cmp.Compare(b.Cost+b.Plan, a.Cost+a.Plan), cmp.Compare(b.Input+b.Output, a.Input+a.Output), cmp.Compare(a.Key, b.Key))
	})
	rows := make([]Spent, len(out))
	for i, s := range out {
		rows[i] = *s
	}
	return rows
}

// spendKey returns the key of the row that a use of a model by a run belongs to.
func spendKey(e *runs.Entry, u *runs.Usage, by string) string {
	switch by {
	case "day":
		return e.Started.Local().Format(time.DateOnly)
	case "tool":
		return e.Tool
	case "project":
		return e.Project
	case "model":
		return u.Model
	case "host":
		return e.Host
	}
	return e.ID
}

// add adds the tokens and the cost of a use of a model. If the use has no cost noted, it takes the one that price returns now.
func (s *Spent) add(u *runs.Usage, price func(runs.Usage) (float64, bool)) {
	s.Input += u.Input
	s.Cached += u.Cached
	s.Written += u.Written
	s.Output += u.Output
	s.Reasoning += u.Reasoning
	s.Guessed += u.Guessed
	cost, unpriced := u.Cost, u.Unpriced
	if cost == 0 {
		if now, ok := price(*u); ok {
			cost, unpriced = now, 0
		}
	}
	s.Unpriced += unpriced
	if u.Plan {
		s.Plan += cost
	} else {
		s.Cost += cost
	}
}

func (s *Spent) addPlans(plans []runs.Plan) {
	for _, p := range plans {
		s.Plans = runs.AddPlan(s.Plans, p)
	}
}

// PlanWords says how much of a window of a subscription was used when its provider told it last.
func PlanWords(p runs.Plan, now time.Time) string {
	text := fmt.Sprintf("%s plan, %s: %.0f %% used", p.Upstream, p.Window, 100*p.Utilization)
	switch {
	case p.Reset.IsZero():
	case p.Reset.Before(now):
		return text + ", but it has begun anew since"
	default:
		text += ", begins anew " + p.Reset.Local().Format("Mon 15:04")
	}
	return text + " (told " + p.Told.Local().Format("Mon 15:04") + ")"
}

// Budget is one of the budgets, with what was spent of it.
type Budget = spend.Account

// Budgets returns the budgets that are set, for this project and over all, with what was spent of them; empty where there are none.
func Budgets(ctx context.Context, c *core.Core) ([]Budget, error) {
	s, err := c.Config.For("")
	if err != nil {
		return nil, err
	}
	book, err := c.OpenBook(s, config.ProjectOf("").Key)
	if err != nil || book == nil {
		return []Budget{}, err
	}
	defer book.Close()
	return book.Accounts(ctx)
}

// Sum returns the sum of all rows. Runs is the number of runs only where the rows share none.
func Sum(rows []Spent) Spent {
	var all Spent
	for _, r := range rows {
		all.Runs += r.Runs
		all.Input += r.Input
		all.Cached += r.Cached
		all.Written += r.Written
		all.Output += r.Output
		all.Reasoning += r.Reasoning
		all.Cost += r.Cost
		all.Plan += r.Plan
		all.Guessed += r.Guessed
		all.Unpriced += r.Unpriced
		all.addPlans(r.Plans)
	}
	return all
}

// Cost returns a function that returns the cost of a run in US dollars; ok is false when no price of its models is known. What a subscription
// pays for is not in it. The prices are read once, so a caller with many runs keeps the function.
func Cost(l *config.Loaded) func(e *runs.Entry) (cost float64, ok bool) {
	price := priceNow(l)
	return func(e *runs.Entry) (float64, bool) { return e.Cost(price) }
}

// priceNow returns the price of tokens by what is written and known now, for those that had none when they were used. Which
// of the requests were long enough for a dearer rate is not known any more.
func priceNow(l *config.Loaded) func(runs.Usage) (float64, bool) {
	price := core.Prices(l)
	return func(u runs.Usage) (float64, bool) {
		p, ok := price(u.Upstream, u.Model)
		return p.Rate.Of(int(u.Input), int(u.Cached), int(u.Written-u.Hour), int(u.Hour), int(u.Output)), ok
	}
}
