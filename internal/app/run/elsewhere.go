package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/fleet"
	fleethistory "github.com/plimsoll/plimsoll/internal/fleet/history"
	"github.com/plimsoll/plimsoll/internal/process/estimate"
	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/limit"
)

const (
	// startWait bounds the wait of a start for the fleet: with what else the asking costs it is less than 50 ms.
	startWait = 30 * time.Millisecond
	// askWait is the same for a command that only asks.
	askWait = 2 * time.Second
	// endWait bounds the wait of a run's end for the fleet. What it does not take meanwhile waits in the outbox for another run.
	endWait = 500 * time.Millisecond
)

// openFleetHistory returns the history that the hosts of the fleet share; nil, nil without a fleet.
func (a *app) openFleetHistory(s config.Settings) (*fleethistory.History, error) {
	f := a.OpenFleet(s)
	if f == nil {
		return nil, nil
	}
	state, err := a.Dirs.State()
	return fleethistory.New(f, state), err
}

// askFleet returns what the fleet knows of earlier runs of p's tool. It waits at most wait. Without a fleet it returns the zero value.
func (a *app) askFleet(ctx context.Context, p *decision, wait time.Duration) (seen fleethistory.Observed, err error) {
	h, err := a.openFleetHistory(p.Settings)
	if h == nil || err != nil {
		return seen, err
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return h.Read(ctx, p.Project.Shared(), p.learnsAs(), p.Variant)
}

// otherHistories returns the histories of other hosts for the estimate of p: the imported one, then the fleet's, which is only asked if the
// estimate needs it, for at most wait. If that fails, the reason is in p.fleetNote afterwards.
func (a *app) otherHistories(p *decision, wait time.Duration) []estimate.Elsewhere {
	state, err := a.Dirs.State()
	if err != nil {
		return nil
	}
	imported := func() (project, others []estimate.Sample) {
		h := usage.OpenImported(state, usage.Options{Warn: func(w usage.Warning) { a.Warn(w.Text) }})
		here, err := h.Variants(p.Project.Shared(), p.learnsAs())
		all, allErr := h.ToolRuns(p.learnsAs())
		if err = errors.Join(err, allErr); err != nil {
			a.Warn("nothing of the imported history is used: " + err.Error())
		}
		all = slices.DeleteFunc(all, func(r usage.Run) bool { return r.Variant != p.Variant })
		return estimate.FromRuns(here[p.Variant]), estimate.FromRuns(all)
	}
	fleets := func() (project, others []estimate.Sample) {
		p.seen, err = a.askFleet(context.Background(), p, wait)
		switch {
		case err != nil:
			p.fleetNote = "what other hosts needed is not known, it goes by what this one knows: " + err.Error()
		case p.seen.LeftOut > 0:
			p.fleetNote = fmt.Sprintf("%s of the fleet about this tool cannot be, and are left out", limit.Count(p.seen.LeftOut, "value"))
		}
		return estimate.FromRuns(p.seen.Project), estimate.FromRuns(p.seen.All)
	}
	return []estimate.Elsewhere{{Source: estimate.SourceImport, Samples: imported}, {Source: estimate.SourceFleet, Samples: fleets}}
}

// Elsewhere returns what the fleet has seen of a command's tool: in the project of the working directory, and in all, whose key is "". Without a
// fleet it is nothing.
func Elsewhere(ctx context.Context, c *core.Core, command ...string) (list []usage.Summary, err error) {
	a := &app{c}
	p := &decision{Project: config.ProjectOf("")}
	if err := a.resolveTool(p, "", command); err != nil {
		return nil, err
	}
	seen, err := a.askFleet(ctx, p, askWait)
	if err != nil {
		return nil, err
	}
	here := usage.Project{Key: p.Project.Shared(), Path: p.Project.Root}
	for _, s := range []usage.Summary{{Project: here, Runs: seen.Project}, {Runs: seen.All}} {
		if s.Tool, s.Variant, s.Recorded = p.learnsAs(), p.Variant, int64(len(s.Runs)); s.Recorded == 0 {
			continue
		}
		for _, r := range s.Runs {
			s.OOMKills += int64(r.OOMKills)
		}
		list = append(list, s)
	}
	return list, nil
}

// FleetState says whether the fleet answers, and what waits for it here.
type FleetState struct {
	URL string `json:"url"`
	// Why says why it does not answer, "" where it does.
	Why string `json:"why,omitempty"`
	fleet.Status
	// Waiting counts the runs of this host of which the fleet does not know yet, Dropped those that made room for newer ones.
	Waiting int `json:"waiting"`
	Dropped int `json:"dropped"`
}

// fleetState asks the fleet's server for its state; nil without a fleet. If it does not answer, the reason is in Why.
func fleetState(ctx context.Context, c *core.Core, s config.Settings) *FleetState {
	if s.Fleet.URL == "" {
		return nil
	}
	state := &FleetState{URL: s.Fleet.URL}
	f := fleet.New(fleet.Options{URL: s.Fleet.URL, Credentials: s.Fleet.Credentials}) // it asks, whatever runs have told each other
	defer f.Close()
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	var err error
	if state.Status, err = f.Bucket(fleet.History).Status(ctx); err != nil {
		state.Why = err.Error()
	}
	if dir, err := c.Dirs.State(); err == nil {
		state.Waiting, state.Dropped, _, _ = fleethistory.New(f, dir).Waiting()
	}
	return state
}

// words tells whether the fleet answers, and how many runs here it does not know of.
func (s *FleetState) words() string {
	said := fmt.Sprintf("The fleet at %s answers: nats-server %s, %s, its history is kept %s.", s.URL, s.Server, limit.Count(s.Servers, "server"), limit.Count(s.Replicas, "time"))
	if s.Why != "" {
		said = fmt.Sprintf("Runs go on without their fleet: %s.", s.Why)
	}
	if s.Waiting > 0 {
		said += fmt.Sprintf(" It does not know of %s here yet, and learns of them with the next.", limit.Count(s.Waiting, "run"))
	}
	if s.Dropped > 0 {
		said += fmt.Sprintf(" %s made room for newer ones and will not be known to it.", limit.Count(s.Dropped, "run"))
	}
	return said
}

// shareHistory sends what the run used to the fleet's history, and what earlier runs could not send. If the fleet does not answer, it waits in a
// queue on disk for the next run. It does nothing for a run that recordHistory has left out.
func (x *process) shareHistory() {
	if x.recorded == nil {
		return
	}
	h, err := x.app.openFleetHistory(x.decision.Settings)
	if h == nil && err == nil {
		return
	}
	if err == nil && fleethistory.IsUseful(*x.recorded) {
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
