package usage_test

import (
	"testing"

	"github.com/plimsoll/plimsoll/internal/process/usage"
)

func TestSpendOfRuns(t *testing.T) {
	if usage.SummarizeSpend([]usage.Run{{}, {}}) != nil {
		t.Error("runs that asked no model have spent")
	}
	var runs []usage.Run
	for i := range int64(20) {
		runs = append(runs, usage.Run{Tokens: 1000 * (20 - i), Cost: float64(20-i) / 10}, usage.Run{})
	}
	got := *usage.SummarizeSpend(runs)
	if want := (usage.Spend{Runs: 20, TokensMedian: 10_000, TokensP95: 19_000, CostMedian: 1, CostP95: 1.9}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	one := *usage.SummarizeSpend([]usage.Run{{Tokens: 7, PlanCost: 0.5}})
	if want := (usage.Spend{Runs: 1, TokensMedian: 7, TokensP95: 7, CostMedian: 0.5, CostP95: 0.5}); one != want {
		t.Errorf("of one: %+v", one)
	}
}
