package run

import (
	"fmt"
	"os"
	"strings"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/spend"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// spendLimits returns the limits of what the run may spend.
func spendLimits(s config.Settings) spend.Limits {
	return spend.Limits{Tokens: int64(s.TokensMax), Cost: s.CostMax, Quota: s.QuotaMax}
}

// spendLimitWords returns the limits of what a run may spend, for people; "" for none.
func spendLimitWords(s config.Settings) string {
	var words []string
	l := spendLimits(s)
	for _, limit := range []struct {
		name string
		most float64
	}{{spend.LimitCost, l.Cost}, {spend.LimitTokens, float64(l.Tokens)}, {spend.LimitQuota, l.Quota}} {
		if limit.most > 0 {
			words = append(words, spend.UnitOf(limit.name).Words(limit.most)+" ("+limit.name+")")
		}
	}
	return strings.Join(words, ", ")
}

// openMeter sets x.meter, which counts what the run spends and enforces its limits and the budgets. In a run inside a run the outer proxy
// enforces the budgets.
func (x *process) openMeter() error {
	s := x.decision.Settings
	var book *spend.Book
	if !x.through { // else the outer run's proxy asks it
		var err error
		if book, err = x.app.OpenBook(s, x.decision.Project.Key); err != nil {
			return err
		}
	}
	x.answers = x.knownAnswers()
	x.meter = spend.New(spend.Options{
		Limits: spendLimits(s), Run: x.id(), Book: book, Answers: x.answers, OnLine: x.onSpendLine, OnUse: x.noteSpent,
		OnBlind: func() {
			x.report.warn("spend", "quota_max does nothing here: the provider's answers tell of no subscription's window")
		},
	})
	return nil
}

// checkUnmetered returns an error if the run has limits of what it may spend, or budgets apply to it, although it has no proxy that could enforce
// them; why says the reason for that. Budgets are not asked of a command that is not known to use a model, nor with --force, nor inside a run that
// has a proxy.
func (x *process) checkUnmetered(choice windowChoice, why string) error {
	s := x.decision.Settings
	switch {
	case spendLimits(s) != (spend.Limits{}):
		return fmt.Errorf("nobody would hold what it may spend (tokens_max, cost_max, quota_max): no proxy stands before its models, because %s", why)
	case !choice.unknown && spend.Budget(s.Budget).IsSet() && !x.opts.Force && os.Getenv(core.ProxyName) == "":
		return fmt.Errorf("nobody would hold the [budget]: no proxy stands before its models, because %s; --force starts it all the same", why)
	}
	return nil
}

// knownAnswers returns what the last fewRuns runs of the tool, in this project or else in any, tell of its answers. It is never nil.
func (x *process) knownAnswers() *spend.Answers {
	answers := &spend.Answers{}
	if x.history == nil {
		return answers
	}
	runs, err := x.history.Runs(x.decision.Project.Key, x.decision.learnsAs())
	if err == nil && len(runs) == 0 {
		runs, err = x.history.ToolRuns(x.decision.learnsAs())
	}
	if err != nil {
		return answers
	}
	for _, r := range runs[max(0, len(runs)-fewRuns):] {
		if r.Answers > 0 {
			answers.AddFormer(r.Answers, r.AnswerP99)
		}
	}
	return answers
}

// fewRuns is the number of newest runs whose answers tell what the next ones will have.
const fewRuns = 20

// onSpendLine notes and warns that the run has come near one of its limits of spending or a budget, or has reached it.
func (x *process) onSpendLine(l spend.Line) {
	e, text := journal.LimitReached{Name: l.Name, Line: journal.LineSoft}, l.Sentence()
	if l.Hard {
		e.Line, e.Did = journal.LineHard, "refused requests"
	}
	if u := spend.UnitOf(l.Name); u.Flag != "" {
		text += fmt.Sprintf("; for more: plimsoll raise %s --%s %s", x.id(), u.Flag, u.More(l.Max))
	}
	if unit := spend.UnitOf(l.Name); unit.Flag == "" { // a budget is no limit of the run's own until it comes near
		x.report.journal.Append(journal.LimitSet{Limit: journal.Limit{
			Name: l.Name, Unit: unit.Unit, Soft: unit.Number(spend.SoftLine * l.Max), Hard: unit.Number(l.Max), Used: unit.Number(l.Used), EnforcedBy: string(sandbox.ByWatching),
		}})
	}
	x.report.journal.Append(e)
	x.report.warn("spend", text)
}

// noteSpent writes to the journal how much of its own limits of spending the run has used. Budgets are not in it, because other runs share them.
func (x *process) noteSpent(l spend.Limits, a spend.Amount) {
	if l.Tokens > 0 {
		x.report.journal.Append(journal.LimitUsed{Name: spend.LimitTokens, Used: a.Tokens, Hard: l.Tokens})
	}
	if money := spend.UnitOf(spend.LimitCost).Number; l.Cost > 0 {
		x.report.journal.Append(journal.LimitUsed{Name: spend.LimitCost, Used: money(a.Cost), Hard: money(l.Cost)})
	}
}

// raiseSpend raises a limit of what the run may spend to what a person has asked for with plimsoll raise, and answers.
func (x *process) raiseSpend(w admission.Wish) admission.Answer {
	a := admission.Answer{Number: w.Number}
	if x.meter == nil {
		a.Refused = "no proxy stands before its models, and nobody counts what it spends"
		return a
	}
	l := x.meter.Limits()
	from := map[string]float64{spend.LimitTokens: float64(l.Tokens), spend.LimitCost: l.Cost, spend.LimitQuota: l.Quota}[w.Limit]
	to, unit := w.To, spend.UnitOf(w.Limit)
	if w.By > 0 {
		to = from + w.By
	}
	switch {
	case from == 0:
		a.Refused = "it has no " + w.Limit + " that could be raised"
		return a
	case !(to > from): // also for no number
		a.Refused = fmt.Sprintf("its %s is %s already, and only grows", w.Limit, unit.Words(from))
		return a
	}
	switch w.Limit {
	case spend.LimitTokens:
		l.Tokens = int64(min(to, 1e15))
	case spend.LimitCost:
		l.Cost = to
	case spend.LimitQuota:
		to = min(to, 1)
		l.Quota = to
	}
	a.Words = fmt.Sprintf("%s: %s, before it was %s", w.Limit, unit.Words(to), unit.Words(from))
	x.meter.Raise(l)
	x.report.journal.Append(journal.LimitSet{Limit: journal.Limit{
		Name: w.Limit, Unit: unit.Unit, Soft: unit.Number(spend.SoftLine * to), Hard: unit.Number(to), EnforcedBy: string(sandbox.ByWatching),
	}})
	x.report.warn("spend", a.Words+" (plimsoll raise)")
	return a
}
