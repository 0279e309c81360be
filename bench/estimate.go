package main

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
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

// candidate is an estimator with constants, and how it did on each workflow.
type candidate struct {
	family string
	params estimate.Params
	scores []estimate.Score
}

// candidates returns the grid that constants are chosen from.
func candidates() []candidate {
	var list []candidate
	for _, fade := range [][2]int{{0, 0}, {20, 20}, {50, 25}} {
		for _, peak := range []float64{0.3, 0.6, 1, 1.5, 2.5} {
			for _, fall := range []float64{0.2, 0.3, 0.5, 0.8} {
				for _, base := range []float64{1.02, 1.05, 1.1} {
					p := estimate.Params{Base: base, Cap: peak, Fall: fall, Keep: fade[0], Half: fade[1]}
					list = append(list, candidate{family: "bound", params: p})
					for _, factor := range []float64{2, 4, 6, 8, 12} {
						p.Factor = factor
						list = append(list, candidate{family: "tail", params: p})
					}
				}
			}
		}
	}
	return list
}

// prices of one percent under-reserved in units of waste: the higher, the more careful. Each is
// one point of the frontier.
var prices = []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5}

// benchEstimates chooses, for each workflow in turn, the constants that do best on the others, and
// counts what they do on it. No constant has seen the workflow it is judged by.
func benchEstimates(o *Out, args []string) {
	flags := flag.NewFlagSet("estimates", flag.ContinueOnError)
	dir := flags.String("traces", "", tracesUsage)
	check(flags.Parse(args))
	if *dir == "" {
		o.Note("not run: it needs --traces DIR, for example data/ of github.com/dos-group/sizey")
		return
	}
	workflows := readWorkflows(o, *dir)
	if len(workflows) < 2 {
		o.Fatalf("%s has %d traces; leaving one out takes two", *dir, len(workflows))
	}
	list := candidates()
	o.twoAtOnce(len(list), func(i int) {
		e := estimate.Family(list[i].family, list[i].params)
		for _, w := range workflows {
			list[i].scores = append(list[i].scores, estimate.Replay(w.Tasks, e))
		}
	})
	for _, family := range []string{"bound", "tail"} {
		for _, keep := range []int{0, 20, 50} {
			for _, price := range prices {
				leaveOneOut(o, workflows, list, family, keep, price)
			}
		}
	}
	o.Note("each row: constants fitted on all other workflows at that price of one percent under-reserved, counted on the workflow left out, added up")
}

// leaveOneOut leaves each workflow out in turn, chooses the constants that do best on the others, and reports the sum of what they did on the
// ones left out. price is the cost of being under the need, relative to waste.
func leaveOneOut(o *Out, workflows []estimate.Workflow, list []candidate, family string, keep int, price float64) {
	var total sum
	chosen := map[estimate.Params]int{}
	for left := range workflows {
		best, least := -1, math.Inf(1)
		for i, c := range list {
			if c.family != family || c.params.Keep != keep {
				continue
			}
			var others sum
			for w, s := range c.scores {
				if w != left {
					others.add(s)
				}
			}
			if cost := others.waste() + price*others.under(); cost < least {
				best, least = i, cost
			}
		}
		total.add(list[best].scores[left])
		chosen[list[best].params]++
	}
	name := fmt.Sprintf("%s price %.2f", family, price)
	if keep > 0 {
		name += fmt.Sprintf(" fading after %d", keep)
	}
	o.Add(Row{Case: name, Metric: "under-reserved", Value: total.under(), Unit: "%"})
	o.Add(Row{Case: name, Metric: "waste", Value: total.waste(), Unit: "GBh/GBh"})
	var most estimate.Params
	for p, n := range chosen {
		if n > chosen[most] || n == chosen[most] && slices.Compare([]float64{p.Base, p.Cap, p.Fall}, []float64{most.Base, most.Cap, most.Fall}) < 0 {
			most = p
		}
	}
	o.Note("%s: mostly %+v (%d of %d)", name, most, chosen[most], len(workflows))
}

// sum adds up scores.
type sum struct{ tasks, underReserved, wasted, used float64 }

func (s *sum) add(o estimate.Score) {
	s.tasks += float64(o.Tasks)
	s.underReserved += float64(o.Under)
	s.wasted += o.Waste
	s.used += o.Used
}

func (s *sum) under() float64 { return 100 * s.underReserved / s.tasks }
func (s *sum) waste() float64 { return s.wasted / s.used }
