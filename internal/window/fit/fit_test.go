package fit_test

import (
	"testing"

	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/internal/window/fit"
	"github.com/plimsoll/plimsoll/window/models"
	"github.com/plimsoll/plimsoll/window/tokens"
	"github.com/plimsoll/plimsoll/window/wire"
)

func TestMustRefuse(t *testing.T) {
	band := tokens.Estimate{Low: 900, Best: 1000, High: 1200}
	for name, c := range map[string]struct {
		total  int
		source string
		want   bool
	}{
		"over by every estimate":           {1200, models.SourceCatalogue, true},
		"over by the best, not the lowest": {1100, models.SourceCatalogue, false},
		"over a window that is a default":  {9000, models.SourceDefault, false},
		"over that of a sibling":           {9000, models.SourceFamily, false},
		"over one that was learned":        {1200, models.SourceLearned, true},
	} {
		w := models.Window{Context: 1000, Source: c.source}
		if got := fit.MustRefuse(&compact.DoesNotFit{Total: c.total}, band, w); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Where no output is asked for, the trigger is at its part of the whole window: providers add nothing to the input then.
func TestReserve(t *testing.T) {
	for _, c := range []struct{ window, asked, reserve, trigger int }{
		{100_000, 0, 0, 80_000},
		{8000, 0, 0, 6400},
		{100_000, 4000, 4000, 76_800},
		{100_000, 64_000, 20_000, 64_000},
		{8000, 4000, 2000, 4800},
		{1000, -5, 0, 800},
	} {
		w := models.Window{Context: c.window}
		reserve := fit.Reserve(c.asked, fit.DefaultReserve, w)
		l := fit.Lines{Room: w.ForInput(reserve), Trigger: 0.8, Target: 0.5}
		if reserve != c.reserve || l.TriggerTokens() != c.trigger {
			t.Errorf("of %d with %d asked for: reserve %d, trigger %d; want %d and %d", c.window, c.asked, reserve, l.TriggerTokens(), c.reserve, c.trigger)
		}
	}
}

// Clients that make room by themselves do so first, at every size of window. Theirs: Claude Code 2.1.296, the window less the answer (at most
// 20,000) less 13,000 (claude-code#31806); Codex, 90 % of the window (codex#40095), with no number for the answer; opencode 2, the window less
// 32,000; Copilot CLI, 80 % (InfiniteSessionConfig). Read 2026-11-26.
func TestClientsThatCompactComeFirst(t *testing.T) {
	for _, window := range []int{128_000, 200_000, 272_000, 400_000, 500_000, 1_000_000, 2_000_000} {
		for name, c := range map[string]struct{ asked, theirs int }{
			"Claude Code": {32_000, window - 33_000},
			"Codex":       {0, window * 9 / 10},
			"opencode":    {32_000, window - 32_000},
			"Copilot CLI": {16_000, window * 8 / 10},
		} {
			w := models.Window{Context: window}
			l := fit.Lines{Room: w.ForInput(fit.Reserve(c.asked, fit.DefaultReserve, w)), Trigger: 0.95, Late: true}
			// What their counts and ours differ by, and the words of the request for a summary.
			if ours := l.TriggerTokens(); ours < c.theirs+2500 || ours >= l.Room {
				t.Errorf("%s in a window of %d: it compacts at %d, and the proxy at %d of %d", name, window, c.theirs, ours, l.Room)
			}
		}
	}
	if n := (fit.Lines{Room: 5000, Trigger: 0.95, Late: true}).TriggerTokens(); n != 4750 {
		t.Errorf("of 5000 it is %d", n)
	}
}

func TestEnforced(t *testing.T) {
	for source, want := range map[string]bool{
		models.SourceConfig: true, models.SourceLearned: true, models.SourceCatalogue: true, models.SourceFamily: false, models.SourceDefault: false,
	} {
		if got := fit.Enforced(models.Window{Context: 1000, Source: source}, false); got != want {
			t.Errorf("%s: %v", source, got)
		}
		if !fit.Enforced(models.Window{Context: 1000, Source: source}, true) {
			t.Errorf("%s at a server that cuts without a word is not enforced", source)
		}
	}
}

// The limit holds for the upper estimate, the target goes by the best; where the limit comes before the trigger, the target is as much lower.
func TestGoal(t *testing.T) {
	l := fit.Lines{Room: 10_000, Trigger: 0.8, Target: 0.5}
	for _, c := range []struct {
		in   tokens.Estimate
		want compact.Goal
	}{
		{tokens.Estimate{Low: 9000, Best: 9000, High: 9000}, compact.Goal{Target: 5000, Limit: 10_000, Trigger: 8000}},
		{tokens.Estimate{Low: 8000, Best: 9000, High: 18_000}, compact.Goal{Target: 3125, Limit: 5000, Trigger: 5000}},
		{tokens.Estimate{}, compact.Goal{Target: 5000, Limit: 10_000, Trigger: 8000}},
	} {
		if got := l.Goal(c.in); got != c.want {
			t.Errorf("%+v: %+v, want %+v", c.in, got, c.want)
		}
	}
}

func TestSizesAreTheProviders(t *testing.T) {
	counter := tokens.NewCounter(tokens.Options{})
	family := tokens.FamilyOf("openai", "gpt-4o")
	r, err := wire.Parse(wire.Chat, []byte(`{"model":"gpt-4o","messages":[{"role":"system","content":"You are terse."},{"role":"user","content":"Count to ten, slowly, please."}]}`))
	if err != nil {
		t.Fatal(err)
	}
	tally := counter.Tally(r, family)
	own := fit.Sizes(counter, family, tally.Total, tally)(r)
	twice := fit.Sizes(counter, family, tokens.Estimate{Best: 2 * tally.Total.Best}, tally)(r)
	if own.Total != tally.Total.Best || twice.Total != 2*own.Total || len(own.Messages) != len(tally.Messages) {
		t.Errorf("%+v, twice %+v, counted %+v", own, twice, tally.Total)
	}
}
