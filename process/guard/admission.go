package guard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/process/sizing"
	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// Request describes a run that wants to start.
type Request struct {
	// Tool names the program that runs: it selects history, estimate and slots. Required.
	Tool string
	// Variant names the use of a generic tool ("test" of make test), which has a history and an estimate of its own; "" for none. It is
	// stored, so it must hold no secret.
	Variant string
	// Project is a directory of the project whose history is used; "" means the working directory. The project is the repository around it.
	Project string
	// Reservation is the memory to set aside, in bytes; 0 means the estimate.
	Reservation limit.Bytes
	// Slots bounds the runs of Tool at once; 0 sets no bound.
	Slots int
	// Wait bounds the time in the queue for memory and slots: 0 does not wait, [admission.Forever] waits without an end. Check does not
	// wait.
	Wait time.Duration
	// Force admits the run whatever the sum and the slots say; the ledger records it.
	Force bool
	// Progress is called with the place of a waiting run; it may be nil.
	Progress func(admission.Progress)
}

// Decision reports whether a run would be admitted now, and why.
type Decision struct {
	Admitted bool
	// Refused says what is missing when it is not admitted; else it is nil.
	Refused *admission.Refused
	// Estimate is the expected need of the run, with its source.
	Estimate Estimate
	// Terms are all terms of the sum.
	Terms admission.Terms
}

// Check reports whether the run would be admitted now, and makes no claim. The error means that there is no answer: it is an
// [*admission.UnavailableError], wraps [admission.ErrRequest], or is the cause of ctx.
func (g *Guard) Check(ctx context.Context, r Request) (Decision, error) {
	ask, d := g.makeRequest(r)
	var err error
	d.Terms, err = g.ledger.Preview(ctx, ask)
	if refused, ok := errors.AsType[*admission.Refused](err); ok {
		d.Refused = refused
		return d, nil
	}
	d.Admitted = err == nil
	return d, err
}

// Admit sets memory and a slot aside, waiting as the request says. A run inside another one (PLIMSOLL_RUN_ID is set) draws on that one's
// reservation and takes no slot. The error is an [*admission.Refused], an [*admission.UnavailableError], wraps [admission.ErrRequest], or
// is the cause of ctx, and then nothing is held. The admission must be released.
func (g *Guard) Admit(ctx context.Context, r Request) (*Admission, error) {
	ask, d := g.makeRequest(r)
	claim, err := g.ledger.Acquire(ctx, ask)
	if err != nil {
		return nil, err
	}
	return &Admission{guard: g, claim: claim, tool: ask.Tool, variant: r.Variant, project: findProject(r.Project), estimate: d.Estimate}, nil
}

// makeRequest returns the request for admission, which [sizing.Decide] makes as for plimsoll run, with the caller's request in place of a
// configuration. The decision has the estimate already.
func (g *Guard) makeRequest(r Request) (admission.Request, Decision) {
	project := findProject(r.Project)
	s := config.Settings{
		MemoryMax: config.Auto, MinFree: g.options.MinFree, CountSwap: g.options.CountSwap,
		MaxConcurrent: r.Slots, MaxConcurrentTotal: g.options.SlotsTotal, Wait: r.Wait,
	}
	switch {
	case g.options.MinFree == 0:
		s.MinFree = config.Auto
	case g.options.MinFree < 0:
		s.MinFree = 0
	}
	var host sizing.Host
	host.Reading, host.Err = g.headroom()
	n := g.sizeRun(s, r.Tool, r.Variant, project, host)
	if r.Reservation != 0 {
		n.Reservation = r.Reservation
	}
	name := project.Key
	if project.Path != "" {
		name = filepath.Base(project.Path)
	}
	ask := n.Request(s)
	ask.Yields = ask.Yields && r.Reservation == 0
	ask.Tool, ask.Variant, ask.Project, ask.Parent = config.CanonicalTool(r.Tool), r.Variant, name, os.Getenv(sandbox.CookieName)
	ask.Force, ask.Headroom, ask.Progress = r.Force, g.headroom, r.Progress
	return ask, Decision{Estimate: newEstimate(n.Estimate)}
}

// Admission holds memory and a slot for one run, until Release or until this process ends. It is safe for concurrent use.
type Admission struct {
	guard    *Guard
	claim    *admission.Claim
	tool     string
	variant  string
	project  usage.Project
	estimate Estimate
}

// ID returns the run's ID, for [sandbox.Spec].ID and for PLIMSOLL_RUN_ID in the environment of the programs that are started: a run inside
// finds its reservation by it.
func (a *Admission) ID() string { return a.claim.ID() }

// Estimate returns the need that was expected of the run.
func (a *Admission) Estimate() Estimate { return a.estimate }

// Terms returns the terms of the sum at the moment of admission.
func (a *Admission) Terms() admission.Terms { return a.claim.Terms() }

// Nested reports whether the run is inside another one and draws on its reservation; it is for
// [sandbox.Spec].Nested.
func (a *Admission) Nested() bool {
	_, nested := a.claim.Parent()
	return nested
}

// Remember stores what must be removed should this process die; it is for [sandbox.Spec].Remember.
func (a *Admission) Remember(r sandbox.Remains) error { return a.claim.Record(r) }

// Observe publishes how much memory the run uses now, in bytes, for admissions after it. Only a run without a control group needs it.
func (a *Admission) Observe(current limit.Bytes) error { return a.claim.Observe(current) }

// Record adds a run that had the given memory limit, in bytes, to the history, from which later runs are estimated. A program that does not
// use package sandbox fills in what it has measured: Peak, Started and Duration, and how the run ended. The error says why it was not
// recorded; a caller may well go on.
func (a *Admission) Record(result sandbox.Result, memory limit.Bytes) error {
	if a.guard.history == nil {
		return errors.New("guard: history is off: there is no state directory")
	}
	r := sizing.RunOf(result, memory)
	r.Variant = a.variant
	if err := a.guard.history.Append(a.project, a.tool, r); err != nil {
		return fmt.Errorf("guard: the run was not recorded: %w", err)
	}
	return nil
}

// Release frees the memory and the slot. Call it when all of the run's processes have ended;
// further calls do nothing.
func (a *Admission) Release() error { return a.claim.Release() }
