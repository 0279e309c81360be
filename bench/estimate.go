package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/process/estimate"
	"github.com/plimsoll/plimsoll/internal/process/usage"
)

func init() {
	register("estimate", "back-test of the estimators; --trace FILE (repeat it) replays Nextflow traces, --history your own history", benchEstimate)
}

// traces collects the values of a flag that may be repeated.
type traces []string

func (t *traces) String() string     { return strings.Join(*t, ",") }
func (t *traces) Set(v string) error { *t = append(*t, v); return nil }

// benchEstimate replays traces with every estimator; the baseline of each is the 95th percentile
// of the last 20 on the same tasks. Without a trace it takes the generated one of the tests.
func benchEstimate(ctx context.Context, o *Out, args []string) error {
	var files traces
	flags := flag.NewFlagSet("estimate", flag.ContinueOnError)
	flags.Var(&files, "trace", "Nextflow trace, TSV or CSV; may be repeated")
	history := flags.Bool("history", false, "replay the history of this user's runs")
	if err := flags.Parse(args); err != nil {
		return err
	}
	files = append(files, flags.Args()...)
	var workflows []estimate.Workflow
	if *history {
		var err error
		if workflows, err = ownHistory(); err != nil {
			return err
		}
	} else if len(files) == 0 {
		made, err := generatedTrace()
		if err != nil {
			return err
		}
		files = traces{made}
		o.Note("replayed: a generated trace of a workflow that never ran; give --trace FILE for a real one")
	}
	for _, name := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		w, count, err := readTrace(name)
		if err != nil {
			return err
		}
		workflows = append(workflows, w)
		o.Note("%s: %d tasks of %d rows (%d did not complete, %d without a peak, %d without a time)",
			w.Name, len(w.Tasks), count.Rows, count.NotCompleted, count.NoPeak, count.NoTime)
	}
	rows := estimate.Backtest(workflows, estimate.Estimators())
	baseline := map[string]estimate.Row{}
	for _, r := range rows {
		if r.Estimator == estimate.Baseline {
			baseline[r.Workflow] = r
		}
	}
	for _, r := range rows {
		name, base := r.Workflow, baseline[r.Workflow]
		if name == "" {
			name = "all"
		}
		name += " " + r.Estimator
		o.Add(Row{Case: name, Metric: "under-reserved", Value: r.UnderPercent(), Unit: "%", Baseline: estimate.Baseline, BaselineValue: base.UnderPercent()})
		o.Add(Row{Case: name, Metric: "waste", Value: r.WasteRatio(), Unit: "GBh/GBh", Baseline: estimate.Baseline, BaselineValue: base.WasteRatio()})
	}
	o.Note("a task's peak is known when it has ended; the reservation is taken for the limit; a task that does not fit wastes all of it, then twice as much until it fits; a process's first tasks are not counted")
	return nil
}

// ownHistory reads what Plimsoll remembers of this user's runs. A tool, or one use of it, in a project is a workflow of one process.
func ownHistory() ([]estimate.Workflow, error) {
	dir, err := config.NewDirs(os.Getenv).State()
	if err != nil {
		return nil, err
	}
	var workflows []estimate.Workflow
	for s, err := range usage.Open(dir, usage.Options{}).Summaries() {
		if err != nil {
			return nil, err
		}
		name := strings.TrimSpace(s.Tool + " " + s.Variant)
		if tasks := estimate.TasksFromRuns(name, s.Runs); len(tasks) > 0 {
			workflows = append(workflows, estimate.Workflow{Name: name + " in " + s.Project.Key, Tasks: tasks})
		}
	}
	if len(workflows) == 0 {
		return nil, fmt.Errorf("there is nothing to replay in %s yet: it takes two runs of one tool in one project", dir)
	}
	return workflows, nil
}

func readTrace(name string) (estimate.Workflow, estimate.TraceCount, error) {
	f, err := os.Open(name)
	if err != nil {
		return estimate.Workflow{}, estimate.TraceCount{}, err
	}
	defer f.Close()
	tasks, count, err := estimate.ReadTrace(f, name)
	base := filepath.Base(name)
	return estimate.Workflow{Name: strings.TrimSuffix(base, filepath.Ext(base)), Tasks: tasks}, count, err
}

// generatedTrace finds the trace of the tests, from the module's root or a directory in it.
func generatedTrace() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		name := filepath.Join(dir, "internal", "process", "estimate", "testdata", "generated.tsv")
		if _, err := os.Stat(name); err == nil {
			return name, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("there is no generated trace above the working directory; run this in a checkout or give --trace FILE")
		}
		dir = up
	}
}
