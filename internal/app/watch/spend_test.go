package watch

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
	"github.com/plimsoll/plimsoll/internal/watch/dashboard"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
)

// What was spent is the same by whatever it is summed, and a subscription and an unknown price stand apart.
func TestSpend(t *testing.T) {
	state, told := t.TempDir(), time.Now().UTC().Truncate(time.Second)
	for i, e := range []struct {
		tool, project string
		events        []journal.WindowResponse
		used          float64
	}{
		{"claude", "shop", []journal.WindowResponse{
			{Upstream: "anthropic", Model: "claude-opus-5-5", Status: 200, TokensIn: 1000, CacheRead: 400, TokensOut: 100, Cost: 0.25},
			{Upstream: "anthropic", Model: "claude-haiku-5-5", Status: 200, TokensIn: 500, TokensOut: 10, Cost: 0.01},
		}, 0.2},
		{"claude", "web", []journal.WindowResponse{{Upstream: "anthropic", Model: "claude-opus-5-5", Status: 200, TokensIn: 2000, TokensOut: 200, Cost: 3, Plan: true}}, 0.4},
		{"codex", "shop", []journal.WindowResponse{{Upstream: "openai", Model: "of-tomorrow", Status: 200, TokensIn: 70, TokensOut: 7, GuessOut: 9}}, 0},
		{"make", "shop", nil, 0},
	} {
		r := journal.Report{Tool: e.tool, Project: e.project}
		w := runs.Begin(runs.Options{Dir: state}, runs.Header{ID: fmt.Sprint("run", i), Kind: runs.KindRun, Report: r})
		for _, event := range e.events {
			w.Observe(journal.Record{Time: time.Now(), Event: event})
		}
		if e.used > 0 {
			w.Observe(journal.Record{Time: told.Add(time.Duration(i)), Event: journal.WindowPlan{Upstream: "anthropic", Account: "a1", Window: "5h", Utilization: e.used}})
		}
		r.Outcome = journal.OutcomeOK
		if err := w.End(r); err != nil {
			t.Fatal(err)
		}
	}
	c, err := core.New(core.Options{Environ: []string{"HOME=" + t.TempDir(), "PLIMSOLL_STATE_DIR=" + state}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	all := Spent{Input: 3570, Cached: 400, Output: 319, Cost: 0.26, Plan: 3, Guessed: 2, Unpriced: 79, Plans: []runs.Plan{{Told: told.Add(1), Upstream: "anthropic", Account: "a1", Window: "5h", Utilization: 0.4}}}
	for by, keys := range map[string][]string{
		"day": {time.Now().Format(time.DateOnly)}, "tool": {"claude", "codex"}, "project": {"web", "shop"},
		"model": {"claude-opus-5-5", "claude-haiku-5-5", "of-tomorrow"}, "run": {"run2", "run1", "run0"},
	} {
		rows, err := Spend(t.Context(), c, SpendOptions{By: by})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range rows {
			got = append(got, r.Key)
		}
		sum := Sum(rows)
		sum.Runs = 0
		if !slices.Equal(got, keys) || !reflect.DeepEqual(sum, all) {
			t.Errorf("by %s: %q, %+v", by, got, sum)
		}
	}
	if rows, err := Spend(t.Context(), c, SpendOptions{By: "tool", Filter: Filter{Project: "shop"}}); err != nil || len(rows) != 2 || rows[0].Runs != 1 || rows[0].Cost != 0.26 {
		t.Errorf("%+v, %v", rows, err)
	}
	if _, err := Spend(t.Context(), c, SpendOptions{By: "moon"}); err == nil {
		t.Error("a key that there is not")
	}
}

func TestPlanWords(t *testing.T) {
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.Local)
	p := runs.Plan{Told: at, Upstream: "anthropic", Window: "5h", Utilization: 0.42, Reset: at.Add(time.Hour)}
	if got := PlanWords(p, at); got != "anthropic plan, 5h: 42 % used, begins anew Sun 13:00 (told Sun 12:00)" {
		t.Error(got)
	}
	if got := PlanWords(p, at.Add(2*time.Hour)); got != "anthropic plan, 5h: 42 % used, but it has begun anew since" {
		t.Error(got)
	}
}

// Today is what began today, by tool, with the budgets over all projects.
func TestSpentToday(t *testing.T) {
	home := t.TempDir()
	testfile.Write(t, filepath.Join(home, ".config", "plimsoll", "config.toml"), "[budget]\nday = 20\nproject_day = 5\n")
	c, err := core.New(core.Options{Environ: []string{"HOME=" + home, "PLIMSOLL_STATE_DIR=" + t.TempDir()}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	of := func(tool string, began time.Time, u ...runs.Usage) runs.Entry {
		return runs.Entry{ID: tool, Tool: tool, Started: began, Observed: runs.Observed{Usage: u}}
	}
	got := spentToday(c)(t.Context(), []runs.Entry{
		of("claude", time.Now(), runs.Usage{Model: "a", Input: 10, Output: 1, Cost: 2}, runs.Usage{Model: "b", Plan: true, Input: 5, Cost: 3}, runs.Usage{Model: "c", Input: 9, Cost: 9, Through: true}),
		of("codex", time.Now().AddDate(0, 0, -1), runs.Usage{Model: "a", Input: 10, Cost: 2}), of("make", time.Now()),
	})
	if want := []dashboard.Spender{{Name: "claude", Runs: 1, Tokens: 16, Cost: 2, Plan: 3}}; !slices.Equal(got.Rows, want) || got.Problem != "" {
		t.Errorf("%+v", got)
	}
	if len(got.Budgets) != 1 || got.Budgets[0].Name != "budget.day" || got.Budgets[0].Max != 20 || got.Budgets[0].Reset.IsZero() {
		t.Errorf("%+v", got.Budgets)
	}
}
