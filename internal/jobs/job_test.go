package jobs

import (
	"strings"
	"testing"

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
	if got := strings.Join(j.RunArguments("--report=r"), " "); j.Check() != nil || got != "run --cpus=2 --report=r -- claude -p x" {
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

// However long a report is, it fits behind what was said, and its figures arrive.
func TestMessage(t *testing.T) {
	r := journal.Report{Schema: journal.ReportSchema, Tool: "claude", Command: []string{"claude", "-p"}, Outcome: journal.OutcomeFailed, ExitCode: 3, PeakBytes: 7}
	for _, grow := range []func(){
		func() {},
		func() { r.Window.NoProxy = strings.Repeat("x", 4000) },
		func() { r.Warnings = []string{strings.Repeat("x", 4000)} },
		func() { r.KilledChildren = make([]journal.Process, 500) },
		func() { r.Command = append(r.Command, strings.Repeat("x", 100<<10)) },
		func() { r.Command[0], r.Project = strings.Repeat("x", 100<<10), strings.Repeat("y", 5000) },
	} {
		grow()
		text := FormatMessage(&r)
		if len(text) > maxMessage || strings.Count(string(text), "\n") != 1 {
			t.Fatalf("%d bytes: %.80q", len(text), text)
		}
		for _, before := range []string{"", "plimsoll: killed for memory\n", "{\"schema\": 1}\n"} {
			said, got := ParseMessage(before + string(text))
			if said != before || got == nil || got.ExitCode != 3 || got.PeakBytes != 7 || got.Outcome != journal.OutcomeFailed {
				t.Errorf("%q, %+v", said, got)
			}
		}
	}
}

func FuzzParseMessage(f *testing.F) {
	f.Add("plimsoll: x\n{\"schema\":1}\n")
	f.Add("{\"schema\":1")
	f.Add("null\n{null")
	f.Fuzz(func(t *testing.T, message string) {
		if said, r := ParseMessage(message); !strings.HasPrefix(message, said) || r == nil && said != message {
			t.Errorf("%q, %v", said, r)
		}
	})
}
