package runs

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// The units of limits of what a run may spend, in [journal.Limit].
const (
	UnitTokens = "tokens"
	UnitMoney  = "micro-dollars"
)

// SpendLimits returns the limits of what a run may spend, and the budgets that it has come near, among its limits.
func SpendLimits(limits []journal.Limit) (spent []journal.Limit) {
	for _, l := range limits {
		if l.Unit == UnitTokens || l.Unit == UnitMoney {
			spent = append(spent, l)
		}
	}
	return spent
}

// SpentWords returns what was used of a limit, for people: "$1.20 of $5.00", "1.2M of 2M tokens".
func SpentWords(l journal.Limit) string {
	if l.Unit == UnitMoney {
		return limit.Dollars(float64(l.Used)/1e6) + " of " + limit.Dollars(float64(l.Hard)/1e6)
	}
	return fmt.Sprintf("%s of %s tokens", limit.Tokens(l.Used), limit.Tokens(l.Hard))
}

// usedKind is the kind of the events whose lines tell what was used of a limit.
var usedKind = journal.LimitUsed{}.Kind()

// spentOf returns the limit that a line with a [journal.LimitUsed] is about; ok is false for other limits.
func spentOf(text []byte) (l journal.Limit, ok bool) {
	if !bytes.Contains(text, []byte(`"hard":`)) {
		return l, false
	}
	line, err := parse(text)
	if err != nil || line.record == nil {
		return l, false
	}
	e, ok := line.record.Event.(journal.LimitUsed)
	if !ok || e.Hard <= 0 {
		return l, false
	}
	l = journal.Limit{Name: e.Name, Used: e.Used, Hard: e.Hard, Unit: UnitMoney}
	if e.Name == "tokens_max" {
		l.Unit = UnitTokens
	}
	return l, true
}

// SpendLine counts how often a line of a limit of what may be spent, or of a budget, was reached.
type SpendLine struct {
	Limit string `json:"limit"`
	Line  string `json:"line"` // [journal.LineSoft] or [journal.LineHard]
	Times int64  `json:"times"`
}

// maxSpendLines bounds the lines that are counted apart; there are three limits and four budgets with two each.
const maxSpendLines = 16

// spends reports whether a limit of this name is one of what may be spent, or a budget.
func spends(name string) bool {
	return name == "tokens_max" || name == "cost_max" || name == "quota_max" || strings.HasPrefix(name, "budget.")
}

// addLine adds a line to those that were reached before.
func addLine(lines []SpendLine, l SpendLine) []SpendLine {
	at := slices.IndexFunc(lines, func(x SpendLine) bool { return x.Limit == l.Limit && x.Line == l.Line })
	switch {
	case at >= 0:
		lines[at].Times += l.Times
	case len(lines) < maxSpendLines:
		lines = append(lines, l)
	}
	return lines
}

// ModelCost has the cost of one model's tokens in US dollars, by the price at the time of each answer. With Plan nobody paid it: they were a
// subscription's.
type ModelCost struct {
	Model string  `json:"model"`
	Plan  bool    `json:"plan,omitempty"`
	Cost  float64 `json:"cost_usd"`
}

// maxModelName bounds the name of a model in sums, in bytes.
const maxModelName = 64

// addCost adds the cost of a model to those of others, of which maxUsage have a row of their own.
func addCost(costs []ModelCost, c ModelCost) []ModelCost {
	c.Model = limit.Short(c.Model, maxModelName)
	for range 2 {
		at := slices.IndexFunc(costs, func(x ModelCost) bool { return x.Model == c.Model && x.Plan == c.Plan })
		switch {
		case at >= 0:
			costs[at].Cost += c.Cost
			return costs
		case len(costs) < maxUsage || c.Model == OtherModels:
			return append(costs, c)
		}
		c.Model = OtherModels
	}
	return costs
}
