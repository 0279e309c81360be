package top

import (
	"testing"

	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/process/admission"
)

// A run has what the definitions of all its servers take, each of them once; a gateway of no run has its own.
func TestARunHasTheDefinitionsOfItsGateways(t *testing.T) {
	gateway := func(id, parent, tool string, tokens, deferred int) *runs.Run {
		return &runs.Run{Entry: runs.Entry{
			ID: id, Kind: runs.KindGateway, Parent: parent, Tool: tool, Started: noon, Outcome: runs.Running,
			MCP: journal.MCP{DefinitionTokens: tokens, Deferred: deferred},
		}}
	}
	list := newRowSet([]*runs.Run{
		{Entry: runs.Entry{ID: "rrrr0001", Kind: runs.KindRun, Tool: "gemini", Started: noon, Outcome: runs.Running}},
		gateway("gggg0001", "rrrr0001", "mcp:notes", 4000, 0),
		gateway("gggg0002", "rrrr0001", "mcp:notes", 4000, 0), // of a second session
		gateway("gggg0003", "rrrr0001", "mcp:cluster", 8000, 30),
		gateway("gggg0004", "rrrr0001", "mcp:slow", 0, 0), // has listed nothing yet
		gateway("gggg0005", "", "mcp:alone", 700, 0),
	}, noon, nil).list()
	if len(list) != 2 || list[0].DefinitionTokens != 12_000 || list[0].DeferredTools != 30 || list[1].DefinitionTokens != 700 {
		t.Errorf("%+v", list)
	}
}

// The key + asks for what the run lacks: to spend more where its requests are refused for that, else memory.
func TestPlusAsksForWhatIsUsedUp(t *testing.T) {
	limits := func(reached string) []journal.Limit {
		return []journal.Limit{
			{Name: "budget.day", Unit: runs.UnitMoney, Hard: 20e6, Used: 20e6, Reached: journal.LineHard},
			{Name: "time_max", Hard: 60, Reached: journal.LineHard},
			{Name: "cost_max", Unit: runs.UnitMoney, Hard: 5e6, Used: 5e6, Reached: reached},
		}
	}
	for _, c := range []struct {
		limits []journal.Limit
		want   admission.Wish
	}{
		{nil, admission.Wish{Memory: 5 << 20}},
		{limits(journal.LineSoft), admission.Wish{Memory: 5 << 20}},
		{limits(journal.LineHard), admission.Wish{Limit: "cost_max", By: 2.5}},
		{[]journal.Limit{{Name: "tokens_max", Hard: 1000, Reached: journal.LineHard}}, admission.Wish{Limit: "tokens_max", By: 500}},
		{[]journal.Limit{{Name: "quota_max", Hard: 60, Reached: journal.LineHard}}, admission.Wish{Limit: "quota_max", By: 0.3}},
	} {
		if got := wishFor(&journal.Report{LimitBytes: 4 << 20, Limits: c.limits}); got != c.want {
			t.Errorf("with %+v: %+v", c.limits, got)
		}
	}
}

// What was spent of a limit stands where the bare cost stands else, and rows can be put in the order of cost.
func TestRowsSayWhatWasSpent(t *testing.T) {
	spent := []journal.Limit{{Name: "cost_max", Unit: runs.UnitMoney, Hard: 5e6, Used: 1_200_000}, {Name: "memory", Unit: "bytes", Hard: 1 << 30}}
	run := &runs.Run{Entry: runs.Entry{ID: "rrrr0001", Kind: runs.KindRun, Tool: "claude", Started: noon, Outcome: runs.Running}, Report: journal.Report{Limits: spent}}
	price := func(*runs.Entry) (float64, bool) { return 1.2, true }
	row := newRowSet([]*runs.Run{run}, noon, price).list()[0]
	if got := row.spentWords(); got != "spent $1.20 of $5.00" || len(row.Spent) != 1 || row.maySpendNoMore() {
		t.Errorf("%q, %+v", got, row.Spent)
	}
	row.Spent = nil
	if got := row.spentWords(); got != "cost $1.20" {
		t.Error(got)
	}
	dear := 9.0
	list := Arrange([]Row{{View: runs.View{ID: "free"}}, row, {View: runs.View{ID: "dear", Cost: &dear}}}, ByCost, false, "")
	if list[0].ID != "dear" || list[1].ID != row.ID {
		t.Errorf("%+v", list)
	}
}
