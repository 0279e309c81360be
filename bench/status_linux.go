package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

func init() {
	register("status", "`plimsoll status --line` on a run with a small file and with a full one, beside 10,000 runs, and `plimsoll shellenv`, against /bin/true", status)
}

const (
	// statusRuns is the number of runs in the list: as many as are kept.
	statusRuns = 10_000
	statusGoal = 10 // ms
)

// status times the whole command, which a status line starts again and again. args[0] is the number of turns (100).
func status(ctx context.Context, o *Out, args []string) error {
	turns := 100
	if len(args) > 0 {
		n, err := strconv.Atoi(args[0])
		if err != nil || n < 1 {
			return fmt.Errorf("the number of turns is %q, want a positive number", args[0])
		}
		turns = n
	}
	dir, err := os.MkdirTemp("", "plimsoll-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary, err := builtBinary(ctx, dir)
	if err != nil {
		return err
	}
	state := filepath.Join(dir, "state")
	if err := os.Setenv("PLIMSOLL_STATE_DIR", state); err != nil {
		return err
	}
	for id, requests := range map[string]int{"small": 10, "full": 20_000} {
		w := writeRun(state, id, requests)
		defer func() { _ = w.End(journal.Report{}) }()
	}
	if err := longList(state); err != nil {
		return err
	}
	base, err := timeCommand(ctx, turns, "/bin/true")
	if err != nil {
		return err
	}
	add := func(name string, took time.Duration) {
		o.Add(Row{Case: name, Metric: "median", Value: ms(took), Unit: "ms", Baseline: "goal", BaselineValue: statusGoal})
		o.Add(Row{Case: name, Metric: "median", Value: ms(took), Unit: "ms", Baseline: "true", BaselineValue: ms(base)})
	}
	version, err := timeCommand(ctx, turns, binary, "version")
	if err != nil {
		return err
	}
	add("plimsoll version, for the start alone", version)
	hook, err := timeCommand(ctx, turns, binary, "shellenv", "--shell", "bash")
	if err != nil {
		return err
	}
	add("plimsoll shellenv, which each new shell waits for", hook)
	for _, inside := range []string{"small", "full", ""} {
		if err := os.Setenv(sandbox.CookieName, inside); err != nil {
			return err
		}
		took, err := timeCommand(ctx, turns, binary, "status", "--line")
		if err != nil {
			return err
		}
		name := "status --line, in a run with a " + inside + " file"
		if inside == "" {
			name = "status --line, outside of a run"
		}
		add(name, took)
		began := time.Now()
		if inside != "" {
			if _, err := runs.Look(state, inside); err != nil {
				return err
			}
			o.Add(Row{Case: "reading the " + inside + " file", Metric: "once", Value: ms(time.Since(began)), Unit: "ms"})
		}
	}
	return nil
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
func longList(state string) error {
	f, err := os.OpenFile(filepath.Join(state, runs.Dir, "index.jsonl"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	for i := range statusRuns {
		_, err = fmt.Fprintf(f, `{"id":"r%d","kind":"run","tool":"claude","project":"p%d","started":"2026-11-24T00:00:00Z","ended":"2026-11-24T00:00:01Z","outcome":"ok","day":"2026-11-24"}`+"\n", i, i)
		if err != nil {
			return err
		}
	}
	return nil
}
