package estimate

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/limit"
)

// Task is one run of a replay.
type Task struct {
	// Process is the key of the history that the task belongs to: a process of a workflow, or a tool in a project.
	Process string
	// Start and End are the times between which the task ran; its peak is known from End on.
	Start, End time.Time
	// Runtime is the time for which it held its memory. It may be shorter than End − Start.
	Runtime time.Duration
	// Requested is the memory that its workflow asked for at first; 0 where nobody said.
	Requested limit.Bytes
	// Sample is its need. A censored one teaches the estimator and is not counted,
	// because nobody knows what would have been enough.
	Sample Sample
}

// Score is the result of a replay. Waste and Used are in byte-seconds.
type Score struct {
	// Tasks counts the tasks that were estimated from history. First counts those that had no history yet, Censored those whose need is
	// unknown: both are left out of all other fields.
	Tasks, First, Censored int
	// Under is the number of Tasks that were reserved less than they needed.
	Under int
	Waste float64
	Used  float64
}

// UnderPercent returns the share of under-reserved tasks in percent; 0 without tasks.
func (s Score) UnderPercent() float64 {
	if s.Tasks == 0 {
		return 0
	}
	return 100 * float64(s.Under) / float64(s.Tasks)
}

// WasteRatio returns Waste / Used; 0 without use.
func (s Score) WasteRatio() float64 {
	if s.Used == 0 {
		return 0
	}
	return s.Waste / s.Used
}

// add adds the counts and the bytes of another score.
func (s *Score) add(o Score) {
	s.Tasks += o.Tasks
	s.First += o.First
	s.Censored += o.Censored
	s.Under += o.Under
	s.Waste += o.Waste
	s.Used += o.Used
}

// Replay runs an estimator over tasks in the order of their starts. What a task needed becomes
// known when it has ended, so tasks that start together are estimated from the same history.
//
// The reservation is taken for the limit: a task that needs more dies at the very end (the worst
// case), all its reservation is waste, and it is tried again with twice as much until it fits; the
// estimator learns of the first death as it would from a real one. Used is the true peak times the
// runtime, once. The order of equal starts is that of the slice, and tasks are not changed.
func Replay(tasks []Task, e Estimator) Score {
	ordered := slices.Clone(tasks)
	sorting.StableBy(ordered, func(a, b Task) int { return a.Start.Compare(b.Start) })
	var (
		score   Score
		pending outcomes
		history = map[string][]Sample{}
	)
	for i, t := range ordered {
		for len(pending) > 0 && !pending[0].at.After(t.Start) {
			o := heap.Pop(&pending).(outcome)
			known := append(history[o.process], o.sample)
			if len(known) > 2*window { // amortised: keep what an estimator can see
				known = slices.Clone(known[len(known)-window:])
			}
			history[o.process] = known
		}
		end := t.End
		if end.Before(t.Start) {
			end = t.Start
		}
		learn := func(s Sample) { heap.Push(&pending, outcome{end, i, t.Process, s}) }
		reserved := e.Bytes(history[t.Process])
		switch {
		case t.Sample.Censored:
			score.Censored++
		case reserved <= 0:
			score.First++
		default:
			need, seconds := float64(t.Sample.Demand), t.Runtime.Seconds()
			score.Tasks++
			score.Used += need * seconds
			attempt := float64(reserved)
			if attempt < need {
				score.Under++
				learn(Sample{Demand: reserved, Censored: true, Line: reserved})
			}
			for attempt < need {
				score.Waste += attempt * seconds
				attempt *= 2
			}
			score.Waste += (attempt - need) * seconds
		}
		learn(t.Sample)
	}
	return score
}

// outcome is a sample that becomes known at a time; outcomes of equal times are ordered by the starts of their tasks.
type outcome struct {
	at      time.Time
	order   int
	process string
	sample  Sample
}

type outcomes []outcome

func (o outcomes) Len() int { return len(o) }
func (o outcomes) Less(i, j int) bool {
	if c := o[i].at.Compare(o[j].at); c != 0 {
		return c < 0
	}
	return cmp.Compare(o[i].order, o[j].order) < 0
}
func (o outcomes) Swap(i, j int) { o[i], o[j] = o[j], o[i] }
func (o *outcomes) Push(x any)   { *o = append(*o, x.(outcome)) }
func (o *outcomes) Pop() any {
	last := (*o)[len(*o)-1]
	*o = (*o)[:len(*o)-1]
	return last
}

// Workflow is a named sequence of tasks with a history of its own.
type Workflow struct {
	Name  string
	Tasks []Task
}

// Row is the score of one estimator on one workflow, or on all of them when Workflow is "".
type Row struct {
	Workflow  string
	Estimator string
	Score
}

// Backtest replays every workflow with every estimator and returns the scores: first the rows over all workflows, in the order of the
// estimators; then each workflow's, first the one where the default estimator under-reserved the largest share.
func Backtest(workflows []Workflow, es []Estimator) []Row {
	total := make([]Row, len(es))
	for i, e := range es {
		total[i].Estimator = e.Name
	}
	type block struct {
		worst float64
		rows  []Row
	}
	blocks := make([]block, 0, len(workflows))
	for _, w := range workflows {
		b := block{rows: make([]Row, len(es))}
		for i, e := range es {
			score := Replay(w.Tasks, e)
			b.rows[i] = Row{w.Name, e.Name, score}
			total[i].add(score)
			if e.Name == Default {
				b.worst = score.UnderPercent()
			}
		}
		blocks = append(blocks, b)
	}
	sorting.StableBy(blocks, func(a, b block) int {
		return cmp.Or(cmp.Compare(b.worst, a.worst), cmp.Compare(a.rows[0].Workflow, b.rows[0].Workflow))
	})
	rows := total
	for _, b := range blocks {
		rows = append(rows, b.rows...)
	}
	return rows
}

// TasksFromRuns returns the recorded runs of one tool in one project as the tasks of a replay, without those that teach nothing. The order
// is that in which the runs were recorded; where the clock went back, a run counts as ending when its predecessor did.
func TasksFromRuns(process string, runs []usage.Run) []Task {
	var tasks []Task
	var latest time.Time
	for _, r := range runs {
		if r.Time.After(latest) {
			latest = r.Time
		}
		s, ok := FromRun(r)
		if !ok {
			continue
		}
		tasks = append(tasks, Task{Process: process, Start: latest.Add(-r.Duration), End: latest, Runtime: r.Duration, Sample: s})
	}
	return tasks
}
