package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/process/estimate"
	"github.com/plimsoll/plimsoll/internal/process/usage"
)

// benchEstimate replays traces with every estimator; the baseline of each is the 95th percentile
// of the last 20 on the same tasks. Without a trace it takes the generated one of the tests.
func benchEstimate(o *Out, args []string) {
	flags := flag.NewFlagSet("estimate", flag.ContinueOnError)
	dir := flags.String("traces", "", tracesUsage)
	history := flags.Bool("history", false, "replay the history of this user's runs")
	check(flags.Parse(args))
	var workflows []estimate.Workflow
	if *history {
		workflows = ownHistory()
	} else {
		workflows = readWorkflows(o, *dir)
	}
	rows := estimate.Backtest(workflows, estimate.Estimators())
	baseline := map[string]estimate.Row{}
	for _, r := range rows {
		if r.Estimator == estimate.Baseline {
			baseline[r.Workflow] = r
		}
	}
	for _, r := range rows {
		name, base := cmp.Or(r.Workflow, "all")+" "+r.Estimator, baseline[r.Workflow]
		o.Add(Row{Case: name, Metric: "under-reserved", Value: r.UnderPercent(), Unit: "%", Baseline: estimate.Baseline, BaselineValue: base.UnderPercent()})
		o.Add(Row{Case: name, Metric: "waste", Value: r.WasteRatio(), Unit: "GBh/GBh", Baseline: estimate.Baseline, BaselineValue: base.WasteRatio()})
	}
	o.Note("a task's peak is known when it has ended; the reservation is taken for the limit; a task that does not fit wastes all of it, then twice as much until it fits; a process's first tasks are not counted")
}

// ownHistory reads what Plimsoll remembers of this user's runs. A tool, or one use of it, in a project is a workflow of one process.
func ownHistory() (workflows []estimate.Workflow) {
	dir := must(config.NewDirs(os.Getenv).State())
	for s, err := range usage.Open(dir, usage.Options{}).Summaries() {
		check(err)
		name := strings.TrimSpace(s.Tool + " " + s.Variant)
		if tasks := estimate.TasksFromRuns(name, s.Runs); len(tasks) > 0 {
			workflows = append(workflows, estimate.Workflow{Name: name + " in " + s.Project.Key, Tasks: tasks})
		}
	}
	if len(workflows) == 0 {
		check(fmt.Errorf("there is nothing to replay in %s yet: it takes two runs of one tool in one project", dir))
	}
	return workflows
}

const tracesUsage = "directory of Nextflow traces (*.csv, *.tsv, *.txt), one workflow each"

// readWorkflows reads the Nextflow traces in dir, and without one the trace of the tests, from the module's root or this package.
func readWorkflows(o *Out, dir string) (workflows []estimate.Workflow) {
	patterns := []string{filepath.Join(dir, "*.csv"), filepath.Join(dir, "*.tsv"), filepath.Join(dir, "*.txt")}
	if dir == "" {
		o.Note("no --traces DIR: this is a synthetic set, tasks of a workflow that never ran; real ones are, for example, in data/ of github.com/dos-group/sizey")
		generated := filepath.Join("internal", "process", "estimate", "testdata", "generated.tsv")
		patterns = []string{generated, filepath.Join("..", generated)}
	}
	for _, pattern := range patterns {
		for _, name := range must(filepath.Glob(pattern)) {
			f := must(os.Open(name))
			tasks, n, err := estimate.ReadTrace(f, name)
			_ = f.Close()
			check(err)
			w := estimate.Workflow{Name: strings.TrimSuffix(filepath.Base(name), filepath.Ext(name)), Tasks: tasks}
			o.Note("%s: %d tasks of %d rows (%d did not complete, %d without a peak, %d without a time)", w.Name, len(tasks), n.Rows, n.NotCompleted, n.NoPeak, n.NoTime)
			workflows = append(workflows, w)
		}
	}
	if len(workflows) == 0 {
		o.Fatalf("there are no traces: %v", patterns)
	}
	return workflows
}
