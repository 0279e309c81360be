package runs

import (
	"slices"
	"testing"
	"time"

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
	g, err := ReadGlance(dir, "inner")
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

// A run waits for its user when an answer has ended the turn, no other is under way, and nothing was asked since.
func TestWhoseTurnItIs(t *testing.T) {
	t.Parallel()
	asked := func(n uint64) journal.Event { return journal.WindowRequest{Request: n} }
	answered := func(n uint64, ends bool) journal.Event {
		return journal.WindowResponse{Request: n, Status: 200, Ended: "complete", EndsTurn: ends}
	}
	for _, c := range []struct {
		name     string
		kind     string
		state    string
		happened []journal.Event
	}{
		{"nothing yet", KindRun, "", nil},
		{"an answer is under way", KindRun, Running, []journal.Event{asked(1)}},
		{"the turn has ended", KindRun, YourTurn, []journal.Event{asked(1), answered(1, true)}},
		{"a tool runs", KindRun, Running, []journal.Event{asked(1), answered(1, false)}},
		{"asked since", KindRun, Running, []journal.Event{asked(1), answered(1, true), asked(2)}},
		{"after a tool", KindRun, YourTurn, []journal.Event{asked(1), answered(1, false), asked(2), answered(2, true)}},
		{"another is under way", KindRun, Running, []journal.Event{asked(1), asked(2), answered(2, true)}},
		{"the other calls a tool", KindRun, Running, []journal.Event{asked(1), asked(2), answered(2, true), answered(1, false)}},
		{"a title failed after it", KindRun, YourTurn, []journal.Event{asked(1), answered(1, true), asked(2), journal.WindowResponse{Request: 2, Status: 529, Ended: "complete"}}},
		{"a title was refused after it", KindRun, YourTurn, []journal.Event{asked(1), answered(1, true), asked(2), journal.WindowRefused{Request: 2, Status: 502}}},
		{"a tool runs, and a request failed", KindRun, Running, []journal.Event{asked(1), answered(1, false), asked(2), journal.WindowResponse{Request: 2, Status: 500, Ended: "complete"}}},
		{"broken off", KindRun, Running, []journal.Event{asked(1), journal.WindowResponse{Request: 1, Status: 200, Ended: "upstream_cut"}}},
		{"it has ended", KindRun, "", []journal.Event{asked(1), answered(1, true), journal.RunEnded{Outcome: journal.OutcomeOK}}},
		{"a daemon talks with nobody", KindServe, Running, []journal.Event{asked(1), answered(1, true)}},
		{"our own agent works", KindChat, Running, []journal.Event{journal.AgentQueryStarted{}, journal.AgentRequest{}}},
		{"our own agent has answered", KindChat, YourTurn, []journal.Event{journal.AgentQueryStarted{}, journal.AgentRequest{}, journal.AgentQueryEnded{}}},
		{"forgotten", KindRun, Idle, []journal.Event{asked(1), answered(1, true), journal.RunIdle{For: time.Minute}}},
		{"forgotten at a question about a tool", KindRun, Idle, []journal.Event{asked(1), answered(1, false), journal.RunIdle{For: time.Minute}}},
		{"never asked a model, and forgotten", KindRun, Idle, []journal.Event{journal.RunIdle{For: time.Minute}}},
		{"asked again", KindRun, Running, []journal.Event{asked(1), answered(1, true), journal.RunIdle{}, asked(2)}},
		{"somebody types", KindRun, YourTurn, []journal.Event{asked(1), answered(1, true), journal.RunIdle{}, journal.RunWoke{By: "input"}}},
		{"ended as an idle one", KindRun, "", []journal.Event{journal.RunIdle{}, journal.RunEnded{Outcome: journal.OutcomeLimit}}},
		{"our own agent works again", KindChat, Running, []journal.Event{journal.AgentQueryEnded{}, journal.AgentQueryStarted{}}},
	} {
		r := Follow(Header{ID: "a", Kind: c.kind})
		at := time.Unix(1_000_000, 0)
		for _, e := range c.happened {
			at = at.Add(time.Second)
			r.Observe(journal.Record{Time: at, Event: e})
		}
		if r.State != c.state {
			t.Errorf("%s: the state is %q", c.name, r.State)
		}
		if began := !r.StateSince.IsZero(); began != (c.state == Idle || c.state == YourTurn) {
			t.Errorf("%s: since %v", c.name, r.StateSince)
		}
	}
	r := Follow(Header{ID: "a", Kind: KindRun})
	for n := range uint64(3 * maxAsked) {
		r.Observe(journal.Record{Event: asked(n)})
	}
	if len(r.inUse.turn.asked) > maxAsked {
		t.Errorf("%d requests without an answer are kept", len(r.inUse.turn.asked))
	}
}

// The input of a request that was under way when the run was killed counts, as a count of ours.
func TestAKilledRunHasAskedWhatItAsked(t *testing.T) {
	t.Parallel()
	r := Follow(Header{ID: "a", Kind: KindRun})
	for _, e := range []journal.Event{
		journal.WindowRequest{Model: "m", Upstream: "u", Request: 1, Tokens: 100},
		journal.WindowResponse{Model: "m", Upstream: "u", Request: 1, Status: 200, TokensIn: 110, TokensOut: 10},
		journal.WindowRequest{Model: "m", Upstream: "u", Request: 2, Tokens: 200},
		journal.WindowRefused{Request: 2, Status: 400},
		journal.WindowRequest{Model: "m", Upstream: "u", Request: 3, Tokens: 300},
	} {
		r.Observe(journal.Record{Time: time.Unix(1, 0), Event: e})
	}
	if len(r.Usage) != 1 || r.Usage[0].Input != 110 || r.Usage[0].Guessed != 0 {
		t.Errorf("while it lives: %+v", r.Usage)
	}
	r.died = true
	r.recompute()
	r.recompute()
	if u := r.Usage; len(u) != 1 || u[0].Input != 410 || u[0].Guessed != 300 || u[0].Output != 10 {
		t.Errorf("killed: %+v", u)
	}
}

// What was killed has the time of that, not of the end of its run.
func TestTheTimeOfAKill(t *testing.T) {
	t.Parallel()
	kill, end := time.Unix(1_000_000, 0), time.Unix(1_007_200, 0)
	for name, event := range map[string]journal.Event{
		"the kernel": journal.OOMKills{New: 1, Total: 1}, "a child": journal.ChildKilled{PID: 7, Name: "jest", By: "kernel"},
		"a limit": journal.LimitReached{Name: "write_max", Line: journal.LineHard, Did: "ended dd (pid 7)"}, "a server": journal.ToolServer{State: "killed", Server: "big"},
	} {
		r := Follow(Header{ID: "a", Kind: KindRun})
		r.Observe(journal.Record{Time: kill, Event: event})
		r.Observe(journal.Record{Time: end, Event: journal.RunEnded{Outcome: journal.OutcomeOOM}})
		if !r.KilledAt.Equal(kill) || len(r.Kills) == 0 || !r.Kills[len(r.Kills)-1].Time.Equal(kill) {
			t.Errorf("%s: %v, %+v", name, r.KilledAt, r.Kills)
		}
	}
	r := Follow(Header{ID: "a", Kind: KindRun})
	r.Observe(journal.Record{Time: end, Event: journal.RunEnded{Outcome: journal.OutcomeOOM}})
	if !r.KilledAt.Equal(end) {
		t.Errorf("nobody has seen it before: %v", r.KilledAt)
	}
	r = Follow(Header{ID: "a", Kind: KindRun})
	r.Observe(journal.Record{Time: end, Event: journal.RunEnded{Outcome: journal.OutcomeOK}})
	if !r.KilledAt.IsZero() {
		t.Errorf("nothing was killed: %v", r.KilledAt)
	}
}
