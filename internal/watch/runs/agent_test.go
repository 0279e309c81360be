package runs

import (
	"slices"
	"testing"

	"github.com/plimsoll/plimsoll/journal"
)

// The requests of an agent of Plimsoll's own go through no proxy: its window, and the room that it made, show all the same, also on the
// page of the run that it is in.
func TestAnAgentOfOurOwn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	outer, outerJournal, outerReport := begin(dir, "outer")
	outerJournal.Append(journal.RunStarted{PID: 1})
	w := Begin(Options{Dir: dir}, Header{ID: "inner", Parent: "outer", Kind: KindServe, Report: journal.Report{Tool: "serve"}})
	j := journal.New(journal.Options{Observers: []journal.Observer{w}})
	for _, tokens := range []int64{4000, 13_000} {
		j.Append(journal.AgentRequest{Agent: "argocd", Model: "m-1", Tokens: tokens, LimitTokens: 16_000, Messages: 7})
	}
	j.Append(journal.AgentRoom{Agent: "argocd", Why: "window", Rungs: []string{"results"}, BeforeTokens: 14_000, Tokens: 7000, LimitTokens: 16_000, CutBytes: 28_000, Messages: 3})
	j.Append(journal.AgentRequest{Agent: "argocd", Model: "m-1", Tokens: 7000, LimitTokens: 16_000, Messages: 7})
	j.Append(journal.AgentQueryEnded{Outcome: "completed", TokensIn: 24_000, TokensCached: 4000, TokensOut: 500})
	j.Append(journal.ToolCalled{Server: "functions", Tool: "flood", UpstreamBytes: 20_000_000, DeliveredBytes: 7000, Spilled: true})
	w.flush()
	g, err := Look(dir, "inner")
	if err != nil || g.Compactions != 1 || g.WindowTokens != 7000 || g.WindowLimit != 16_000 {
		t.Errorf("at a glance: %d, %d of %d, %v", g.Compactions, g.WindowTokens, g.WindowLimit, err)
	}
	if err := w.End(journal.Report{Tool: "serve", Outcome: journal.OutcomeOK}); err != nil {
		t.Fatal(err)
	}
	if err := outer.End(outerReport.Report()); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	for _, id := range []string{"inner", "outer"} {
		r, err := s.Run(id)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Compactions) != 1 || r.Compactions[0].Before != 14_000 || r.Compactions[0].After != 7000 || r.Compactions[0].CutBytes != 28_000 || !slices.Equal(r.Compactions[0].Rungs, []string{"results"}) {
			t.Errorf("%s: %+v", id, r.Compactions)
		}
		if len(r.Largest) != 1 || len(r.Tools) != 1 || r.Tools[0].MaxBytes != 20_000_000 {
			t.Errorf("%s: %+v, %+v", id, r.Largest, r.Tools)
		}
	}
	e, err := s.Find("inner")
	if err != nil {
		t.Fatal(err)
	}
	if tokens, most := e.PeakWindow(); e.Requests() != 3 || e.Rooms() != 1 || tokens != 13_000 || most != 16_000 || e.AgentCutBytes != 28_000 {
		t.Errorf("%+v", e)
	}
	if want := (Usage{Model: "m-1", Input: 24_000, Cached: 4000, Output: 500, Unpriced: 24_500}); len(e.Usage) != 1 || e.Usage[0] != want {
		t.Errorf("%+v", e.Usage)
	}
	if cost, ok := e.Cost(func(u Usage) (float64, bool) { return float64(u.Input), u.Model == "m-1" }); !ok || cost != 24_000 {
		t.Errorf("%v, %t", cost, ok)
	}
	if cost, ok := e.Cost(func(Usage) (float64, bool) { return 1, false }); ok || cost != 0 {
		t.Errorf("without a price it cost %v", cost)
	}
	r, err := s.Run("inner")
	if err != nil || len(r.Context) != 3 || r.Model != "m-1" {
		t.Errorf("%+v, %v", r.Context, err)
	}
	if sums := s.Totals()["serve"]; sums == nil || sums.Compactions != 1 || sums.CompactedFrom != 14_000 || sums.CompactedTo != 7000 {
		t.Errorf("%+v", sums)
	}
}
