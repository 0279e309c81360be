package runs_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/jobs"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
)

// A job is shown from the queue to its end, and gives way to a run of it.
func TestJobsAmongTheRuns(t *testing.T) {
	dir := t.TempDir()
	kept := jobs.NewStore(dir)
	began := time.Now().Add(-time.Minute).UTC()
	err := kept.Create(jobs.Record{
		Ref: jobs.Ref{ID: "make-1", At: "7"}, Engine: "slurm", Tool: "make", Project: "web", Command: []string{"make"}, Submitted: began, Memory: 1 << 30,
		Status: jobs.Status{Phase: jobs.Queued, Reason: "Licenses"},
	})
	if err != nil {
		t.Fatal(err)
	}
	store, err := runs.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	entry := func() runs.Entry {
		t.Helper()
		if err := store.Poll(); err != nil {
			t.Fatal(err)
		}
		list := store.Entries()
		if len(list) != 1 {
			t.Fatalf("%d entries: %+v", len(list), list)
		}
		return list[0]
	}
	to := func(unanswered string, s jobs.Status) {
		t.Helper()
		if err := kept.Update("make-1", func(r *jobs.Record) { r.Status, r.Unanswered = s, unanswered }); err != nil {
			t.Fatal(err)
		}
		later := time.Now().Add(time.Second) // two changes may come in one tick of the clock of the file system
		if err := os.Chtimes(filepath.Join(kept.Folder("make-1"), jobs.RecordName), later, later); err != nil {
			t.Fatal(err)
		}
	}
	if e := entry(); e.ID != "make-1" || e.Kind != runs.KindJob || e.Outcome != runs.Waiting || e.Reason != "slurm: Licenses" || e.Tool != "make" || len(store.Live()) != 1 {
		t.Errorf("in the queue: %+v", e)
	}
	to("slurm does not answer: x", jobs.Status{Phase: jobs.Running, Node: "n1"})
	if e := entry(); e.Outcome != runs.Running || e.Node != "n1" || e.Reason != "slurm does not answer: x" || e.DurationMS < 60_000 {
		t.Errorf("it runs: %+v", e)
	}

	w := runs.Begin(runs.Options{Dir: dir}, runs.Header{ID: "abcdefghijkl", Kind: runs.KindRun, Job: "make-1", Report: journal.Report{Tool: "make"}})
	if err := w.End(journal.Report{Tool: "make", Outcome: journal.OutcomeSignalled}); err != nil {
		t.Fatal(err)
	}
	if e := entry(); e.ID != "abcdefghijkl" || e.Engine != "slurm" || e.Node != "n1" {
		t.Errorf("the run in its place: %+v", e)
	}
	if e, err := store.Find("make-1"); err != nil || e.ID != "abcdefghijkl" {
		t.Errorf("by the name of its job: %+v, %v", e, err)
	}
	to("", jobs.Status{Phase: jobs.Queued, Reason: "BeginTime", Detail: "again"})
	if err := store.Poll(); err != nil || len(store.Entries()) != 2 || len(store.Live()) != 1 {
		t.Errorf("after a requeue the job waits beside its first run: %+v, %v", store.Entries(), err)
	}
	to("", jobs.Status{Phase: jobs.Lost, Detail: "gone", Ended: time.Now()})
	if e := entry(); e.ID != "abcdefghijkl" {
		t.Errorf("%+v", e)
	}
}

func TestHowJobsEndedElsewhere(t *testing.T) {
	for _, c := range []struct {
		status                   jobs.Status
		outcome, reason, project string
	}{
		{jobs.Status{Phase: jobs.Lost, Detail: "gone"}, runs.Lost, "slurm: gone", "web"},
		{jobs.Status{Phase: jobs.Ended, Reason: "FAILED", ExitCode: 3}, "failed", "exit status 3", "web"},
		{jobs.Status{Phase: jobs.Ended, Reason: "OUT_OF_MEMORY", ExitCode: 1}, "oom", "killed at its memory limit of 2 GiB; slurm: OUT_OF_MEMORY", "web"},
		{jobs.Status{Phase: jobs.Ended, Reason: "COMPLETED", Report: &journal.Report{Project: "there", Outcome: "failed", ExitCode: 2}}, "failed", "exit status 2", "there"},
	} {
		dir := t.TempDir()
		kept := jobs.NewStore(dir)
		if err := kept.Create(jobs.Record{Ref: jobs.Ref{ID: "a"}, Engine: "slurm", Project: "web", MemoryLimit: 2 << 30, Submitted: time.Now()}); err != nil {
			t.Fatal(err)
		}
		c.status.Ended = time.Now()
		if err := kept.Update("a", func(r *jobs.Record) { r.Status = c.status }); err != nil {
			t.Fatal(err)
		}
		store, err := runs.Open(dir)
		if err == nil {
			err = store.Poll()
		}
		if err != nil {
			t.Fatal(err)
		}
		run, err := store.Run("a")
		if err != nil || run.Outcome != c.outcome || run.Reason != c.reason || run.Project != c.project || run.Live() || len(store.Ended(time.Now().Add(-time.Minute))) != 1 {
			t.Errorf("%+v\n%+v, %v", c, run.Entry, err)
		}
		_ = store.Close()
	}
}
