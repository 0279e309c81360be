package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

const (
	// statusRuns is the number of runs in the list: as many as are kept.
	statusRuns = 10_000
	statusGoal = 10 // ms
)

// status times the whole command, which a status line starts again and again. args[0] is the number of turns (100).
func status(o *Out, args []string) {
	turns := count(args, 100)
	binary, state := o.binary(), filepath.Join(o.TempDir(), "state")
	check(os.Setenv("PLIMSOLL_STATE_DIR", state))
	for id, requests := range map[string]int{"small": 10, "full": 20_000} {
		w := writeRun(state, id, requests)
		defer func() { _ = w.End(journal.Report{}) }()
	}
	longList(state)
	took := func(args ...string) float64 {
		return ms(median(o.inTurn(turns, o.command("", args[0], args[1:]...))[""]))
	}
	base := took("/bin/true")
	add := func(name string, args ...string) {
		took := took(append([]string{binary}, args...)...)
		o.Add(Row{Case: name, Metric: "median", Value: took, Unit: "ms", Baseline: "goal", BaselineValue: statusGoal})
		o.Add(Row{Case: name, Metric: "median", Value: took, Unit: "ms", Baseline: "true", BaselineValue: base})
	}
	add("plimsoll version, for the start alone", "version")
	add("plimsoll shellenv, which each new shell waits for", "shellenv", "--shell", "bash")
	for _, inside := range []string{"small", "full"} {
		check(os.Setenv(sandbox.CookieName, inside))
		add("status --line, in a run with a "+inside+" file", "status", "--line")
		began := time.Now()
		must(runs.Look(state, inside))
		o.Add(Row{Case: "reading the " + inside + " file", Metric: "once", Value: ms(time.Since(began)), Unit: "ms"})
	}
	check(os.Setenv(sandbox.CookieName, ""))
	add("status --line, outside of a run", "status", "--line")
}

// writeRun begins a run with this many requests to a model, or as many of them as its file takes.
func writeRun(state, id string, requests int) *runs.Writer {
	w := runs.Begin(runs.Options{Dir: state}, runs.Header{ID: id, Kind: runs.KindRun, Report: journal.Report{Tool: "claude", Project: "shop", LimitBytes: 4 << 30}})
	j := journal.New(journal.Options{Observers: []journal.Observer{w}})
	j.Append(journal.RunStarted{PID: 1, LimitBytes: 4 << 30})
	for i := range requests {
		j.Append(journal.WindowRequest{
			Upstream: "anthropic", Dialect: "anthropic.messages", Model: "claude-opus-5-5-20261001", Conversation: "0123456789ab", Messages: i, Tokens: 120_000, Low: 110_000, High: 130_000,
			Counted: "usage", LimitTokens: 200_000, LimitSource: "catalogue", ReceivedBytes: 500_000, ForwardedBytes: 480_000, Overhead: time.Millisecond,
		})
		w.Sample(runs.Sample{Working: int64(i%1000) << 20, Charged: int64(i%1000) << 21, Processes: 3})
		if i%200 == 0 { // what waits is bounded
			time.Sleep(210 * time.Millisecond)
		}
	}
	j.Append(journal.WindowCompacted{Model: "claude-opus-5-5-20261001", Reason: "trigger", Before: 160_000, After: 99_000})
	time.Sleep(300 * time.Millisecond)
	return w
}

// longList makes the index as long as it gets.
func longList(state string) {
	var list bytes.Buffer
	for i := range statusRuns {
		fmt.Fprintf(&list, `{"id":"r%d","kind":"run","tool":"claude","project":"p%d","started":"2026-11-24T00:00:00Z","ended":"2026-11-24T00:00:01Z","outcome":"ok","day":"2026-11-24"}`+"\n", i, i)
	}
	f := must(os.OpenFile(filepath.Join(state, runs.Dir, "index.jsonl"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600))
	must(list.WriteTo(f))
	check(f.Close())
}
