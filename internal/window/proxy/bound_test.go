package proxy

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/internal/window/compact/native"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/wire"
)

// TestBrokenFromOutside: what a client, a person or a disk does to a conversation whose model binds its reasoning costs thoughts, and now and then a
// refusal that only the proxy sees, but never the session.
func TestBrokenFromOutside(t *testing.T) {
	t.Parallel()
	const turns, window = 40, 12_000
	type world struct {
		a     *appender
		store *checkpoint.Store
		root  string
		j     *journal.Journal
		start func(*checkpoint.Store)
	}
	for name, c := range map[string]struct {
		model    string
		store    bool
		each     func(t *testing.T, w *world, n int)
		refusals int // at the provider, at most
		cause    string
	}{
		"nothing is done": {"claude-fable-5-1", true, nil, 0, ""},
		"a reminder is rewritten": {"claude-fable-5-1", true, func(t *testing.T, w *world, n int) {
			if n == 0 {
				w.a.send(t, w.root)
				w.a.results(w.a.open, func(string) string { return "ok" }, "It is early.")
			} else if n%10 == 9 {
				w.a.history[2] = json.RawMessage(strings.Replace(string(w.a.history[2]), "early", "later and later than", 1))
			}
		}, 0, causeClient},
		"the first message is rewritten": {"claude-fable-5-1", true, func(_ *testing.T, w *world, n int) {
			if n%10 == 9 {
				w.a.history[0] = json.RawMessage(fmt.Sprintf(`{"role":"user","content":"The task: mend the build. It is now %d o'clock."}`, n))
			}
		}, 6, causeBinding}, // it is another conversation then
		"tools come in another order, again and again": {"claude-fable-5-1", true, func(_ *testing.T, w *world, n int) {
			w.a.system = fmt.Sprint("You work in a shell. ", n/10)
		}, 1, causeClient},
		"another model goes on": {"claude-fable-5-1", true, func(_ *testing.T, w *world, n int) {
			if n == 30 {
				w.a.model = "claude-opus-5-5"
			}
		}, 0, ""},
		"the log is removed": {"claude-fable-5-1", true, func(t *testing.T, w *world, n int) {
			if n%20 == 19 {
				if _, _, err := w.store.Remove(checkpoint.Which{All: true}); err != nil {
					t.Fatal(err)
				}
			}
		}, 0, causeLog},
		"the log is removed while nothing runs": {"claude-fable-5-1", true, func(t *testing.T, w *world, n int) {
			if n%20 == 19 {
				if _, _, err := w.store.Remove(checkpoint.Which{All: true}); err != nil {
					t.Fatal(err)
				}
				w.start(w.store)
			}
		}, 3, "trigger"},
		"nothing is kept": {"claude-fable-5-1", false, nil, 0, causeLog},
		"a model that nobody knows turns out bound": {"house-model", true, nil, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule := scripted.RuleOf
			if c.model == "house-model" {
				rule = func(string) scripted.Rule { return scripted.RuleOf("claude-fable-5-1") }
			}
			provider := scripted.New(scripted.Options{
				Reasoning: rule, Window: window, Script: scripted.Thoughtful(scripted.Shells("done", slicesOf("make", turns+10)...)),
			})
			upstream := newServer(t, provider)
			w := &world{a: &appender{dialect: wire.Messages, model: c.model}}
			w.start = func(s *checkpoint.Store) {
				_, w.root, w.j = start(t, upstream, Options{Store: s, Resolver: windowOf(window), Target: 0.2})
			}
			if c.store {
				w.store = openStore(t, t.TempDir())
			}
			w.start(w.store)
			r := rand.New(rand.NewPCG(1, 2))
			w.a.says("The task: mend the build.")
			causes := map[string]int{}
			for n := range turns {
				if c.each != nil {
					for _, e := range events[journal.WindowBreak](w.j) {
						causes[e.Cause]++
					}
					c.each(t, w, n)
				}
				w.a.send(t, w.root)
				w.a.results(w.a.open, func(string) string { return lines(r, 2000) }, "")
			}
			for _, e := range events[journal.WindowBreak](w.j) {
				causes[e.Cause]++
			}
			s := provider.Stats()
			t.Logf("%v %+v", causes, s)
			if s.Refused > c.refusals {
				t.Errorf("%d requests were refused: %+v", s.Refused, s)
			}
			if c.cause != "" && causes[c.cause] == 0 {
				t.Errorf("nobody was told of a cut for %s: %v", c.cause, causes)
			}
			if c.cause == "" && (causes[causeClient]+causes[causeLog] > 0) {
				t.Errorf("cuts that are none: %v", causes)
			}
		})
	}
}

