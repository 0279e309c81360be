package top

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/spend"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/admission"
)

// Raise implements [Controls].
func (l *Live) Raise(id string) (note string, err error) {
	if f := l.core.Fence(); f.Inside() {
		return "", fmt.Errorf("what is inside a run does not raise limits (%s)", f.Why)
	}
	h, err := l.claim(id)
	if err != nil {
		return "", err
	}
	r, err := l.Run(context.Background(), id)
	if err != nil {
		return "", err
	}
	w := wishFor(&r.Report)
	a, err := l.ledger.Ask(context.Background(), h.ID, w)
	switch {
	case err != nil:
		return "", err
	case a.Refused != "" && w.Limit != "":
		return "", errors.New(h.ID + " keeps its " + w.Limit + ": " + a.Refused)
	case a.Refused != "":
		return "", errors.New(h.ID + " keeps its memory limit: " + a.Refused)
	case a.Words != "":
		return joinWords(h.ID+": "+a.Words, a.Note), nil
	}
	return joinWords(fmt.Sprintf("%s may use %s, before it was %s", h.ID, a.To.Human(), a.From.Human()), a.Note), nil
}

// wishFor asks for half as much again of what a run may spend, where it stands at that limit and its requests are refused; else for a quarter more
// memory.
func wishFor(r *journal.Report) admission.Wish {
	for _, l := range r.Limits {
		if l.Reached != journal.LineHard {
			continue
		}
		half := float64(l.Hard) / 2
		switch l.Name {
		case spend.LimitTokens:
			return admission.Wish{Limit: l.Name, By: half}
		case spend.LimitCost:
			return admission.Wish{Limit: l.Name, By: half / 1e6}
		case spend.LimitQuota:
			return admission.Wish{Limit: l.Name, By: half / 100}
		}
	}
	now := limit.Bytes(r.LimitBytes)
	return admission.Wish{Memory: now + now/4}
}

// spentWords says what was spent: of each limit and budget that is set, else the cost; "" where nothing is known.
func (r *Row) spentWords() string {
	var parts []string
	for _, l := range r.Spent {
		words := runs.SpentWords(l)
		if isBudget(l) {
			words += " of all (" + l.Name + ")"
		}
		parts = append(parts, words)
	}
	switch {
	case len(parts) > 0:
		return "spent " + strings.Join(parts, ", ")
	case r.Cost != nil:
		return "cost " + limit.Dollars(*r.Cost)
	}
	return ""
}

// maySpendNoMore reports whether the requests of the run are refused because it has spent what it may. A budget may have begun anew since it was
// used up.
func (r *Row) maySpendNoMore() bool {
	return r.Live() && slices.ContainsFunc(r.Spent, func(l journal.Limit) bool { return l.Reached == journal.LineHard && !isBudget(l) })
}

func isBudget(l journal.Limit) bool { return strings.HasPrefix(l.Name, "budget.") }

// cost returns the cost to sort by: -1 where it is not known.
func (r *Row) cost() float64 {
	if r.Cost == nil {
		return -1
	}
	return *r.Cost
}
