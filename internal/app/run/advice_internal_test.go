package run

import (
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/secrets"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// Who is refused for want of room is shown who has it; who is refused because nothing would hold its limits is not.
func TestAdviceToTheRefused(t *testing.T) {
	for by, want := range map[string]string{"": "plimsoll top", journal.RefusedByEnforcement: "plimsoll doctor"} {
		reporter := journal.NewReporter(journal.Report{})
		j := journal.New(journal.Options{Observers: []journal.Observer{reporter}})
		j.Append(journal.Admitted{ReservationBytes: 64 << 20})
		j.Append(journal.Refused{Reason: "it is refused", By: by})
		got := Advice(reporter.Report(), runs.Decision{})
		if len(got) != 1 || !strings.HasPrefix(got[0], want) || by != "" && strings.Contains(got[0], "--wait") {
			t.Errorf("refused by %q: %q, want %s", by, got, want)
		}
	}
}

// The next step raises the limit that was reached, and by a flag only where a flag can.
func TestAdviceNamesTheLimitThatWasReached(t *testing.T) {
	const mib = 1 << 20
	oom := func(change func(*journal.Report)) journal.Report {
		r := journal.Report{Tool: "x", Outcome: journal.OutcomeOOM, LimitBytes: 4096 * mib, PeakBytes: 4096 * mib, PeakExact: true, OOMKills: 1, DurationMS: 60_000}
		change(&r)
		return r
	}
	for name, c := range map[string]struct {
		r     journal.Report
		basis runs.Decision
		want  string
	}{
		"its own limit":            {oom(func(*journal.Report) {}), runs.Decision{}, "--memory-max 6G"},
		"a crooked one":            {oom(func(r *journal.Report) { r.LimitBytes, r.PeakBytes = 896*mib, 896*mib }), runs.Decision{}, "--memory-max 1536M"},
		"a small one":              {oom(func(r *journal.Report) { r.LimitBytes, r.PeakBytes = 100*mib, 100*mib }), runs.Decision{}, "--memory-max 192M"},
		"a container's":            {oom(func(r *journal.Report) { r.LimitBytes, r.PeakBytes = 224*mib, 224*mib }), runs.Decision{CeilingBytes: 240 * mib, CeilingOf: "cgroup /pod"}, "raise what cgroup /pod allows"},
		"one around it":            {oom(func(r *journal.Report) { r.PeakBytes = 1000 * mib }), runs.Decision{}, "not its own limit was reached"},
		"V8's, which goes with it": {oom(func(r *journal.Report) { r.RanInto, r.RanIntoBytes, r.OOMKills = "heap", 3840*mib, 0 }), runs.Decision{}, "which goes by the limit: --memory-max 6G"},
		"V8's, set by the user":    {oom(func(r *journal.Report) { r.RanInto, r.RanIntoBytes, r.OOMKills = "heap", 1000*mib, 0 }), runs.Decision{}, "as --max-old-space-size says: raise that"},
		"each process's": {oom(func(r *journal.Report) {
			r.LimitBytes, r.RanInto, r.RanIntoBytes, r.PeakExact, r.OOMKills = 1024*mib, "process", 2048*mib, false, 0
		}), runs.Decision{}, "each process may have 2 GiB here (layer rlimit): --memory-max 3G"},
		"a watched one, passed by far": {oom(func(r *journal.Report) {
			r.LimitBytes, r.PeakBytes, r.PeakExact, r.Enforcement.Memory = 384*mib, 700*mib, false, "process"
		}), runs.Decision{}, "--memory-max 1280M"},
		"a JVM's quarter": {journal.Report{
			Outcome: journal.OutcomeFailed, Command: []string{"/usr/bin/java", "X"}, LimitBytes: 4096 * mib, PeakBytes: 1100 * mib,
			Enforcement: journal.Enforcement{Memory: "kernel"},
		}, runs.Decision{}, "-XX:MaxRAMPercentage=75"},
		"an agent's that has asked a model": {oom(func(r *journal.Report) {
			r.Tool, r.LimitBytes, r.PeakBytes, r.DurationMS, r.Window.Requests = "codex", 512*mib, 512*mib, 900, 1
		}), runs.Decision{}, "give it more: --memory-max 768M"},
		"an agent's that has not": {oom(func(r *journal.Report) {
			r.Tool, r.LimitBytes, r.PeakBytes, r.DurationMS = "codex", 512*mib, 512*mib, 900
		}), runs.Decision{}, "it ran out of memory while starting: 512 MiB is less than codex needs to start; --memory-max 1G"},
		"a script's": {oom(func(r *journal.Report) {
			r.Tool, r.LimitBytes, r.PeakBytes, r.DurationMS = "python3", 512*mib, 512*mib, 900
		}), runs.Decision{}, "give it more: --memory-max 768M"},
		"a child's": {oom(func(r *journal.Report) { r.Outcome = journal.OutcomeOK }), runs.Decision{}, "the agent went on; for a larger build or test: --memory-max 6G"},
	} {
		if got := Advice(c.r, c.basis); len(got) != 1 || !strings.Contains(got[0], c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	for b := limit.MiB; b < 64*limit.GiB; b += b/7 + 1 {
		if more := moreThan(b); more <= b || more > 2*b+64*limit.MiB || more%(64*limit.MiB) != 0 {
			t.Errorf("more than %s is %s", b.Human(), more.Human())
		}
	}
}

// The command line that helps can be pasted into a shell as it is; where it cannot there is none.
func TestAgainIsACommandLine(t *testing.T) {
	t.Parallel()
	oom := journal.Report{Outcome: journal.OutcomeOOM, OOMKills: 1, LimitBytes: 4 << 30, PeakBytes: 4 << 30, Command: []string{"make", "test", "A=it's $HOME", ""}}
	if got, want := Again(oom, runs.Decision{}), `plimsoll run --memory-max 6G -- make test 'A=it'\''s $HOME' ''`; !strings.HasPrefix(got, "plimsoll run --memory-max ") || got[strings.Index(got, " -- "):] != want[strings.Index(want, " -- "):] {
		t.Errorf("%s", got)
	}
	for name, change := range map[string]func(*journal.Report){
		"a secret was masked":   func(r *journal.Report) { r.Command = []string{"x", "--token", secrets.Hidden} },
		"an escape":             func(r *journal.Report) { r.Command = []string{"x", "\x1b[31m"} },
		"it turns the text":     func(r *journal.Report) { r.Command = []string{"x", "\u202eabc"} },
		"several lines":         func(r *journal.Report) { r.Command = []string{"sh", "-c", "a\nb"} },
		"nothing was killed":    func(r *journal.Report) { r.Outcome, r.OOMKills = journal.OutcomeOK, 0 },
		"the machine was short": func(r *journal.Report) { r.OOMDKills = 1 },
		"there is no command":   func(r *journal.Report) { r.Command = nil },
	} {
		r := oom
		change(&r)
		if got := Again(r, runs.Decision{}); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := Again(oom, runs.Decision{CeilingBytes: 4 << 30, CeilingOf: "this machine"}); got != "" {
		t.Errorf("there is no more: %s", got)
	}
}
