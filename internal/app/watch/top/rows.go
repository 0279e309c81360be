package top

import (
	"cmp"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/holder"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
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

// row returns the row of a run in the ledger, which may have no file: its user keeps none, or it is somebody else's.
func (s *rowSet) row(h admission.Holder, now time.Time) *Row {
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
	if h.User != "" || h.State == admission.Waiting {
		return
	}
	remains, ok := holder.Remains(h)
	if !ok {
		return
	}
	supervisor := h.Owner.PID
	if h.State == admission.Stale {
		supervisor = 0
	}
	family, err := sandbox.Family(remains, supervisor)
	if err != nil {
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

// treeOf returns the processes of a run, each below its parent.
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
