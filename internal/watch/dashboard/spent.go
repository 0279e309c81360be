package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/spend"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

const (
	// spendingRests is the time for which what was spent today is kept, for all viewers.
	spendingRests = 10 * time.Second
	// spendingTime bounds how long it may take to read.
	spendingTime = 2 * time.Second
	// maxSpenders bounds the tools with a row of their own; the others share one.
	maxSpenders = 8
)

// Spending tells what was spent today, and of the budgets over all runs.
type Spending struct {
	Rows    []Spender       `json:"rows"` // the dearest first
	Budgets []spend.Account `json:"budgets"`
	// Problem says what could not be read, "" when everything was.
	Problem string `json:"problem,omitempty"`
}

// Spender is a tool with what its runs have spent. Costs are in US dollars; Plan is what the tokens of a subscription would have cost.
type Spender struct {
	Name     string  `json:"name"`
	Runs     int     `json:"runs"`
	Tokens   int64   `json:"tokens"`
	Unpriced int64   `json:"unpriced_tokens"`
	Cost     float64 `json:"cost_usd"`
	Plan     float64 `json:"plan_usd"`
}

// spending is read by the hub alone.
type spending struct {
	read func(context.Context, []runs.Entry) Spending // nil leaves it out
	cost func(*runs.Entry) (float64, bool)            // nil where no price is known

	at   time.Time
	last *Spending
}

// today returns what was spent today; nil if the options have no function for it. It is read again when the last answer is older than
// spendingRests.
func (s *spending) today(entries []runs.Entry, now time.Time) *Spending {
	if s.read == nil || s.last != nil && now.Sub(s.at) < spendingRests && !now.Before(s.at) {
		return s.last
	}
	ctx, cancel := context.WithTimeout(context.Background(), spendingTime)
	defer cancel()
	read := s.read(ctx, entries)
	if read.Budgets == nil {
		read.Budgets = []spend.Account{}
	}
	read.Rows = topSpenders(read.Rows)
	s.at, s.last = now, &read
	return s.last
}

// topSpenders returns the first maxSpenders rows, and the sum of the others as one more.
func topSpenders(rows []Spender) []Spender {
	if rows == nil {
		rows = []Spender{}
	}
	if len(rows) <= maxSpenders+1 {
		return rows
	}
	rest := Spender{Name: fmt.Sprintf("%d other tools", len(rows)-maxSpenders)}
	for _, r := range rows[maxSpenders:] {
		rest.Runs, rest.Tokens, rest.Unpriced = rest.Runs+r.Runs, rest.Tokens+r.Tokens, rest.Unpriced+r.Unpriced
		rest.Cost, rest.Plan = rest.Cost+r.Cost, rest.Plan+r.Plan
	}
	return append(rows[:maxSpenders:maxSpenders], rest)
}

// used is a limit of what a run may spend, or a budget, with what was used of it.
type used struct {
	Name  string `json:"name"`
	Used  int64  `json:"used"`
	Most  int64  `json:"most"`
	Words string `json:"words"`
}

// spendLimits returns the limits among these that are of what a run may spend, with what was used of them.
func spendLimits(limits []journal.Limit) (list []used) {
	for _, l := range runs.SpendLimits(limits) {
		list = append(list, used{l.Name, l.Used, l.Hard, runs.FormatSpent(l)})
	}
	return list
}

// makeRow returns the row of a run, with what it cost.
func (s *spending) makeRow(e *runs.Entry) row {
	return row{View: runs.NewView(e, s.cost), Requests: e.Requests(), KilledAt: e.KilledAt}
}

// addSpent adds an alert if a run has come near a limit of what it may spend, with the command that raises it. If there are several, it is
// about the one that was reached. Budgets are left out, because they are not the run's.
func (a *alerting) addSpent(r *runs.Run) {
	var worst journal.Limit
	for _, l := range r.Report.Limits {
		if spend.UnitOf(l.Name).Flag != "" && l.Reached != "" && (worst.Reached == "" || l.Reached == journal.LineHard && worst.Reached != journal.LineHard) {
			worst = l
		}
	}
	if worst.Reached == "" {
		return
	}
	unit, most := spend.UnitOf(worst.Name), float64(worst.Hard)
	text, level := "has spent "+runs.FormatSpent(worst), "warning"
	switch worst.Name {
	case spend.LimitCost:
		most /= 1e6
	case spend.LimitQuota:
		most /= 100
		text = "comes near the part of the plan's window that it may use, " + unit.Words(most)
	}
	if worst.Reached == journal.LineHard {
		level = "critical"
		if worst.Name == spend.LimitQuota {
			text = "has used " + unit.Words(most) + " of the plan's window"
		}
		text += ", and its requests are refused"
	}
	a.add(&r.Entry, level, "spend", a.now, "%s", text)
	a.list[len(a.list)-1].Help = fmt.Sprintf("plimsoll raise %s --%s %s", r.ID, unit.Flag, unit.More(most))
}

// budgetAlerts returns the alerts about budgets over all runs that are nearly spent, or spent; nil for a nil s.
func budgetAlerts(s *Spending, now time.Time) (list []Alert) {
	if s == nil {
		return nil
	}
	for _, b := range s.Budgets {
		if b.Max <= 0 || b.Spent < spend.SoftLine*b.Max {
			continue
		}
		level, refused := "warning", ""
		if b.Spent >= b.Max {
			level, refused = "critical", ", and their requests are refused"
		}
		list = append(list, Alert{
			Level: level, Tool: "All runs", What: b.Name, Time: now, Help: "plimsoll spend --by budget",
			Text: fmt.Sprintf("have spent %s of the %s of the %s%s; it begins anew %s", limit.Dollars(b.Spent), limit.Dollars(b.Max), budgetName(b.Name), refused,
				b.Reset.Local().Format("Mon 15:04")),
		})
	}
	return list
}

// budgetName returns the name of a budget as alerts call it: "day", "month".
func budgetName(name string) string {
	return cmp.Or(map[string]string{spend.BudgetDay: "day", spend.BudgetMonth: "month"}[name], strings.TrimPrefix(name, "budget."))
}
