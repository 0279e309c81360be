package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/run"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/process/estimate"
	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/internal/process/sizing"
	"github.com/plimsoll/plimsoll/internal/process/usage"
)

// StatsOptions select what [Stats] looks at.
type StatsOptions struct {
	// Tool keeps to one tool; "" means every one.
	Tool string
	// Project is the directory or the key of a project; "" means the one of the working
	// directory, and every one when that has no history.
	Project string
	// All means every project.
	All bool
}

// Stat is the history of one tool in one project, as `stats --json` prints it. Sizes are bytes.
type Stat struct {
	Tool string `json:"tool"`
	// Variant names the use of a generic tool, "" for all that has none.
	Variant string `json:"variant"`
	// Project is the project's name, as in the run report; ProjectKey tells two of one
	// name apart, and Path is the directory.
	Project    string `json:"project"`
	ProjectKey string `json:"project_key"`
	Path       string `json:"path"`
	// Recorded counts every run ever recorded, Samples those that are kept.
	Recorded int64 `json:"recorded"`
	Samples  int   `json:"samples"`
	// P95Bytes and MaxBytes are over the demand of the kept runs that show one: the 95th
	// percentile of the last 20 and the largest.
	P95Bytes int64 `json:"p95_bytes"`
	MaxBytes int64 `json:"max_bytes"`
	// EstimateBytes is the memory that the next run will be expected to need, and Source the source of that figure.
	EstimateBytes int64  `json:"estimate_bytes"`
	Source        string `json:"source"`
	OOMKills      int64  `json:"oom_kills"`
	// LimitBytes is the memory limit that the next run will get, and ReservationBytes the memory that admission will set aside for it.
	LimitBytes       int64 `json:"limit_bytes"`
	ReservationBytes int64 `json:"reservation_bytes"`
	// Spend has the use of models by its runs; nil for none.
	Spend *usage.Spend `json:"spend,omitempty"`
	// From is "import" or "fleet" for what other hosts have seen, else "". There a project is known by a hash only, and "" is all projects.
	From string `json:"from,omitempty"`
}

// Stats lists the history, and what was imported for the same projects. What is wrong with single files is told as a warning.
func Stats(ctx context.Context, c *core.Core, o StatsOptions) ([]Stat, error) {
	stats := []Stat{}
	var host sizing.Host
	host.Reading, host.Err = headroom.Read(headroom.Source{})
	err := eachSummary(ctx, c, o, func(s usage.Summary, from string) error {
		row, err := stat(c, s, from, host)
		stats = append(stats, row)
		return err
	})
	if err != nil {
		return nil, err
	}
	return stats, nil
}

// The histories of other hosts, for [Stat].From.
const (
	fromImport = "import"
	fromFleet  = "fleet"
)

// stat returns the row of one history.
func stat(c *core.Core, s usage.Summary, from string, host sizing.Host) (Stat, error) {
	settings, err := c.Config.For(s.Tool)
	if err != nil {
		return Stat{}, err
	}
	samples := estimate.FromRuns(s.Runs)
	known := estimate.Input{Project: samples}
	if from != "" {
		known = estimate.Input{Elsewhere: []estimate.Elsewhere{{Source: "history:" + from, Samples: func() (_, all []estimate.Sample) { return nil, samples }}}}
	}
	next, err := sizing.Decide(settings, known, host)
	if err != nil {
		return Stat{}, err
	}
	baseline, err := estimate.ByName(estimate.Baseline)
	if err != nil {
		return Stat{}, err
	}
	row := Stat{
		Tool: s.Tool, Variant: s.Variant, Project: projectName(s.Project), ProjectKey: s.Project.Key, Path: s.Project.Path,
		Recorded: s.Recorded, Samples: len(s.Runs), OOMKills: s.OOMKills, From: from,
		P95Bytes: int64(baseline.Bytes(samples)), EstimateBytes: int64(next.Estimate.Bytes), Source: next.Estimate.Source,
		LimitBytes: int64(next.Memory), ReservationBytes: int64(next.Reservation), Spend: usage.SummarizeSpend(s.Runs),
	}
	for _, sample := range samples {
		row.MaxBytes = max(row.MaxBytes, int64(sample.Demand))
	}
	return row, nil
}

// StatsOf lists the history of a command's tool, and says what the next run of the command in the project of the working directory will be given.
// Where o is about this project the list has a row for it, also without any history. What the fleet has seen comes last. A command of several
// words (make test) keeps to one use of a generic tool.
func StatsOf(ctx context.Context, c *core.Core, o StatsOptions, command ...string) ([]Stat, run.Prediction, error) {
	next, err := run.Predict(c, command...)
	if err != nil {
		return nil, next, err
	}
	o.Tool = command[0]
	all, err := Stats(ctx, c, o)
	if err != nil {
		return nil, next, err
	}
	here := config.ProjectOf("")
	stats, found := []Stat{}, o.All || o.Project != ""
	for _, s := range all {
		if len(command) > 1 && s.Variant != next.Variant {
			continue
		}
		if !o.All && s.From == "" && s.ProjectKey == here.Key && s.Variant == next.Variant {
			s.expect(next) // it goes by other projects too, and by the settings of this one
			found = true
		}
		stats = append(stats, s)
	}
	if !found {
		s := Stat{Tool: next.Tool, Variant: next.Variant, Project: next.Project, ProjectKey: here.Key, Path: here.Root}
		s.expect(next)
		stats = append(stats, s)
	}
	if o.Project != "" {
		return stats, next, nil
	}
	seen, err := run.Elsewhere(ctx, c, command...)
	if err != nil {
		c.Warn("what the fleet has seen is not known: " + err.Error())
	}
	var host sizing.Host
	host.Reading, host.Err = headroom.Read(headroom.Source{})
	for _, s := range seen {
		row, err := stat(c, s, fromFleet, host)
		if err != nil {
			return nil, next, err
		}
		stats = append(stats, row)
	}
	return stats, next, nil
}

