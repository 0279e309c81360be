package runs

import (
	"bytes"
	"fmt"

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
