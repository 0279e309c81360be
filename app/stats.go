package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/plimsoll/plimsoll/config"
	"github.com/plimsoll/plimsoll/process/estimate"
	"github.com/plimsoll/plimsoll/process/guard"
	"github.com/plimsoll/plimsoll/process/usage"
)

// StatsOptions select what [App.Stats] and [App.Backtest] look at.
type StatsOptions struct {
	// Tool keeps to one tool; "" means every one.
	Tool string
	// Project is the directory or the key of a project; "" means the one of the working
	// directory, and every one when that has no history.
	Project string
	// All means every project.
	All bool
	// Traces are Nextflow traces for Backtest to replay in place of the history.
	Traces []string
}

// Stat is the history of one tool in one project, as `stats --json` prints it. Sizes are
// bytes.
type Stat struct {
	Tool string `json:"tool"`
	// Variant is which of a generic tool's uses it is, "" for all that has none.
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
	// EstimateBytes is what the next run will be expected to need, and EstimateSource
	// where that comes from.
	EstimateBytes  int64  `json:"estimate_bytes"`
	EstimateSource string `json:"estimate_source"`
	OOMKills       int64  `json:"oom_kills"`
}

// Stats lists the history. What is wrong with single files is told as a warning.
func (a *App) Stats(ctx context.Context, o StatsOptions) ([]Stat, error) {
	stats := []Stat{}
	err := a.eachSummary(ctx, o, func(s usage.Summary) error {
		settings, err := a.Config.For(s.Tool)
		if err != nil {
			return err
		}
		samples := estimate.FromRuns(s.Runs)
		next, err := guard.WithSettings(estimate.Input{Project: samples}, settings).Estimate()
		if err != nil {
			return err
		}
		baseline, err := estimate.ByName(estimate.Baseline)
		if err != nil {
			return err
		}
		row := Stat{
			Tool: s.Tool, Variant: s.Variant, Project: projectName(s.Project), ProjectKey: s.Project.Key, Path: s.Project.Path,
			Recorded: s.Recorded, Samples: len(s.Runs), OOMKills: s.OOMKills,
			P95Bytes: int64(baseline.Bytes(samples)), EstimateBytes: int64(next.Bytes), EstimateSource: next.Source,
		}
		for _, sample := range samples {
			row.MaxBytes = max(row.MaxBytes, int64(sample.Demand))
		}
		stats = append(stats, row)
		return nil
	})
	return stats, err
}

// BacktestRow is the score of one estimator on one workflow, as `stats --backtest --json`
// prints it. An empty workflow is all of them together.
type BacktestRow struct {
	Workflow  string `json:"workflow"`
	Estimator string `json:"estimator"`
	// Tasks were estimated and counted. First had no history yet, and what Censored needed
	// nobody knows: neither is counted.
	Tasks    int `json:"tasks"`
	First    int `json:"first"`
	Censored int `json:"censored"`
	// Under is how many tasks were reserved too little, UnderPercent their share.
	Under        int     `json:"under_reserved"`
	UnderPercent float64 `json:"under_reserved_percent"`
	// WasteRatio is what was reserved in vain over what was used.
	WasteRatio float64 `json:"waste_ratio"`
	UsedGBh    float64 `json:"used_gbh"`
}

// Backtest replays the history, or traces when there are any, with every estimator: first
// the rows over all workflows, then each workflow's, the worst first. Without anything to
// replay there are no rows.
func (a *App) Backtest(ctx context.Context, o StatsOptions) ([]BacktestRow, error) {
	workflows, err := a.workflows(ctx, o)
	rows := []BacktestRow{}
	if err != nil || len(workflows) == 0 {
		return rows, err
	}
	for _, r := range estimate.Backtest(workflows, estimate.Estimators()) {
		rows = append(rows, BacktestRow{
			Workflow: r.Workflow, Estimator: r.Estimator, Tasks: r.Tasks, First: r.First, Censored: r.Censored,
			Under: r.Under, UnderPercent: r.UnderPercent(), WasteRatio: r.WasteRatio(), UsedGBh: r.UsedGBh(),
		})
	}
	return rows, nil
}

func (a *App) workflows(ctx context.Context, o StatsOptions) ([]estimate.Workflow, error) {
	var workflows []estimate.Workflow
	if len(o.Traces) > 0 {
		for _, name := range o.Traces {
			w, err := a.readTrace(name)
			if err != nil {
				return nil, err
			}
			workflows = append(workflows, w)
		}
		return workflows, nil
	}
	err := a.eachSummary(ctx, o, func(s usage.Summary) error {
		// A variant in a project has a history of its own, so it is a workflow of one process.
		name := strings.TrimSpace(s.Tool + " " + s.Variant)
		if tasks := estimate.TasksFromRuns(name, s.Runs); len(tasks) > 0 {
			workflows = append(workflows, estimate.Workflow{Name: name + " in " + s.Project.Key, Tasks: tasks})
		}
		return nil
	})
	return workflows, err
}

func (a *App) readTrace(name string) (estimate.Workflow, error) {
	f, err := os.Open(name)
	if err != nil {
		return estimate.Workflow{}, fmt.Errorf("--trace: %w", err)
	}
	defer f.Close()
	tasks, count, err := estimate.ReadTrace(f, name)
	if err != nil {
		return estimate.Workflow{}, err
	}
	if left := count.Rows - len(tasks); left > 0 {
		a.Warn(fmt.Sprintf("%s: %d of %d rows are left out: %d did not complete, %d have no peak_rss, %d no time, %d end inside the line",
			name, left, count.Rows, count.NotCompleted, count.NoPeak, count.NoTime, count.Truncated))
	}
	if len(tasks) == 0 {
		return estimate.Workflow{}, fmt.Errorf("%s: none of its %d rows is a completed task with a peak_rss; was the trace written by a run that finished?", name, count.Rows)
	}
	base := filepath.Base(name)
	return estimate.Workflow{Name: strings.TrimSuffix(base, filepath.Ext(base)), Tasks: tasks}, nil
}

// eachSummary calls visit with the part of the history that o selects. It makes no
// directory: who only looks leaves nothing behind.
func (a *App) eachSummary(ctx context.Context, o StatsOptions, visit func(usage.Summary) error) error {
	dir, err := a.Dirs.State()
	if err != nil {
		return err
	}
	history := usage.Open(dir, usage.Options{Warn: func(w usage.Warning) { a.Warn(w.Text) }})
	tool := ""
	if o.Tool != "" {
		tool = a.Config.Tool([]string{o.Tool}).Tool
	}
	wanted := func(s usage.Summary) bool { return tool == "" || s.Tool == tool }
	if !o.All {
		list, err := a.projectSummaries(history, o.Project)
		if err != nil {
			return err
		}
		found := false
		for _, s := range list {
			if wanted(s) {
				found = true
				if err := visit(s); err != nil {
					return err
				}
			}
		}
		if found || o.Project != "" {
			return nil
		}
	}
	for s, err := range history.Summaries() {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if wanted(s) {
			if err := visit(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// projectSummaries finds a project by its directory, else by its key.
func (a *App) projectSummaries(history *usage.History, project string) ([]usage.Summary, error) {
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

func projectName(p usage.Project) string {
	if p.Path == "" {
		return p.Key
	}
	return filepath.Base(p.Path)
}
