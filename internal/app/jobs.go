package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/plimsoll/plimsoll/internal/app/submit"
	"github.com/plimsoll/plimsoll/internal/jobs"
)

// What plimsoll submit takes and gives; each is described in [submit].
type (
	SubmitOptions = submit.Options
	SubmitPlan    = submit.Plan
	JobRecord     = jobs.Record
)

// SubmitEngines lists the names of all engines.
var SubmitEngines = submit.Names

// PlanSubmit returns what would be handed over.
func (a *App) PlanSubmit(o SubmitOptions) (*SubmitPlan, error) { return submit.Decide(a.Core, o) }

// Submit hands a job over, and with o.Attended stays until it has ended and returns its status. here is true for a command that the caller is to
// run itself: the queue of this host, attended, is `plimsoll run --wait`.
func (a *App) Submit(ctx context.Context, p *SubmitPlan, o SubmitOptions, out, errs io.Writer) (status int, here bool, err error) {
	if o.Attended && p.Engine == submit.Local {
		for _, e := range o.Env {
			if name, value, given := strings.Cut(e, "="); given {
				_ = os.Setenv(name, value)
			}
		}
		return 0, true, nil
	}
	if err := submit.Submit(ctx, a.Core, p); err != nil || !o.Attended {
		return 0, false, err
	}
	return submit.Attend(ctx, a.Core, p, out, errs, func(text string) { fmt.Fprintln(errs, "plimsoll: "+Printable(text)) }), false, nil
}

// Cancel ends a job and returns what was known of it before.
func (a *App) Cancel(ctx context.Context, name string) (JobRecord, error) {
	return submit.Cancel(ctx, a.Core, name)
}

// LivingJobs returns the names of jobs that have not ended, for shell completion.
func (a *App) LivingJobs() []string { return submit.Living(a.Core) }

// RecommendOptions and Recommendation are those of `plimsoll recommend`.
type (
	RecommendOptions = submit.RecommendOptions
	Recommendation   = submit.Recommendation
)

// Recommend lists what runs in a cluster under plimsoll, with what its tools have shown to need.
func (a *App) Recommend(ctx context.Context, o RecommendOptions) ([]Recommendation, error) {
	return submit.Recommend(ctx, a.Core, o)
}

// YAML returns a value as a document of YAML.
func YAML(v any) (string, error) {
	var b strings.Builder
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err := e.Encode(v)
	return b.String(), err
}
