package estimate_test

import (
	"errors"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll/plimsoll/internal/process/estimate"
	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func task(startSeconds, seconds int, peak limit.Bytes) estimate.Task {
	start := epoch.Add(time.Duration(startSeconds) * time.Second)
	runtime := time.Duration(seconds) * time.Second
	return estimate.Task{Process: "p", Start: start, End: start.Add(runtime), Runtime: runtime, Sample: estimate.Sample{Demand: peak, Exact: true}}
}

func estimator(t *testing.T, name string) estimate.Estimator {
	t.Helper()
	e, err := estimate.ByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestReplayCountsByHand(t *testing.T) {
	tasks := []estimate.Task{
		task(30, 10, 50*mib),  // fits into 100: 50 MiB × 10 s in vain
		task(0, 10, 100*mib),  // the first: nobody could know
		task(5, 10, 400*mib),  // starts while the first runs: also a first
		task(20, 10, 900*mib), // the largest known is 400: 400 dies, 800 dies, 1600 fits
	}
	tasks[0].Process, tasks[1].Process = "q", "q"
	got := estimate.Replay(tasks, estimator(t, "max20"))
	want := estimate.Score{
		Tasks: 2, First: 2, Under: 1,
		Waste: float64(mib) * 10 * (50 + 400 + 800 + 700),
		Used:  float64(mib) * 10 * (50 + 900),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got.UnderPercent() != 50 || math.Abs(got.WasteRatio()-1950.0/950) > 1e-9 {
		t.Errorf("%v %% under, ratio %v", got.UnderPercent(), got.WasteRatio())
	}
}

func TestReplayKnowsAPeakOnlyWhenItsTaskHasEnded(t *testing.T) {
	atOnce := []estimate.Task{task(0, 10, mib), task(1, 10, mib), task(9, 10, mib), task(10, 10, mib)}
	if got := estimate.Replay(atOnce, estimator(t, "p95")); got.First != 3 || got.Tasks != 1 {
		t.Errorf("%d firsts and %d counted, want 3 and 1", got.First, got.Tasks)
	}
}

func TestReplayLearnsFromKillsWithoutCountingThem(t *testing.T) {
	killed := task(0, 10, 500*mib)
	killed.Sample.Censored, killed.Sample.Line = true, 500*mib
	got := estimate.Replay([]estimate.Task{killed, task(20, 10, 590*mib)}, estimator(t, "bound"))
	if got.Censored != 1 || got.Tasks != 1 || got.Under != 0 {
		t.Errorf("got %+v", got)
	}
}

func generated(t *testing.T) []estimate.Task {
	t.Helper()
	f, err := os.Open("testdata/generated.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tasks, count, err := estimate.ReadTrace(f, "generated.tsv")
	if err != nil {
		t.Fatal(err)
	}
	if count.Rows != 704 || count.NotCompleted != 7 || len(tasks) != 697 {
		t.Fatalf("%d tasks, %+v", len(tasks), count)
	}
	return tasks
}

func TestTheBoundsBeatTheBaselineOnTheGeneratedTrace(t *testing.T) {
	w := estimate.Workflow{Name: "generated", Tasks: generated(t)}
	rows := estimate.Backtest([]estimate.Workflow{w}, estimate.Estimators())
	score := map[string]estimate.Score{}
	for _, r := range rows {
		if r.Workflow == "" {
			score[r.Estimator] = r.Score
			t.Logf("%-10s %5.2f %% under, waste %.3f", r.Estimator, r.UnderPercent(), r.WasteRatio())
		}
	}
	for _, name := range []string{"bound", "tail"} {
		if s, base := score[name], score[estimate.Baseline]; s.Under*2 > base.Under || s.Tasks != base.Tasks {
			t.Errorf("%s: %d of %d under-reserved, %s: %d of %d", name, s.Under, s.Tasks, estimate.Baseline, base.Under, base.Tasks)
		}
	}
}

func TestBacktestPutsTheWorstWorkflowFirst(t *testing.T) {
	calm := estimate.Workflow{Name: "calm", Tasks: []estimate.Task{task(0, 1, mib), task(2, 1, mib)}}
	wild := estimate.Workflow{Name: "wild", Tasks: []estimate.Task{task(0, 1, mib), task(2, 1, 900*mib)}}
	var order []string
	for _, r := range estimate.Backtest([]estimate.Workflow{calm, wild}, []estimate.Estimator{estimator(t, estimate.Default)}) {
		order = append(order, r.Workflow)
	}
	if diff := cmp.Diff([]string{"", "wild", "calm"}, order); diff != "" {
		t.Error(diff)
	}
}

func TestTheOwnHistoryIsATrace(t *testing.T) {
	runs := []usage.Run{
		{Time: epoch, Duration: time.Minute, Peak: mib, Exact: true, Outcome: journal.OutcomeOK},
		{Time: epoch.Add(-time.Hour), Duration: time.Minute, Peak: 2 * mib, Exact: true, Outcome: journal.OutcomeOK}, // the clock went back
		{Time: epoch, Outcome: journal.OutcomeRefused},
	}
	tasks := estimate.TasksFromRuns("claude", runs)
	if len(tasks) != 2 || tasks[1].End.Before(tasks[0].End) {
		t.Errorf("got %+v", tasks)
	}
}

func TestATraceIsReadInEveryForm(t *testing.T) {
	const at = int64(1707489883053)
	want := []estimate.Task{{Process: "A:B", Start: time.UnixMilli(at).UTC(), End: time.UnixMilli(at + 62_000).UTC(), Runtime: 62 * time.Second, Sample: estimate.Sample{Demand: 3 * 512 * mib, Exact: true}}}
	for name, text := range map[string]string{
		"raw TSV":           "process\tstart\tcomplete\trealtime\tpeak_rss\nA:B\t1707489883053\t1707489945053\t62000\t1610612736\n",
		"TSV for people":    "name\tstatus\tsubmit\tstart\tcomplete\trealtime\tpeak_rss\nA:B (x)\tCOMPLETED\t-\t2024-02-09 14:44:43.053\t2024-02-09 14:45:45.053\t1m 2s\t1.5 GB\n",
		"another order":     "peak_rss\trealtime\tcomplete\tstart\tprocess\n1.5 GB\t62s\t1707489945053\t1707489883053\tA:B\n",
		"quoted CSV":        "\"process\",\"script\",\"start\",\"complete\",\"realtime\",\"peak_rss\"\r\n\"A:B\",\"echo \"\"a\"\",\nline 2\",1707489883053,1707489945053,62000,1610612736\r\n",
		"from a table":      "process,start,complete,realtime,peak_rss\nA:B,1707489883053.0,1707489945053.0,62000.0,1610612736.0\n",
		"a byte mark":       "\ufeffprocess,start,complete,realtime,peak_rss\nA:B,1707489883053,1707489945053,62000,1610612736",
		"without real time": "process,start,complete,peak_rss\nA:B,1707489883053,1707489945053,1610612736\n",
		"only submitted":    "process,submit,realtime,peak_rss\nA:B,1707489883053,62000,1610612736\n",
		"others left out":   "process,status,start,complete,realtime,peak_rss\nX,FAILED,1,2,3,4\nX,COMPLETED,1,2,3,-\nX,COMPLETED,-,2,-,9\n\nA:B,COMPLETED,1707489883053,1707489945053,62000,1610612736\nA:B,COMPL",
	} {
		t.Run(name, func(t *testing.T) {
			got, _, err := estimate.ReadTrace(strings.NewReader(text), "trace.txt")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestATraceSaysWhatWasRequested(t *testing.T) {
	// The third had died twice, of 2 and of 4 GB.
	text := "process,memory,attempt,start,complete,peak_rss\nA,2 GB,1,1,2,3\nB,-,-,1,2,3\nA,6 GB,3,1,2,3\nA,2 GB,what,1,2,3\n"
	tasks, _, err := estimate.ReadTrace(strings.NewReader(text), "trace.txt")
	if err != nil || len(tasks) != 4 {
		t.Fatalf("got %+v, %v", tasks, err)
	}
	for i, want := range []limit.Bytes{2 * limit.GiB, 0, 2 * limit.GiB, 2 * limit.GiB} {
		if tasks[i].Requested != want {
			t.Errorf("task %d asked for %v at first, want %v", i, tasks[i].Requested, want)
		}
	}
}

func TestTraceErrorsNameThePlace(t *testing.T) {
	const head = "process,status,start,complete,realtime,peak_rss\nA,COMPLETED,1,2,3,4\n"
	for text, want := range map[string]string{
		"":                               "trace.txt:1: ",
		"process,realtime\n":             "trace.txt:1: ",
		"realtime,peak_rss\n":            "trace.txt:1: ",
		"process,peak_rss\n":             "trace.txt:1: ",
		head + "A,COMPLETED,1,2,3,4XB\n": "trace.txt:3:peak_rss: ",
		"process,memory,start,complete,peak_rss\nA,much,1,2,3\n":    "trace.txt:2:memory: ",
		head + "A,COMPLETED,1,2,3,-5\n":                             "trace.txt:3:peak_rss: ",
		head + "A,COMPLETED,1,2,3,99999999999999999999\n":           "trace.txt:3:peak_rss: ",
		head + "A,COMPLETED,1,2,1 week,4\n":                         "trace.txt:3:realtime: ",
		head + "A,COMPLETED,1,2,-3,4\n":                             "trace.txt:3:realtime: ",
		head + "A,COMPLETED,1,2,1e300,4\n":                          "trace.txt:3:realtime: ",
		head + "A,COMPLETED,yesterday,2,3,4\n":                      "trace.txt:3:start: ",
		head + "A,COMPLETED,1,NaN,3,4\n":                            "trace.txt:3:complete: ",
		head + "A,COMPLETED,1\n":                                    "trace.txt:3: ",
		head + strings.Repeat("x", estimate.MaxTraceLine) + "x\n":   "trace.txt:3: ",
		head + "\"" + strings.Repeat("\n", estimate.MaxTraceLine+5): "trace.txt:",
	} {
		_, _, err := estimate.ReadTrace(strings.NewReader(text), "trace.txt")
		if !errors.Is(err, estimate.ErrTrace) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.80q: got %v, want it to begin %q", text, err, want)
		}
	}
	broken := errors.New("the disk is gone")
	if _, _, err := estimate.ReadTrace(io.MultiReader(strings.NewReader(head), failing{broken}), "t"); !errors.Is(err, broken) {
		t.Errorf("got %v, want the reader's error", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func FuzzReadTrace(f *testing.F) {
	f.Add("process\tstatus\tsubmit\tstart\tcomplete\trealtime\tpeak_rss\tmemory\tattempt\nA\tCOMPLETED\t1\t2\t3\t4h 5m\t1.2 GB\t-\t1\n")
	f.Add("name,realtime,peak_rss\n\"A (x\n)\",1d 2h,5\n\"B")
	f.Add("\ufeffname,start,complete,peak_rss\n\xff,2024-02-09 14:44:43.053,9,0\n")
	f.Fuzz(func(t *testing.T, text string) {
		tasks, count, err := estimate.ReadTrace(strings.NewReader(text), "fuzz")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "fuzz:") {
				t.Fatalf("%v names no place", err)
			}
			return
		}
		if left := count.NotCompleted + count.NoPeak + count.NoTime + count.Truncated; len(tasks)+left != count.Rows {
			t.Fatalf("%d tasks and %d left out are not %d rows", len(tasks), left, count.Rows)
		}
		for _, k := range tasks {
			if k.Sample.Demand <= 0 || k.Runtime < 0 {
				t.Fatalf("an impossible task %+v", k)
			}
		}
		for _, e := range estimate.Estimators() {
			s := estimate.Replay(tasks, e)
			if s.Tasks+s.First != len(tasks) || s.Waste < 0 || math.IsNaN(s.Waste) || math.IsInf(s.Waste, 0) {
				t.Fatalf("%s: %+v of %d tasks", e.Name, s, len(tasks))
			}
		}
	})
}
