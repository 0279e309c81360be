package jobs

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/journal"
)

func TestNames(t *testing.T) {
	for tool, begins := range map[string]string{"claude": "claude-", "npm run": "npm-run-", "../3 Ä": "job-", strings.Repeat("x", 200): "xxx", "9p": "p-"} {
		id := NewID(tool)
		if err := CheckID(id); err != nil || !strings.HasPrefix(id, begins) || id == NewID(tool) {
			t.Errorf("%s becomes %s: %v", tool, id, err)
		}
	}
	for _, bad := range []string{"", "A", "a_b", "-a", "a-", "3a", "a/b", "..", strings.Repeat("a", 53)} {
		if CheckID(bad) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestJobsThatNoEngineCouldRun(t *testing.T) {
	for says, argv := range map[string][]string{
		"no command given":                 nil,
		"zero byte":                        {"a\x00b"},
		"no more than 128 KiB in one":      {"echo", strings.Repeat("x", 200<<10)},
		"a job takes 1 MiB":                strings.SplitAfter(strings.Repeat("x", 10<<20), strings.Repeat("x", 100<<10)),
		"at most 52 small letters, digits": {"bad-name"},
	} {
		j := Job{ID: "a", Argv: argv}
		if says[0] == 'a' && says[1] == 't' {
			j.ID = "A b"
		}
		if err := j.Check(); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 300 {
			t.Errorf("want %q: %v", says, err)
		}
	}
	j := Job{ID: "a", Argv: []string{"claude", "-p", "x"}, Flags: []string{"--cpus=2"}}
	if got := strings.Join(j.Run("--report=r"), " "); j.Check() != nil || got != "run --cpus=2 --report=r -- claude -p x" {
		t.Errorf("%s, %v", got, j.Check())
	}
}

func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		of   Status
		want journal.Outcome
	}{
		{Status{Reason: "COMPLETED"}, journal.OutcomeOK},
		{Status{Reason: "OUT_OF_MEMORY", ExitCode: 1}, journal.OutcomeOOM},
		{Status{Reason: "PREEMPTED", ExitCode: 1}, journal.OutcomeSignalled},
		{Status{Reason: "TIMEOUT", ExitCode: 1}, journal.OutcomeLimit},
		{Status{Reason: "FAILED", ExitCode: 2}, journal.OutcomeFailed},
		{Status{Reason: "NODE_FAIL", ExitCode: 1}, journal.OutcomeFailed},
		{Status{Signal: "SIGTERM", ExitCode: 143}, journal.OutcomeSignalled},
		{Status{Reason: "CANCELLED", Report: &journal.Report{Outcome: journal.OutcomeOOM}}, journal.OutcomeOOM},
	} {
		if got := c.of.Outcome(); got != c.want {
			t.Errorf("%+v: %s, want %s", c.of, got, c.want)
		}
	}
}

// engine is one whose answers are the test's.
type engine struct {
	Engine
	status func() (Status, error)
}

func (e engine) Status(_ context.Context, refs []Ref) (map[string]Status, error) {
	s, err := e.status()
	return map[string]Status{refs[0].ID: s}, err
}

// Each write comes once and whole, whenever it is looked for, and what comes at the end too.
func TestTail(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(text)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		var out, errs bytes.Buffer
		began, looks := time.Now(), 0
		e := engine{status: func() (Status, error) {
			switch looks++; looks {
			case 2:
				write(OutName, "one\n")
			case 3:
				write(OutName, "two\n")
				write(ErrName, "oh\n")
				return Status{}, errors.New("no answer")
			case 8:
				write(ReportName, "{}")
			case 9:
				write(OutName, "last\x00\xff")
				return Status{Phase: Ended}, nil
			}
			return Status{Phase: Running}, nil
		}}
		err := Tail(t.Context(), e, Ref{ID: "a", Folder: dir}, &out, &errs)
		if err != nil || out.String() != "one\ntwo\nlast\x00\xff" || errs.String() != "oh\n" {
			t.Errorf("%q, %q, %v", out.String(), errs.String(), err)
		}
		if took := time.Since(began); took < 35*time.Second || took > 37*time.Second {
			t.Errorf("it was asked nine times in %v: seldom at first, and at once when the report was there", took)
		}
		e.status = func() (Status, error) { return Status{}, errors.New("no answer") }
		if err := Tail(t.Context(), e, Ref{ID: "a", Folder: dir}, &out, &errs); err == nil || err.Error() != "no answer" {
			t.Errorf("%v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := Tail(ctx, e, Ref{ID: "a", Folder: dir}, &out, &errs); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}
