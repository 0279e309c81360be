package spend

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/window/models"
)

// Amount is the use of models by requests.
type Amount struct {
	// Tokens are those read and written, what came from a cache among them.
	Tokens int64
	// Cost is in US dollars, of tokens that somebody pays for one by one. Plan is what the tokens of a subscription would have cost.
	Cost, Plan float64
}

// add adds b, unless that is negative or no number: no usage of a provider makes a sum smaller.
func (a *Amount) add(b Amount) {
	if b.isValid() {
		*a = Amount{a.Tokens + b.Tokens, a.Cost + b.Cost, a.Plan + b.Plan}
	}
}

// isValid reports whether all numbers of an amount are finite and not negative.
func (a *Amount) isValid() bool {
	return a.Tokens >= 0 && a.Cost >= 0 && a.Plan >= 0 && !math.IsInf(a.Cost, 0) && !math.IsInf(a.Plan, 0)
}

// subtract takes b off; what would become negative becomes 0.
func (a *Amount) subtract(b Amount) {
	*a = Amount{max(a.Tokens-b.Tokens, 0), max(a.Cost-b.Cost, 0), max(a.Plan-b.Plan, 0)}
}

// Request describes a request before it is sent.
type Request struct {
	Model string
	// Input counts its tokens. MaxOutput is the most that it asks for; 0 for no bound of its own.
	Input, MaxOutput int
	Price            models.Price
	// Priced is false where the price of the model is unknown.
	Priced bool
	// Plan is true for a request that a subscription pays for.
	Plan bool
	// Patience bounds the wait for others; 0 means 15 seconds.
	Patience time.Duration
}

// Names of limits, as the report and the configuration have them.
const (
	LimitTokens        = "tokens_max"
	LimitCost          = "cost_max"
	LimitQuota         = "quota_max"
	BudgetDay          = "budget.day"
	BudgetMonth        = "budget.month"
	BudgetProjectDay   = "budget.project_day"
	BudgetProjectMonth = "budget.project_month"
)

// Over is the error for a request at a limit that is used up.
type Over struct {
	Name      string // of the limit
	Used, Max float64
	// Window names the window of a plan, for LimitQuota, and Reset is the time at which it begins anew; zero where it is not known.
	Window string
	Reset  time.Time
	// Unpriced is the model whose price is unknown, "" when the limit is used up.
	Unpriced string
	// Run is the id of the run, "" for none.
	Run string
	// Hosts are those that have spent the most of a budget that several share.
	Hosts []HostSpent
}

// Error names the limit, what was used of it, and the way to go on.
func (o *Over) Error() string {
	if o.Unpriced != "" {
		return fmt.Sprintf("the price of %s is not known, and %s can't be held without it: write input_price and output_price, in dollars for a million tokens, to [models.%q], or bound the run by --tokens-max",
			printable.Text(o.Unpriced), o.Name, printable.Text(o.Unpriced))
	}
	u := UnitOf(o.Name)
	switch o.Name {
	case LimitTokens:
		return fmt.Sprintf("this run may use %s tokens and has used %s (tokens_max); %s", u.Words(o.Max), u.Words(o.Used), o.raiseHint(u))
	case LimitCost:
		return fmt.Sprintf("this run may spend %s and has spent %s (cost_max); %s", u.Words(o.Max), u.Words(o.Used), o.raiseHint(u))
	case LimitQuota:
		return fmt.Sprintf("%s of the plan's window of %s are used, and this run leaves the rest to others at %s (quota_max)%s; %s",
			u.Words(o.Used), o.Window, u.Words(o.Max), o.formatReset(), o.raiseHint(u))
	}
	return fmt.Sprintf("%s may be spent%s and %s are (%s)%s; to go on before it begins anew%s, raise it in the configuration: plimsoll config explain %s",
		limit.Dollars(o.Max), periods[o.Name], limit.Dollars(o.Used), o.Name, o.spenders(), o.formatReset(), o.Name)
}

// spenders returns a clause that names the hosts that have spent the most of a budget; "" if the budget is of one host only.
func (o *Over) spenders() string {
	if len(o.Hosts) == 0 {
		return ""
	}
	var hosts []string
	for _, h := range o.Hosts {
		hosts = append(hosts, printable.Text(h.Host)+" "+limit.Dollars(h.Spent))
	}
	return ", by all hosts of the fleet together: " + strings.Join(hosts, ", ")
}

var periods = map[string]string{
	BudgetDay: " a day", BudgetMonth: " a month", BudgetProjectDay: " a day in this project", BudgetProjectMonth: " a month in this project",
}

// formatReset returns when the limit begins anew, in parentheses with a blank before them; "" if that is not known.
func (o *Over) formatReset() string {
	if o.Reset.IsZero() {
		return ""
	}
	return " (" + o.Reset.Local().Format("2 Jan 15:04") + ")"
}

// raiseHint returns the command that lets the same conversation go on.
func (o *Over) raiseHint(u Unit) string {
	return fmt.Sprintf("to let the same conversation go on: plimsoll raise %s --%s %s", cmp.Or(o.Run, "RUN"), u.Flag, u.More(o.Max))
}

// Busy is the error for a request that has waited in vain for others to settle what they hold.
type Busy struct {
	Name string
	// Away is why the other hosts could not be asked for more of a budget; nil where they could.
	Away error
}

// Error says why the request could not be sent yet.
func (b *Busy) Error() string {
	if b.Away != nil {
		return fmt.Sprintf("this host's share of %s is used up, and the other hosts can't be asked for more: %v; try again in a moment", b.Name, b.Away)
	}
	return "what is left of " + b.Name + " is held for requests under way; try again in a moment"
}

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

// UnitOf returns the unit of the limit or budget of this name, and how amounts of it are written. Any other name counts as a budget in dollars.
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

// Sentence returns a sentence that says which limit was reached how far, what happens next, and, for a budget, where it is set.
func (l Line) Sentence() string {
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
