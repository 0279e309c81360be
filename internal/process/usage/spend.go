package usage

import (
	"cmp"
	"slices"
)

// Spend is the use of models by the runs of a tool: the median of those kept that asked one, and the use that 95 of a hundred do not pass.
type Spend struct {
	Runs         int   `json:"runs"`
	TokensMedian int64 `json:"tokens_median"`
	TokensP95    int64 `json:"tokens_p95"`
	// The costs are in US dollars, those of a subscription's tokens as they would have been; 0 where no price is known.
	CostMedian float64 `json:"usd_median"`
	CostP95    float64 `json:"usd_p95"`
}

// SpendOf returns the use of models by these runs, nil where none has asked one.
func SpendOf(runs []Run) *Spend {
	var tokens []int64
	var costs []float64
	for _, r := range runs {
		if r.Tokens > 0 {
			tokens, costs = append(tokens, r.Tokens), append(costs, r.Cost+r.PlanCost)
		}
	}
	if len(tokens) == 0 {
		return nil
	}
	return &Spend{
		Runs: len(tokens), TokensMedian: rank(tokens, 50), TokensP95: rank(tokens, 95), CostMedian: rank(costs, 50), CostP95: rank(costs, 95),
	}
}

// rank returns the smallest of the values that so many in a hundred do not pass. It sorts them.
func rank[V cmp.Ordered](values []V, percent int) V {
	slices.Sort(values)
	return values[(len(values)*percent+99)/100-1]
}
