package submit

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/jobs"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
	"github.com/plimsoll/plimsoll/journal"
)

// What a job is at is its engine's word, with its report; without either it is lost.
func TestSettled(t *testing.T) {
	now := time.Unix(1_800_000_000, 0).UTC()
	for name, c := range map[string]struct {
		at     string
		answer *jobs.Status
		report *journal.Report
		after  time.Duration
		want   jobs.Status
	}{
		"it waits":            {"7", &jobs.Status{Phase: jobs.Queued, Reason: "Licenses"}, nil, 0, jobs.Status{Phase: jobs.Queued, Reason: "Licenses"}},
		"it was started once": {"7", &jobs.Status{Phase: jobs.Queued}, &journal.Report{ExitCode: 143}, 0, jobs.Status{Phase: jobs.Queued}},
		"the engine's status": {"7", &jobs.Status{Phase: jobs.Ended, ExitCode: 1, Reason: "NODE_FAIL"}, nil, 0, jobs.Status{Phase: jobs.Ended, ExitCode: 1, Reason: "NODE_FAIL", Ended: now}},
		"the report's": {
			"7", &jobs.Status{Phase: jobs.Ended, ExitCode: 1, Reason: "FAILED"}, &journal.Report{ExitCode: 137, Signal: "SIGKILL"}, 0,
			jobs.Status{Phase: jobs.Ended, ExitCode: 137, Signal: "SIGKILL", Reason: "FAILED", Ended: now},
		},
		"forgotten, with a report":     {"7", nil, &journal.Report{ExitCode: 3}, 0, jobs.Status{Phase: jobs.Ended, ExitCode: 3, Node: "n1", Ended: now}},
		"forgotten, without":           {"7", nil, nil, 0, jobs.Status{Phase: jobs.Lost, Node: "n1", Detail: "slurm does not know it any more, and it left no report", Ended: now}},
		"it is just handed over":       {"", nil, nil, 0, jobs.Status{Phase: jobs.Starting, Node: "n1"}},
		"nobody hands it over no more": {"", nil, nil, time.Hour, jobs.Status{Phase: jobs.Lost, Detail: "the plimsoll that handed it over was ended before the engine had answered", Ended: now}},
	} {
		store := jobs.NewStore(t.TempDir())
		r := jobs.Record{Ref: jobs.Ref{ID: "a", At: c.at}, Engine: "slurm", Submitted: now.Add(-c.after), Status: jobs.Status{Phase: jobs.Starting, Node: "n1"}}
		if err := store.Create(r); err != nil {
			t.Fatal(err)
		}
		if c.report != nil {
			body, _ := json.Marshal(c.report)
			testfile.Write(t, filepath.Join(store.Folder("a"), jobs.ReportName), body)
		}
		answer := jobs.Status{}
		if c.answer != nil {
			answer = *c.answer
		}
		got := statusOf(store, &r, answer, c.answer != nil, now)
		if got.Phase.Over() && (got.Report != nil) != (c.report != nil) {
			t.Errorf("%s: the report is %v", name, got.Report)
		}
		if got.Report = nil; got != c.want {
			t.Errorf("%s:\n%+v, want\n%+v", name, got, c.want)
		}
	}
}

// A job that was cancelled has ended so, also where its engine forgets it.
func TestCancelledIsNotLost(t *testing.T) {
	store := jobs.NewStore(t.TempDir())
	r := jobs.Record{Ref: jobs.Ref{ID: "a", At: "7"}, Engine: "kubernetes", Cancelled: true}
	if err := store.Create(r); err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0).UTC()
	want := jobs.Status{Phase: jobs.Ended, Reason: "CANCELLED", Signal: "SIGTERM", ExitCode: 143, Ended: now}
	if got := statusOf(store, &r, jobs.Status{}, false, now); got != want || got.Outcome() != journal.OutcomeSignalled {
		t.Errorf("%+v", got)
	}
}

func TestVariables(t *testing.T) {
	t.Setenv("NAMED", "a=b")
	names, got, err := variables([]string{"NAMED", "OTHER=", "X=1=2"})
	if err != nil || len(names) != 3 || names[0] != "NAMED" || len(got) != 3 || got[0] != "NAMED=a=b" || got[1] != "OTHER=" || got[2] != "X=1=2" {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []string{"", "A-B", "1A", "A B=c", "$(id)", "NOT_THERE_AT_ALL", "=x"} {
		if _, got, err := variables([]string{bad}); err == nil {
			t.Errorf("%q gives %q", bad, got)
		}
	}
}