func (s *Stat) expect(next run.Prediction) {
	s.EstimateBytes, s.Source, s.LimitBytes, s.ReservationBytes = next.EstimateBytes, next.Source, next.LimitBytes, next.ReservationBytes
}

// eachSummary calls visit with the part of the history that o selects, and with what was imported for the same projects. If nothing is selected by
// the working directory, that is the whole history of this host. It makes no directory: who only looks leaves nothing behind.
func eachSummary(ctx context.Context, c *core.Core, o StatsOptions, visit func(s usage.Summary, from string) error) error {
	histories, err := histories(c)
	if err != nil {
		return err
	}
	tool, here, found := "", config.ProjectOf(""), false
	if o.Tool != "" {
		tool = c.Config.Tool([]string{o.Tool}).Tool
	}
	take := func(s usage.Summary, from string) error {
		if tool != "" && s.Tool != tool {
			return nil
		}
		if from != "" && s.Project.Key == here.Shared() {
			s.Project.Path = here.Root
		}
		found = true
		return visit(s, from)
	}
	some := func(list []usage.Summary, from string) error {
		for _, s := range list {
			if err := take(s, from); err != nil {
				return err
			}
		}
		return nil
	}
	all := func(h *usage.History, from string) error {
		for s, err := range h.Summaries() {
			if err = errors.Join(err, ctx.Err()); err == nil {
				err = take(s, from)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	if o.All {
		if err := all(histories[0], ""); err != nil {
			return err
		}
		return all(histories[1], fromImport)
	}
	list, err := projectSummaries(c, histories[0], o.Project)
	if err == nil {
		err = some(list, "")
	}
	if err == nil && !found && o.Project == "" {
		err = all(histories[0], "")
	}
	if err != nil {
		return err
	}
	if list, err = histories[1].Project(config.ProjectOf(o.Project).Shared()); err != nil {
		return err
	}
	return some(list, fromImport)
}

// projectSummaries returns the histories of a project. If project is a directory or "", the working directory, it is the project of that
// directory; else it is a project's key. An unknown project has none; a text that can be no key is an error.
func projectSummaries(c *core.Core, history *usage.History, project string) ([]usage.Summary, error) {
	if project != "" {
		if info, err := os.Stat(project); err != nil || !info.IsDir() {
			list, err := history.Project(project)
			if errors.Is(err, usage.ErrInvalid) {
				return nil, fmt.Errorf("--project %q is neither a directory nor a project's key; `plimsoll stats --all` lists the keys", project)
			}
			return list, err
		}
	}
	return history.Project(config.ProjectOf(project).Key)
}

// projectName returns the last element of the path of a project, its key if the path is not known.
func projectName(p usage.Project) string {
	if p.Path == "" {
		return p.Key
	}
	return filepath.Base(p.Path)
}

// Forgotten is a tool's history in one project that was removed, or would be.
type Forgotten struct {
	Tool       string `json:"tool"`
	ProjectKey string `json:"project_key"`
	Path       string `json:"path"`
	// Runs counts the runs that were kept, of all variants.
	Runs int `json:"runs"`
	// From is "import" for what was imported, else "".
	From string `json:"from,omitempty"`
}

// Forgettable lists what [Forget] would remove of o.Tool: in o.Project, or in every project if that is "". It removes nothing.
func Forgettable(ctx context.Context, c *core.Core, o StatsOptions) ([]Forgotten, error) {
	if o.Tool == "" {
		return nil, errors.New("--forget needs the name of a tool; plimsoll stats --all lists them")
	}
	o.All = o.Project == ""
	list := []Forgotten{}
	err := eachSummary(ctx, c, o, func(s usage.Summary, from string) error {
		at := slices.IndexFunc(list, func(f Forgotten) bool { return f.Tool == s.Tool && f.ProjectKey == s.Project.Key && f.From == from })
		if at < 0 {
			list = append(list, Forgotten{Tool: s.Tool, ProjectKey: s.Project.Key, Path: s.Project.Path, From: from})
			at = len(list) - 1
		}
		list[at].Runs += len(s.Runs)
		return nil
	})
	return list, err
}

// Forget removes the histories that [Forgettable] listed and returns those it removed, also with an error; what a run has added in between goes
// with them.
func Forget(ctx context.Context, c *core.Core, list []Forgotten) ([]Forgotten, error) {
	histories, err := histories(c)
	if err != nil {
		return nil, err
	}
	gone := []Forgotten{}
	for _, f := range list {
		if ctx.Err() != nil {
			return gone, ctx.Err()
		}
		history := histories[0]
		if f.From == fromImport {
			history = histories[1]
		}
		if f.Runs, err = history.Forget(f.ProjectKey, f.Tool); err != nil {
			return gone, err
		}
		if f.Runs > 0 {
			gone = append(gone, f)
		}
	}
	return gone, nil
}
