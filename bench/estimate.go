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

	"github.com/plimsoll/plimsoll/process/estimate"
)

func init() {
	register("estimate", "back-test of the estimators; --trace FILE (repeat it) replays Nextflow traces", benchEstimate)
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
	if err := flags.Parse(args); err != nil {
		return err
	}
	files = append(files, flags.Args()...)
	if len(files) == 0 {
		made, err := generatedTrace()
		if err != nil {
			return err
		}
		files = traces{made}
		o.Note("replayed: a generated trace of a workflow that never ran; give --trace FILE for a real one")
	}
	var workflows []estimate.Workflow
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
		name := filepath.Join(dir, "process", "estimate", "testdata", "generated.tsv")
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
