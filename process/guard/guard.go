package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/config/profile"
	"github.com/plimsoll/plimsoll/internal/process/estimate"
	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// Options configure a [Guard]; the zero value uses the directories and rules of plimsoll without a configuration file.
type Options struct {
	// StateDir holds the history of peaks, RuntimeDir the ledger. "" means where plimsoll
	// keeps them for this user, so that runs of both count for each other.
	StateDir, RuntimeDir string
	// SharedDir is a directory made by an admin, through which the claims of other users are seen; "" for none. See
	// [admission.Options].Shared.
	SharedDir string
	// Keep is the number of runs kept per tool and project (usage.KeptRuns).
	Keep int
	// InitialEstimates are the reservations, in bytes, for tools without a history. A tool that is not in it has that of its built-in
	// profile, else [estimate.FirstGuess]. Other names of a profile may be used: claude-code is claude.
	InitialEstimates map[string]limit.Bytes
	// MinFree is the memory that must stay free on the host, in bytes: 0 means [headroom.MinFree] of its
	// memory, below 0 nothing.
	MinFree limit.Bytes
	// CountSwap counts free swap as available.
	CountSwap bool
	// SlotsTotal bounds the runs of all tools at once; 0 sets no bound.
	SlotsTotal int
	// Headroom reads the available memory; nil means this machine's.
	Headroom func() (headroom.Reading, error)
	// Warn receives what the user should know and what stops nothing; nil drops it.
	Warn func(text string)
}

// Guard decides about runs with one history and one ledger.
type Guard struct {
	options Options
	ledger  *admission.Ledger
	history *usage.History // nil when history is off
	// Initial estimates of the caller and of the built-in profiles, by tool.
	initial, profiles map[string]limit.Bytes
}

// Open opens the ledger and the history, and makes their directories. Without a history it warns
// and goes on; without a ledger the error wraps an [*admission.UnavailableError].
func Open(o Options) (*Guard, error) {
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	if o.Headroom == nil {
		o.Headroom = func() (headroom.Reading, error) { return headroom.Read(headroom.Source{}) }
	}
	g := &Guard{options: o, initial: map[string]limit.Bytes{}, profiles: map[string]limit.Bytes{}}
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
		Dir: o.RuntimeDir, Shared: o.SharedDir, Current: Current, Reap: Reap,
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
// else the initial estimate. The zero project is that of the working directory.
func (g *Guard) Estimate(tool string, project usage.Project) estimate.Estimate {
	return g.EstimateVariant(tool, "", project)
}

// EstimateVariant returns the estimate for one variant of a generic tool ("test" of make test). A variant without a history of its own is
// estimated from the tool's other variants.
func (g *Guard) EstimateVariant(tool, variant string, project usage.Project) estimate.Estimate {
	return g.decide(config.Settings{MemoryMax: config.Auto}, tool, variant, projectOf(project), Host{Err: errNotRead}).Estimate
}

// errNotRead is [Host].Err where only the estimate is asked for, which does not depend on the host.
var errNotRead = errors.New("the host was not read")

// decide calls [Decide] with the history and the initial estimates of this guard.
func (g *Guard) decide(s config.Settings, tool, variant string, project usage.Project, host Host) Numbers {
	tool = config.CanonicalTool(tool)
	known := InputOf(g.history, project.Key, tool, variant, func(err error) {
		g.options.Warn("estimated without history: " + err.Error())
	})
	known.Profile = g.profiles[tool]
	s.InitialEstimate = g.initial[tool]
	n, _ := Decide(s, known, host) // its only error is an unknown estimator, and none is named
	return n
}

// projectOf returns p, or the project of the working directory when p is zero.
func projectOf(p usage.Project) usage.Project {
	if p.Key != "" {
		return p
	}
	here := config.ProjectOf("")
	return usage.Project{Key: here.Key, Path: here.Root}
}

// Current returns how much memory the run of a claim uses now, in bytes, as its control group shows it; 0 when it has none. It is for
// [admission.Options].Current.
func Current(h admission.Holder) limit.Bytes {
	remains, ok := Remains(h)
	if !ok {
		return 0
	}
	used, _ := sandbox.Current(remains)
	return used
}

// ReapGrace is the time that processes of a dead supervisor's run get between SIGTERM and SIGKILL.
const ReapGrace = 2 * time.Second

// Reap ends and removes what a dead supervisor has left behind, see [sandbox.Remove]. A claim that recorded nothing is no error. It is for
// [admission.Options].Reap.
func Reap(h admission.Holder) error {
	if len(h.Remains) == 0 {
		return nil
	}
	remains, ok := Remains(h)
	if !ok {
		return fmt.Errorf("what the claim %s says about its run is unreadable", h.ID)
	}
	return sandbox.Remove(remains, ReapGrace)
}

// Remains returns what the claim of a run has recorded for its clean-up; ok is false when that is missing or unreadable.
func Remains(h admission.Holder) (r sandbox.Remains, ok bool) {
	if len(h.Remains) == 0 || json.Unmarshal(h.Remains, &r) != nil {
		return sandbox.Remains{}, false
	}
	return r, true
}
