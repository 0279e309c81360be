package run

import (
	"context"
	"fmt"
	"time"

	"github.com/plimsoll/plimsoll/internal/config"
	fleethistory "github.com/plimsoll/plimsoll/internal/fleet/history"
	"github.com/plimsoll/plimsoll/internal/process/estimate"
	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/limit"
)

const (
	// startWait bounds the wait of a start for the fleet: no run waits longer to know what others needed.
	startWait = 50 * time.Millisecond
	// askWait is the same for a command that only asks.
	askWait = 2 * time.Second
	// endWait bounds the wait of a run's end for the fleet. What it does not take meanwhile waits in the outbox for another run.
	endWait = 500 * time.Millisecond
)

// openHistory returns what the hosts of the fleet remember together; nil without a fleet.
func (a *app) openHistory(s config.Settings) (*fleethistory.History, error) {
	f, err := a.OpenFleet(s)
	if err != nil || f == nil {
		return nil, err
	}
	state, err := a.Dirs.State()
	if err != nil {
		return nil, err
	}
	return fleethistory.New(f, state), nil
}

// elsewhere returns the histories of other hosts for the estimate of p: what was imported, then the fleet's, for which it waits so long at
// most. What goes wrong is in p.fleetNote afterwards.
func (a *app) elsewhere(p *decision, wait time.Duration) (all []estimate.Elsewhere) {
	state, err := a.Dirs.State()
	if err != nil {
		return nil
	}
	all = append(all, estimate.Elsewhere{Source: estimate.SourceImport, Samples: func() (project, others []estimate.Sample) {
		imported := usage.OpenImported(state, usage.Options{Warn: func(w usage.Warning) { a.Warn(w.Text) }})
		return a.inputOfImported(imported, p)
	}})
	h, err := a.openHistory(p.Settings)
	if err != nil {
		p.fleetNote = "the fleet is not asked: " + err.Error()
	}
	if h == nil {
		return all
	}
	return append(all, estimate.Elsewhere{Source: estimate.SourceFleet, Samples: func() (project, others []estimate.Sample) {
		ctx, cancel := context.WithTimeout(context.Background(), wait)
		defer cancel()
		seen, err := h.Read(ctx, p.Project.Shared(), p.learnsAs(), p.Variant)
		switch {
		case err != nil:
			p.fleetNote = "what other hosts needed is not known, it goes by what this one knows: " + err.Error()
		case seen.LeftOut > 0:
			p.fleetNote = fmt.Sprintf("%s of the fleet about this tool cannot be, and are left out", limit.Count(seen.LeftOut, "value"))
		}
		p.seen = seen
		return estimate.FromRuns(seen.Project), estimate.FromRuns(seen.All)
	}})
}

func (a *app) inputOfImported(imported *usage.History, p *decision) (project, others []estimate.Sample) {
	off := func(err error) { a.Warn("nothing of the imported history is used: " + err.Error()) }
	here, err := imported.Variants(p.Project.Shared(), p.learnsAs())
	if err != nil {
		off(err)
	}
	project = estimate.FromRuns(here[p.Variant])
	runs, err := imported.ToolRuns(p.learnsAs())
	if err != nil {
		off(err)
	}
	for _, r := range runs {
		if s, ok := estimate.FromRun(r); ok && r.Variant == p.Variant {
			others = append(others, s)
		}
	}
	return project, others
}

// share gives what the run took to the fleet, with what other runs could not. With the fleet away it waits in the outbox.
func (x *process) share() {
	if x.recorded == nil {
		return
	}
	h, err := x.app.openHistory(x.decision.Settings)
	if h == nil && err == nil {
		return
	}
	if err == nil && fleethistory.Tells(*x.recorded) {
		err = h.Keep(usage.Observation{Project: x.decision.Project.Shared(), Tool: x.decision.learnsAs(), Run: *x.recorded})
	}
	if err != nil {
		x.report.warnFleet("other hosts do not learn from this run: " + err.Error())
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), endWait)
	defer cancel()
	if _, err := h.Deliver(ctx); err != nil {
		waiting, dropped, path, _ := h.Waiting()
		text := fmt.Sprintf("what %s took waits in %s until a run reaches the fleet", limit.Count(waiting, "run"), path)
		if dropped > 0 {
			text += fmt.Sprintf(" (%d older ones were dropped)", dropped)
		}
		x.report.warnFleet(text + ": " + err.Error())
	}
}

// warnFleet warns of the fleet's absence, once a run: all that is missing has one cause.
func (r *report) warnFleet(text string) {
	if !r.fleetTold {
		r.fleetTold = true
		r.warn("fleet", text)
	}
}
