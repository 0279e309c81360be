package runs

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/journal"
)

// What is cleaned up leaves its sums, and what lives counts as well.
func TestTotalsOutliveTheCleanUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	begun := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	write := func(i int, h Header, outcome journal.Outcome, events ...journal.Event) {
		w := Begin(Options{Dir: dir, now: func() time.Time { return begun.Add(time.Duration(i) * 24 * time.Hour) }, Keep: Keep{Runs: 1 << 20}}, h)
		reporter := journal.NewReporter(h.Report)
		j := journal.New(journal.Options{Observers: []journal.Observer{reporter, w}})
		for _, e := range events {
			j.Append(e)
		}
		report := reporter.Report()
		report.Outcome = outcome
		if err := w.End(report); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 30 {
		tool := []string{"claude", "codex"}[i%2]
		outcome := journal.OutcomeOK
		if i%10 == 0 {
			outcome = journal.OutcomeOOM
		}
		id := fmt.Sprintf("run-%02d", i)
		write(i, Header{ID: id + "-gate", Kind: KindGateway, Parent: id, Report: journal.Report{Tool: "mcp"}}, journal.OutcomeOK,
			journal.ToolCalled{Server: "argo", Tool: "list", UpstreamBytes: 300 << 10, DeliveredBytes: 9000, Spilled: true},
			journal.ToolCalled{Server: "argo", Tool: "list", UpstreamBytes: 300 << 10, DeliveredBytes: 9000})
		write(i, Header{ID: id, Kind: KindRun, Report: journal.Report{Tool: tool}}, outcome,
			journal.Waiting{}, journal.Waiting{}, journal.Admitted{}, journal.ChildKilled{PID: 7, Name: "node"},
			journal.WindowRequest{Tokens: 150, LimitTokens: 100}, journal.WindowCompacted{Before: 150, After: 60, CutBytes: 400},
			journal.WindowResponse{Model: "m-1", TokensIn: 100, Status: 200, Cost: 0.25}, journal.WindowResponse{Model: "m-1", TokensIn: 100, Status: 200, Cost: 0.5, Plan: true},
			journal.LimitReached{Name: "cost_max", Line: journal.LineSoft}, journal.LimitReached{Name: "budget.day", Line: journal.LineHard, Did: "refused requests"},
			journal.LimitReached{Name: "time_max", Line: journal.LineSoft},
			journal.WindowBreaker{State: "tripped"}, journal.WindowLoop{Rule: "cycle"}, journal.ToolsTallied{Calls: 2, UpstreamBytes: 600 << 10, DeliveredBytes: 18000, Spilled: 1})
	}
	before := open(t, dir).Totals()
	claude := before["claude"]
	if claude == nil || len(before) != 2 {
		t.Fatalf("%+v", before)
	}
	want := Sums{
		Outcomes: map[string]int64{"ok": 12, "oom": 3}, OOMKills: 3, ChildKills: 15, Waited: 15, WaitedMS: claude.WaitedMS, Requests: 15, Compactions: 15,
		CompactedFrom: 15 * 150, CompactedTo: 15 * 60, CutBytes: 15 * 400, OverWindow: 15, BreakerTrips: 15, Loops: 15, TokensIn: claude.TokensIn,
		Costs:      []ModelCost{{"m-1", false, 15 * 0.25}, {"m-1", true, 15 * 0.5}},
		SpendLines: []SpendLine{{"cost_max", journal.LineSoft, 15}, {"budget.day", journal.LineHard, 15}},
		Calls:      30, UpstreamBytes: 15 * 600 << 10, DeliveredBytes: 15 * 18000, Spilled: 15, LargeResults: 30,
	}
	if !reflect.DeepEqual(*claude, want) {
		t.Errorf("%+v, want %+v", *claude, want)
	}
	for _, keep := range []int{40, 11, 1} {
		watching := open(t, dir)
		removed, err := Prune(dir, Keep{Runs: keep}, begun, false)
		if err != nil || len(removed) == 0 {
			t.Fatalf("%d removed, %v", len(removed), err)
		}
		if err := watching.Poll(); err != nil {
			t.Fatal(err)
		}
		for _, s := range []*Store{open(t, dir), watching} {
			if after := s.Totals(); !reflect.DeepEqual(after, before) || s.Damaged() != 0 {
				t.Errorf("with %d kept: %+v, before %+v; %d lines damaged", keep, after["claude"], claude, s.Damaged())
			}
			if n, _ := s.Kept(); n != keep {
				t.Errorf("%d are kept", n)
			}
		}
	}
	// A run that lives counts with what it has done so far.
	w := Begin(Options{Dir: dir}, Header{ID: "lives", Kind: KindRun, Report: journal.Report{Tool: "claude"}})
	w.Observe(journal.Record{Time: time.Now(), Event: journal.ChildKilled{PID: 8}})
	w.flush()
	after := open(t, dir).Totals()["claude"]
	if after.ChildKills != claude.ChildKills+1 || !reflect.DeepEqual(after.Outcomes, claude.Outcomes) {
		t.Errorf("%+v", after)
	}
}

// An inner run's requests are the outer one's too, and models beyond the bound count together.
func TestCostsOfTotals(t *testing.T) {
	t.Parallel()
	all := Totals{}
	for i := range 100 {
		all.add(&Entry{Observed: Observed{
			Usage: []Usage{{Model: fmt.Sprint("m-", i), Cost: 1}, {Model: "outer", Cost: 1, Through: true}, {Model: "free"}}, SpendLines: []SpendLine{{fmt.Sprint("budget.", i), "hard", 1}},
		}}, "claude")
	}
	s := all["claude"]
	if n := len(s.Costs); n != maxUsage+1 || s.Costs[0] != (ModelCost{"m-0", false, 1}) || s.Costs[n-1] != (ModelCost{OtherModels, false, 100 - maxUsage}) {
		t.Errorf("%+v", s.Costs)
	}
	if len(s.SpendLines) != maxSpendLines {
		t.Errorf("%d lines", len(s.SpendLines))
	}
}

func TestToolsOfTotalsAreBounded(t *testing.T) {
	t.Parallel()
	all := Totals{}
	for i := range 1000 {
		all.add(&Entry{ID: fmt.Sprint(i), Outcome: "ok"}, fmt.Sprint("tool-", i))
	}
	if len(all) != maxTotals+1 || all[OtherTools].Outcomes["ok"] != 1000-maxTotals {
		t.Errorf("%d tools, %+v", len(all), all[OtherTools])
	}
}