// TestProviderSummarises: where reasoning is bound and the provider compacts on demand, it is asked in the background while the conversation goes on;
// its block is put in at a cut, and what the model has thought since stays valid.
func TestProviderSummarises(t *testing.T) {
	t.Parallel()
	const turns, window = 130, 20_000
	for name, use := range map[string]native.Use{"auto": native.Auto, "never": native.Never} {
		t.Run(name, func(t *testing.T) {
			provider := scripted.New(scripted.Options{
				Reasoning: scripted.RuleOf, Window: window, Script: scripted.Thoughtful(scripted.Shells("done", slicesOf("make", turns+10)...)),
			})
			dir := t.TempDir()
			upstream := newServer(t, provider)
			var root string
			var j *journal.Journal
			written, cuts, thoughts := 0, 0, 0
			tally := func() {
				if j == nil {
					return
				}
				for _, e := range events[journal.WindowSummary](j) {
					if e.Outcome == compact.SummaryWritten && e.By == "provider" && e.SummaryIn > 0 {
						written++
					}
				}
				for _, e := range events[journal.WindowCompacted](j) {
					if slices.Equal(e.Rungs, []string{compact.RungProvider}) {
						cuts++
					}
				}
				for _, e := range events[journal.WindowBreak](j) {
					thoughts += e.ThinkingOut
				}
			}
			open := func() {
				tally()
				_, root, j = start(t, upstream, Options{Store: openStore(t, dir), Resolver: windowOf(window), Target: 0.2, Summaries: use})
			}
			open()
			a := &appender{dialect: wire.Messages, model: "claude-fable-5-1", key: "sk-ant-api03-test"}
			r := rand.New(rand.NewPCG(1, 2))
			a.says("The task: mend the build.")
			for n := range turns {
				if n == turns/2 {
					open() // a kill: what was taken is in the log, a job that runs is lost
				}
				a.send(t, root)
				a.results(a.open, func(string) string { return lines(r, 1500) }, "")
			}
			tally()
			s := provider.Stats()
			t.Logf("%d written, %d cuts with them, %d thoughts out: %+v", written, cuts, thoughts, s)
			if s.Refused > 0 || s.Dropped > 0 || s.Sent != s.Accepted {
				t.Errorf("%+v", s)
			}
			if use == native.Never && (cuts > 0 || s.Summaries > 0 || thoughts == 0) {
				t.Errorf("%d cuts with the provider's summary, %d thoughts out", cuts, thoughts)
			}
			if use == native.Auto && (cuts < 2 || written < cuts || thoughts > 0 || s.Summaries < cuts) {
				t.Errorf("%d cuts with the provider's summary of %d written; %d thoughts were taken out", cuts, written, thoughts)
			}
		})
	}
}

// TestTakenOutIsWhatDropBlockDrops: the same loop with a provider that binds reasoning, once with a model that is known for that, so that it is
// taken out at a cut, and once with one that passes for free and a client that asks for drop_block, so that it stays in and the provider
// drops it. What goes out at a cut would have been dropped in every request after it; as many count, but for cuts a request sooner or later.
func TestTakenOutIsWhatDropBlockDrops(t *testing.T) {
	t.Parallel()
	const window, turns = 40_000, 120
	play := func(model string, drops bool) (scripted.Stats, int) {
		provider, _, root, j := scripting(t, scripted.Options{
			Reasoning: func(string) scripted.Rule { return scripted.RuleOf("claude-fable-5-1") }, Window: window, Strict: true,
			Script: scripted.Thoughtful(scripted.Shells("done", slicesOf("make", turns+10)...)),
		}, Options{Store: memoryStore(t), Resolver: windowOf(window)})
		r := rand.New(rand.NewPCG(1, 2))
		a := &appender{dialect: wire.Messages, model: model, drops: drops}
		a.says("Find out why the build of project Halcyon fails, and mend it.")
		for range turns {
			a.send(t, root)
			a.results(a.open, func(string) string { return lines(r, 4000) }, "")
		}
		return provider.Stats(), len(events[journal.WindowBreak](j))
	}
	out, cuts := play("claude-fable-5-1", false)
	dropped, others := play("claude-sonnet-4-5", true)
	t.Logf("taken out: %d cuts, %+v", cuts, out)
	t.Logf("drop_block: %d cuts, %+v", others, dropped)
	if out.Refused+dropped.Refused+out.Dropped > 0 || dropped.Dropped == 0 || cuts < 2 || others < 2 {
		t.Error("nothing was to be refused, and drop_block to drop")
	}
	near := func(a, b int) bool { return a*100 <= b*108 && b*100 <= a*108 }
	if !near(out.Accepted, dropped.Accepted) || !near(out.Input, dropped.Input) || dropped.Sent < 2*out.Sent {
		t.Errorf("with drop_block %d of %d blocks count in %d tokens, without it %d of %d in %d", dropped.Accepted, dropped.Sent, dropped.Input, out.Accepted, out.Sent, out.Input)
	}
}
