package spend

import (
	"fmt"

	"github.com/plimsoll/plimsoll/limit"
)

// Unit is the form in which a limit or a budget is written.
type Unit struct {
	// Unit is that of the report: "tokens", "micro-dollars", "percent".
	Unit string
	// Flag is that of plimsoll raise, "" for a budget, which stands in the configuration.
	Flag string
	may  string // who may use so much
	// Words write a number of it for people, and Number writes it in Unit.
	Words  func(float64) string
	Number func(float64) int64
	// More returns what plimsoll raise is given to go on behind a limit.
	More func(limit float64) string
}

// UnitOf returns how the limit or budget of this name is written.
func UnitOf(name string) Unit {
	money := func(usd float64) int64 { return int64(usd*1e6 + 0.5) }
	switch name {
	case LimitTokens:
		return Unit{
			Unit: "tokens", Flag: "tokens", may: "tokens that this run may use",
			Words: func(v float64) string { return limit.Tokens(int64(v)) }, More: func(l float64) string { return "+" + limit.Tokens(int64(l)) },
			Number: func(v float64) int64 { return int64(v) },
		}
	case LimitQuota:
		return Unit{
			Unit: "percent", Flag: "quota", may: "of the plan's window that this run may use",
			Words: func(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) }, More: func(float64) string { return "100%" },
			Number: func(v float64) int64 { return int64(100*v + 0.5) },
		}
	case LimitCost:
		return Unit{
			Unit: "micro-dollars", Flag: "cost", may: "that this run may spend",
			Words: limit.Dollars, More: func(l float64) string { return fmt.Sprintf("+%.4g", l) }, Number: money,
		}
	}
	return Unit{Unit: "micro-dollars", may: "that may be spent" + periods[name], Words: limit.Dollars, Number: money}
}

// Words say that the line was reached, and what happens.
func (l Line) Words() string {
	u := UnitOf(l.Name)
	text := fmt.Sprintf("%s of the %s %s are used (%s)", u.Words(l.Used), u.Words(l.Max), u.may, l.Name)
	if l.Hard {
		text += "; its next requests are refused"
	}
	if u.Flag == "" {
		text += "; plimsoll config explain " + l.Name
	}
	return text
}
