package top

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/watch"
	"github.com/plimsoll/plimsoll/internal/spend"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// rowSet combines what several sources know of the same runs.
type rowSet struct {
	rows []*Row
	byID map[string]*Row
}

// newRowSet returns the rows of live runs, as they have written them. Gateways inside a run are added to its row.
func newRowSet(live []*runs.Run, now time.Time, price price) *rowSet {
	s := &rowSet{byID: map[string]*Row{}}
	for _, r := range live {
		row := rowOf(&r.Entry, now, price)
		row.SetNow(r, now)
		row.Spent = runs.SpendLimits(r.Report.Limits)
		s.add(&row)
	}
	// A gateway inside a run is a part of it. Two of one server are of two sessions: a request carries the definitions once.
	listed := map[[2]string]bool{}
	s.rows = slices.DeleteFunc(s.rows, func(r *Row) bool {
		outer := s.byID[r.Parent]
		if r.Kind != runs.KindGateway || outer == nil {
			return false
		}
		if r.LargestBytes > outer.LargestBytes {
			outer.LargestBytes, outer.LargestTool = r.LargestBytes, r.LargestTool
		}
		if server := [2]string{r.Parent, r.Tool}; !listed[server] && r.DefinitionTokens > 0 {
			listed[server] = true
			outer.DefinitionTokens += r.DefinitionTokens
			outer.DeferredTools += r.DeferredTools
		}
		delete(s.byID, r.ID)
		return true
	})
	return s
}

func (s *rowSet) add(r *Row) {
	s.rows = append(s.rows, r)
	s.byID[r.ID] = r
}

// addHolder sets in the row of a run what the ledger says of it, and returns the row. It adds a row if there is none, because the run has no
// file: its user keeps none, or it is somebody else's.
func (s *rowSet) addHolder(h admission.Holder, now time.Time) *Row {
	r := s.byID[h.ID]
	if r == nil {
		r = &Row{
			View: runs.View{
				ID: h.ID, Kind: runs.KindRun, Parent: h.Parent, Tool: h.Tool, Variant: h.Variant, Project: h.Project, State: runs.Running, Started: h.Since, CPUPercent: -1,
			},
			User: h.User, PID: h.Owner.PID, AgeMS: max(0, now.Sub(h.Since).Milliseconds()),
		}
		s.add(r)
	}
	r.ReservationBytes, r.Since, r.Forced = int64(h.Reservation), h.Since, h.Forced
	r.Parent = cmp.Or(r.Parent, h.Parent)
	switch h.State {
	case admission.Waiting:
		r.State = runs.Waiting
	case admission.Stale:
		r.State, r.Reason = Stale, cmp.Or(h.StaleWhy, "its plimsoll was killed; the next run cleans up, or plimsoll gc")
	case admission.Holding:
		if r.State == runs.Waiting { // the file says it a moment later
			r.State, r.Reason = runs.Running, ""
		}
	}
	return r
}

func (s *rowSet) list() []Row {
	list := make([]Row, len(s.rows))
	for i, r := range s.rows {
		list[i] = *r
	}
	return list
}

// readProcesses counts the processes and orphans of a run in its row, and with tree lists them. A run whose claim does not say where they
// are has none.
func readProcesses(r *Row, h admission.Holder, tree bool) {
	family, ok := watch.Family(h)
	if !ok {
		return
	}
	r.Processes = len(family)
	for _, m := range family {
		if m.Orphan {
			r.Orphans++
		}
	}
	if tree {
		r.Tree = treeOf(family)
	}
}

// treeOf returns the processes of a run, each below its parent. Those that are each other's parent are left out.
func treeOf(family []sandbox.Member) []Process {
	children := map[int][]sandbox.Member{}
	in := map[int]bool{}
	for _, m := range family {
		in[m.PID] = true
		children[m.Parent] = append(children[m.Parent], m)
	}
	list := make([]Process, 0, len(family))
	// Processes are read one by one: two that were born and died meanwhile could be each other's parent.
	shown := map[int]bool{}
	var show func(m sandbox.Member, depth int)
	show = func(m sandbox.Member, depth int) {
		if shown[m.PID] {
			return
		}
		shown[m.PID] = true
		p := Process{
			PID: m.PID, Parent: m.Parent, Depth: depth, Name: m.Name, Bytes: int64(m.Memory), CPUMS: -1,
			AgeMS: m.Age.Milliseconds(), Orphan: m.Orphan, Daemon: m.Daemon,
		}
		if m.State != 0 {
			p.State = string(rune(m.State))
		}
		if m.CPU >= 0 {
			p.CPUMS = m.CPU.Milliseconds()
		}
		list = append(list, p)
		for _, c := range children[m.PID] {
			show(c, depth+1)
		}
	}
	for _, m := range family {
		if !in[m.Parent] {
			show(m, 0)
		}
	}
	return list
}

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

// wishFor returns a wish for half as much again of the spending limit that the run has reached; if it has reached none, for a quarter more memory.
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
		words := runs.FormatSpent(l)
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
