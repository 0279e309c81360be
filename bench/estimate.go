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
	var files []string
	flags := flag.NewFlagSet("estimate", flag.ContinueOnError)
	flags.Func("trace", "Nextflow trace, TSV or CSV; may be repeated", func(name string) error {
		files = append(files, name)
		return nil
	})
	history := flags.Bool("history", false, "replay the history of this user's runs")
	check(flags.Parse(args))
	var workflows []estimate.Workflow
	if *history {
		workflows = ownHistory()
	} else if len(files) == 0 {
		files = []string{generatedTrace()}
		o.Note("replayed: a generated trace of a workflow that never ran; give --trace FILE for a real one")
	}
	for _, name := range files {
		w, count := readTrace(name)
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

func readTrace(name string) (estimate.Workflow, estimate.TraceCount) {
	f := must(os.Open(name))
	defer f.Close()
	tasks, count, err := estimate.ReadTrace(f, name)
	check(err)
	base := filepath.Base(name)
	return estimate.Workflow{Name: strings.TrimSuffix(base, filepath.Ext(base)), Tasks: tasks}, count
}

// readWorkflows reads the Nextflow traces in dir.
func readWorkflows(dir string) (workflows []estimate.Workflow) {
	for _, pattern := range []string{"*.csv", "*.tsv", "*.txt"} {
		for _, name := range must(filepath.Glob(filepath.Join(dir, pattern))) {
			w, _ := readTrace(name)
			workflows = append(workflows, w)
		}
	}
	if len(workflows) == 0 {
		check(fmt.Errorf("%s has no traces (*.csv, *.tsv, *.txt)", dir))
	}
	return workflows
}

// generatedTrace finds the trace of the tests, from the module's root or this package.
func generatedTrace() string {
	name := filepath.Join("internal", "process", "estimate", "testdata", "generated.tsv")
	if _, err := os.Stat(name); err != nil {
		name = filepath.Join("..", name)
	}
	return name
}
