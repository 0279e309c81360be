package guard

import (
	"errors"
	"fmt"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/config/profile"
	"github.com/plimsoll/plimsoll/internal/process/estimate"
	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/internal/process/holder"
	"github.com/plimsoll/plimsoll/internal/process/sizing"
	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/admission"
)

// Options configure a [Guard]; the zero value uses the directories and rules of plimsoll without a configuration file.
type Options struct {
	// StateDir holds the history of peaks, RuntimeDir the ledger. "" means where plimsoll
	// keeps them for this user, so that runs of both count for each other.
	StateDir, RuntimeDir string
	// SharedDir is a directory made by an admin, through which the claims of other users are seen; "" for none. See
	// [admission.Options].Shared.
	SharedDir string
	// Keep is the number of runs kept per tool and project; 0 means 200.
	Keep int
	// InitialEstimates are the reservations, in bytes, for tools without a history. A tool that is not in it has that of its built-in
	// profile, else 500 MiB. Other names of a profile may be used: claude-code is claude.
	InitialEstimates map[string]limit.Bytes
	// MinFree is the memory that must stay free on the host, in bytes: 0 means 5 % of its memory, at least 256 MiB or an eighth where that is
	// less, and at most 2 GiB; below 0 nothing.
	MinFree limit.Bytes
	// CountSwap counts free swap as available.
	CountSwap bool
	// SlotsTotal bounds the runs of all tools at once; 0 sets no bound.
	SlotsTotal int
	// Warn receives what the user should know and what stops nothing; nil drops it.
	Warn func(text string)
}

// Guard decides about runs with one history and one ledger.
type Guard struct {
	options Options
	ledger  *admission.Ledger
	history *usage.History // nil when history is off
	// headroom reads the memory of the machine, which tests set.
	headroom func() (headroom.Reading, error)
	// Initial estimates of the caller and of the built-in profiles, by tool.
	initial, profiles map[string]limit.Bytes
}

// Open opens the ledger and the history, and makes their directories. Without a history it warns
// and goes on; without a ledger the error wraps an [*admission.UnavailableError].
func Open(o Options) (*Guard, error) {
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	g := &Guard{
		options: o, initial: map[string]limit.Bytes{}, profiles: map[string]limit.Bytes{},
		headroom: func() (headroom.Reading, error) { return headroom.Read(headroom.Source{}) },
	}
	for _, p := range profile.All() {
		g.profiles[p.Name] = p.InitialEstimate
	}
	for tool, size := range o.InitialEstimates {
		g.initial[config.CanonicalTool(tool)] = size
	}
	var err error
	if o.RuntimeDir == "" {
		if o.RuntimeDir, err = config.NewDirs(nil).EnsureRuntime(); err != nil {
			return nil, fmt.Errorf("guard: %w", &admission.UnavailableError{Dir: admission.NoDir, Err: err})
		}
	}
	g.ledger, err = admission.Open(admission.Options{
		Dir: o.RuntimeDir, Shared: o.SharedDir, Current: holder.Current, Reap: holder.Reap,
		Warn: func(w admission.Warning) { o.Warn(w.Text) },
	})
	if err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	if o.StateDir == "" {
		if o.StateDir, err = config.NewDirs(nil).EnsureState(); err != nil {
			o.Warn("history is off: " + err.Error())
			return g, nil
		}
	}
	g.history = usage.Open(o.StateDir, usage.Options{Keep: o.Keep, Warn: func(w usage.Warning) { o.Warn(w.Text) }})
	return g, nil
}

// Estimate returns the expected need of the next run of tool: by the tool's history in the project, else by its history in other projects,
// else the initial estimate. A project is given by a directory in it; "" means the working directory.
func (g *Guard) Estimate(tool, project string) Estimate {
	return g.EstimateVariant(tool, "", project)
}

// EstimateVariant returns the estimate for one variant of a generic tool ("test" of make test). A variant without a history of its own is
// estimated from the tool's other variants.
func (g *Guard) EstimateVariant(tool, variant, project string) Estimate {
	return newEstimate(g.sizeRun(config.Settings{MemoryMax: config.Auto}, tool, variant, findProject(project), sizing.Host{Err: errNotRead}).Estimate)
}

// errNotRead is [sizing.Host].Err where only the estimate is asked for, which does not depend on the host.
var errNotRead = errors.New("the host was not read")

// sizeRun calls [sizing.Decide] with the history and the initial estimates of this guard.
func (g *Guard) sizeRun(s config.Settings, tool, variant string, project usage.Project, host sizing.Host) sizing.Numbers {
	tool = config.CanonicalTool(tool)
	known := sizing.InputOf(g.history, project.Key, tool, variant, func(err error) {
		g.options.Warn("estimated without history: " + err.Error())
	})
	known.Profile = g.profiles[tool]
	s.InitialEstimate = g.initial[tool]
	n, _ := sizing.Decide(s, known, host) // its only error is an unknown estimator, and none is named
	return n
}

// findProject returns the project around a directory, the working directory for "".
func findProject(dir string) usage.Project {
	here := config.ProjectOf(dir)
	return usage.Project{Key: here.Key, Path: here.Root}
}

// Estimate is the expected need of a run.
type Estimate struct {
	Bytes limit.Bytes
	// Source names what it rests on: "history:project", "history:tool", "configured", "profile", "default" and the like.
	Source string
	// Samples is the number of earlier runs that it rests on; 0 without a history.
	Samples int
}

// newEstimate returns an estimate in the form of this package.
func newEstimate(e estimate.Estimate) Estimate {
	return Estimate{Bytes: e.Bytes, Source: e.Source, Samples: e.Samples}
}
