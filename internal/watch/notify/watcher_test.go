package notify_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/internal/watch/notify"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
)

// written is a run in a store, with its journal.
type written struct {
	*journal.Journal
	writer   *runs.Writer
	reporter *journal.Reporter
}

func begin(dir, id, notifies string) written {
	start := journal.Report{Tool: "claude", Project: id, LimitBytes: 1 << 30}
	w := runs.Begin(runs.Options{Dir: dir}, runs.Header{ID: id, Kind: runs.KindRun, Notifies: notifies, Report: start})
	r := journal.NewReporter(start)
	return written{journal.New(journal.Options{Observers: []journal.Observer{r, w}}), w, r}
}

func (w written) end(t *testing.T, o journal.Outcome) {
	t.Helper()
	if o == journal.OutcomeRefused {
		w.Append(journal.Refused{Reason: "there is no room"})
	} else {
		w.Append(journal.RunEnded{Outcome: o})
	}
	if err := w.writer.End(w.reporter.Report()); err != nil {
		t.Error(err)
	}
}

// watching watches a store until the end of the test. It has looked once when it returns.
func watching(t *testing.T, dir string, hold func() bool) *kept {
	t.Helper()
	way := &kept{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		done <- notify.Watch(ctx, notify.WatchOptions{
			StateDir: dir, Sender: notify.NewSender(way, notify.SenderOptions{}), ID: "ours", Warn: func(err error) { t.Error(err) },
			Hold: func() bool { way.looks.Add(1); return hold() }, Every: 100 * time.Millisecond,
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	lookAgain(t, way)
	return way
}

// lookAgain waits until the store has been looked at once more as a whole: the second look begins after the first.
func lookAgain(t *testing.T, way *kept) {
	t.Helper()
	since := way.looks.Load()
	wait.Until(t, "it looks", func() bool { return way.looks.Load() >= since+2 })
}

func always() bool { return true }

// within waits for what must be told, and looks twice more for what must not.
func within(t *testing.T, way *kept, want ...string) {
	t.Helper()
	var got []string
	wait.Reached(wait.Bound, func() bool {
		got = nil
		_, texts := way.told()
		for line := range strings.Lines(texts) {
			got = append(got, strings.TrimPrefix(strings.TrimSpace(line), "claude in "))
		}
		return len(got) >= len(want)
	})
	lookAgain(t, way)
	lookAgain(t, way)
	if _, texts := way.told(); strings.Count(texts, "\n") != len(want) {
		t.Errorf("told too much:\n%s", texts)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("told:\n%s\nnot:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestOfAllRunsWhatIsNewIsTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	begin(dir, "past1", "").end(t, journal.OutcomeOOM)
	old := begin(dir, "before1", "")
	old.Append(journal.RunStarted{LimitBytes: 1 << 30})
	old.Append(journal.ChildKilled{PID: 5, Name: "past", By: "kernel"})
	old.Append(journal.WindowLoop{Text: "it read the past"})
	calm := begin(dir, "before2", "")
	calm.Append(journal.Admitted{Waited: time.Hour})
	calm.Append(journal.RunStarted{LimitBytes: 1 << 30})
	calm.writer.Sample(runs.Sample{Working: 1})
	store, err := runs.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	wait.Until(t, "what was before is written", func() bool {
		if err := store.Poll(); err != nil {
			t.Fatal(err)
		}
		live := store.Live()
		return len(live) == 2 && !slices.ContainsFunc(live, func(r *runs.Run) bool { return len(r.Kills) == 0 && r.NewestSample().Working == 0 })
	})
	way := watching(t, dir, always)

	begin(dir, "short1", "").end(t, journal.OutcomeOOM)
	begin(dir, "short2", "").end(t, journal.OutcomeRefused)
	begin(dir, "short3", "").end(t, journal.OutcomeOK)
	begin(dir, "itself1", "ours").end(t, journal.OutcomeOOM)
	begin(dir, "nobody1", notify.Nobody).end(t, journal.OutcomeOOM)
	begin(dir, "another1", "theirs").end(t, journal.OutcomeRefused)
	live := begin(dir, "live1", "")
	live.Append(journal.Waiting{Position: 1, Reason: "memory"})
	live.Append(journal.Admitted{Waited: 2 * time.Minute})
	live.Append(journal.RunStarted{LimitBytes: 1 << 30})
	live.Append(journal.ChildKilled{PID: 6, Name: "jest", Bytes: 1 << 20, By: "plimsoll"})
	live.Append(journal.ChildKilled{PID: 7, Name: "jest", Bytes: 1 << 20, By: "plimsoll"})
	old.Append(journal.ChildKilled{PID: 8, Name: "vitest", By: "kernel"})
	old.Append(journal.WindowLoop{Text: "it made the same edit"})
	within(t, way,
		"short1: killed at its memory limit of 1 GiB", "short2: there is no room", "another1: there is no room",
		"live1: got its turn after 2m 00s", "live1: jest (pid 6) was killed for memory at 1 MiB by Plimsoll",
		"before1: vitest (pid 8) was killed for memory by the kernel", "before1: the agent repeats itself: it made the same edit")
	old.end(t, journal.OutcomeOK)
	live.end(t, journal.OutcomeOOM)
	calm.end(t, journal.OutcomeOK)
	within(t, way,
		"short1: killed at its memory limit of 1 GiB", "short2: there is no room", "another1: there is no room",
		"live1: got its turn after 2m 00s", "live1: jest (pid 6) was killed for memory at 1 MiB by Plimsoll",
		"before1: vitest (pid 8) was killed for memory by the kernel", "before1: the agent repeats itself: it made the same edit",
		"live1: killed at its memory limit of 1 GiB; jest was killed for memory at 1 MiB, and 1 more")
}

// Of two that watch by the same way one tells, and the other when that has ended, of what comes then.
func TestOneOfSeveralTells(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var first atomic.Bool
	first.Store(true)
	a, b := watching(t, dir, first.Load), watching(t, dir, func() bool { return !first.Load() })
	begin(dir, "one1", "").end(t, journal.OutcomeRefused)
	within(t, a, "one1: there is no room")
	first.Store(false)
	lookAgain(t, a)
	lookAgain(t, b)
	begin(dir, "two1", "").end(t, journal.OutcomeRefused)
	within(t, b, "two1: there is no room")
	within(t, a, "one1: there is no room")
}
