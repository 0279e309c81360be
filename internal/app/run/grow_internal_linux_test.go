package run

import (
	"context"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/internal/process/holder"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// A run whose limit nobody has named grows with the room that the ledger has, to twice its limit and no further; not where a person has named it, nor where
// memory_grow is off, nor while another run waits for the room.
func TestRunsGrow(t *testing.T) {
	const first = 128 * limit.MiB
	for _, c := range []struct {
		name    string
		change  func(*config.Settings)
		waiting bool
		mb      string
		to      limit.Bytes
		ok      bool
	}{
		{"within twice", func(*config.Settings) {}, false, "200", 256 * limit.MiB, true},
		{"beyond twice", func(*config.Settings) {}, false, "600", 256 * limit.MiB, false},
		{"named by a person", func(s *config.Settings) { s.MemoryMax = first }, false, "200", first, false},
		{"switched off", func(s *config.Settings) { s.MemoryGrow = false }, false, "200", first, false},
		{"while another waits", func(*config.Settings) {}, true, "200", first, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			ledger, err := admission.Open(admission.Options{Dir: t.TempDir(), Current: holder.Current, Reap: holder.Reap})
			if err != nil {
				t.Fatal(err)
			}
			read := func() (headroom.Reading, error) {
				return headroom.Reading{MemTotal: 16 * limit.GiB, MemAvailable: 8 * limit.GiB}, nil
			}
			claim, err := ledger.Acquire(t.Context(), admission.Request{ID: admission.NewID(), Tool: "agent", Reservation: 32 * limit.MiB, Headroom: read})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = claim.Release() }()
			if c.waiting {
				waits, leave := context.WithCancel(t.Context())
				left := make(chan struct{})
				defer func() { leave(); <-left }()
				go func() {
					defer close(left)
					_, _ = ledger.Acquire(waits, admission.Request{ID: "w", Tool: "agent", Reservation: 12 * limit.GiB, Wait: admission.Forever, Headroom: read})
				}()
				wait.Until(t, "the other one waits", func() bool {
					list, err := ledger.Holders(t.Context())
					return err == nil && len(list) == 2
				})
			}
			x := &process{
				ledger: ledger, claim: claim, report: &report{journal: journal.New(journal.Options{})},
				decision: &decision{Settings: config.Settings{MemoryMax: config.Auto, MemoryGrow: true}, Limits: sandbox.Limits{Memory: first, Pids: 100}},
			}
			var words strings.Builder
			x.report.say = newSpeaker(&Options{Stderr: &words}, nil)
			c.change(&x.decision.Settings)
			tool := pressureChild("growing", c.mb)
			run, err := sandbox.Start(t.Context(), sandbox.Spec{
				ID: claim.ID(), Path: tool.Path, Args: tool.Args, Env: tool.Env, Limits: x.decision.Limits, Detach: true, Journal: x.report.journal,
				OnNear: x.nearLimit, Observe: func(s sandbox.Sample) { _ = claim.Observe(s.Working) },
				Remember: func(r sandbox.Remains) error { return x.notes.remember(claim, r) },
			})
			if err != nil {
				t.Fatal(err)
			}
			if run.Raisable() != nil {
				t.Skip("no layer here can give more")
			}
			res, err := run.Wait()
			if err != nil {
				t.Fatal(err)
			}
			x.growth.end(&x.decision.Limits)
			if (res.ExitCode == 0) != c.ok || x.decision.Limits.Memory != c.to {
				t.Errorf("status %d under a limit of %s in the end, want %s\n%s", res.ExitCode, x.decision.Limits.Memory.Human(), c.to.Human(), words.String())
			}
			if grew := strings.Contains(words.String(), "its memory limit grew from 128 MiB to 192 MiB"); grew != (c.to > first) {
				t.Errorf("it is told: %q", words.String())
			}
		})
	}
}
