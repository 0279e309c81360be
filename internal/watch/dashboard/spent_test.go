package dashboard

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/spend"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
)

// What a run has spent of its limits, and what all have spent today, comes with the state; a budget at its line is the first alert.
func TestWhatWasSpentIsShown(t *testing.T) {
	t.Parallel()
	s, base, dir := serving(t)
	s.hub.spending.cost = func(*runs.Entry) (float64, bool) { return 4.1, true }
	s.hub.spending.read = func(_ context.Context, list []runs.Entry) Spending {
		return Spending{
			Rows:    []Spender{{Name: "claude", Runs: len(list), Cost: 4.1}},
			Budgets: []spend.Account{{Name: spend.BudgetDay, Max: 20, Spent: 17}, {Name: spend.BudgetMonth, Max: 300, Spent: 17}},
		}
	}
	c, base := enter(t, s, base)
	w := runs.Begin(runs.Options{Dir: dir}, runs.Header{ID: "dear", Kind: runs.KindRun, Report: journal.Report{Tool: "claude"}})
	t.Cleanup(func() { _ = w.End(journal.Report{Tool: "claude", Outcome: journal.OutcomeOK}) })
	w.Observe(journal.Record{Seq: 1, Time: time.Now(), Event: journal.RunStarted{PID: 1}})
	w.Observe(journal.Record{Seq: 2, Time: time.Now(), Event: journal.LimitSet{Limit: journal.Limit{Name: spend.LimitCost, Unit: runs.UnitMoney, Hard: 5e6}}})
	w.Observe(journal.Record{Seq: 3, Time: time.Now(), Event: journal.LimitUsed{Name: spend.LimitCost, Used: 4.1e6, Hard: 5e6}})
	w.Observe(journal.Record{Seq: 4, Time: time.Now(), Event: journal.LimitReached{Name: spend.LimitCost, Line: journal.LineSoft}})
	var state struct {
		Now struct {
			Rows   []row
			Alerts []Alert
			Spent  Spending
		}
	}
	wait.Until(t, "the run and its limit have been read", func() bool {
		readJSON(t, c, base+"/api/state", &state)
		return len(state.Now.Rows) == 1 && len(state.Now.Alerts) == 2 && len(state.Now.Spent.Rows) == 1
	})
	row := state.Now.Rows[0]
	if want := []used{{spend.LimitCost, 4.1e6, 5e6, "$4.10 of $5.00"}}; !slices.Equal(row.Spent, want) || row.Cost == nil || *row.Cost != 4.1 {
		t.Errorf("%+v", row)
	}
	if len(state.Now.Spent.Budgets) != 2 {
		t.Errorf("%+v", state.Now.Spent)
	}
	budget, run := state.Now.Alerts[0], state.Now.Alerts[1]
	if budget.What != spend.BudgetDay || budget.Run != "" || !strings.HasPrefix(budget.Text, "have spent $17.00 of the $20.00 of the day; it begins anew ") || budget.Help != "plimsoll spend --by budget" {
		t.Errorf("%+v", budget)
	}
	if run.What != "spend" || run.Level != "warning" || run.Text != "has spent $4.10 of $5.00" || run.Help != "plimsoll raise dear --cost +5" {
		t.Errorf("%+v", run)
	}
	var page struct{ Spent []used }
	readJSON(t, c, base+"/api/run/dear", &page)
	if !slices.Equal(page.Spent, row.Spent) {
		t.Errorf("its page has %+v", page.Spent)
	}
}

// Of the limits of one run that which stops it is told, in its own unit; a budget that it has come near is not its own.
func TestARunAtItsLimitIsAnAlert(t *testing.T) {
	t.Parallel()
	soft := journal.Limit{Name: spend.LimitCost, Unit: runs.UnitMoney, Hard: 5e6, Used: 4e6, Reached: journal.LineSoft}
	for _, c := range []struct {
		limits []journal.Limit
		want   string
	}{
		{nil, ""},
		{[]journal.Limit{{Name: spend.LimitCost, Hard: 5e6}, {Name: spend.BudgetDay, Unit: runs.UnitMoney, Hard: 5e6, Used: 5e6, Reached: journal.LineHard}, {Name: "time_max", Reached: journal.LineHard}}, ""},
		{
			[]journal.Limit{soft, {Name: spend.LimitTokens, Unit: runs.UnitTokens, Hard: 2e6, Used: 2e6, Reached: journal.LineHard}},
			"critical: has spent 2M of 2M tokens, and its requests are refused: plimsoll raise r --tokens +2M",
		},
		{
			[]journal.Limit{{Name: spend.LimitQuota, Unit: "percent", Hard: 60, Reached: journal.LineHard}, soft},
			"critical: has used 60 % of the plan's window, and its requests are refused: plimsoll raise r --quota 100%",
		},
		{
			[]journal.Limit{{Name: spend.LimitQuota, Unit: "percent", Hard: 60, Reached: journal.LineSoft}},
			"warning: comes near the part of the plan's window that it may use, 60 %: plimsoll raise r --quota 100%",
		},
	} {
		r := &runs.Run{Entry: runs.Entry{ID: "r", Tool: "claude", Outcome: runs.Running}, Report: journal.Report{Limits: c.limits}}
		var got strings.Builder
		for _, a := range collectAlerts(nil, []*runs.Run{r}, time.Unix(1_000_000, 0), 0, nil) {
			got.WriteString(fmt.Sprintf("%s: %s: %s", a.Level, a.Text, a.Help))
		}
		if got.String() != c.want {
			t.Errorf("%q, not %q", got.String(), c.want)
		}
	}
}

// What was spent is summed once in ten seconds for all viewers, of few tools by name.
func TestSpendingRests(t *testing.T) {
	t.Parallel()
	asked, now := 0, time.Unix(1_000_000, 0)
	s := spending{read: func(context.Context, []runs.Entry) (got Spending) {
		asked++
		for n := range 30 {
			got.Rows = append(got.Rows, Spender{Name: fmt.Sprint("tool", n), Runs: 1, Tokens: 10, Cost: 2, Plan: 1, Unpriced: 3})
		}
		return got
	}}
	for range 3 {
		today := s.today(nil, now)
		want := Spender{Name: "22 other tools", Runs: 22, Tokens: 220, Cost: 44, Plan: 22, Unpriced: 66}
		if len(today.Rows) != maxSpenders+1 || today.Rows[maxSpenders] != want || today.Budgets == nil || asked != 1 {
			t.Fatalf("asked %d times: %+v", asked, today)
		}
	}
	if s.today(nil, now.Add(spendingRests)); asked != 2 {
		t.Errorf("asked %d times", asked)
	}
	if (&spending{}).today(nil, now) != nil {
		t.Error("nobody tells, and something is told")
	}
}

// A budget that is used up is critical, and one that is far from its line no alert.
func TestBudgetsAtTheirLineAreAlerts(t *testing.T) {
	t.Parallel()
	for spent, level := range map[float64]string{1: "", 15.9: "", 16: "warning", 20: "critical", 21: "critical"} {
		var got strings.Builder
		for _, a := range budgetAlerts(&Spending{Budgets: []spend.Account{{Name: spend.BudgetMonth, Max: 20, Spent: spent}}}, time.Now()) {
			got.WriteString(a.Level)
			if refused := strings.Contains(a.Text, "of the month, and their requests are refused;"); refused != (level == "critical") {
				t.Errorf("%v: %s", spent, a.Text)
			}
		}
		if got.String() != level {
			t.Errorf("at $%v: %q, not %q", spent, got.String(), level)
		}
	}
}
