package proxy

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/wire"
)

// TestSentOnceSentAgain: random conversations in five dialects, with interrupted calls, results that come late, results over the bound, restarts
// and kills: each request begins with the one before it to the byte, cache marks apart, but for cuts, which are told with their cause.
func TestSentOnceSentAgain(t *testing.T) {
	t.Parallel()
	const seeds = 6
	// Others in which room is made in the request that decides about an interrupted call.
	more := map[wire.Dialect][]uint64{
		wire.Messages: {36, 72, 99}, wire.Chat: {57, 132, 175}, wire.Responses: {7, 107, 113, 195}, wire.Converse: {26, 53, 112}, wire.Gemini: {47, 153},
	}
	for d, model := range thoughtfulModels {
		list := more[d]
		if testing.Short() {
			list = list[:1]
		} else {
			for seed := range uint64(seeds) {
				list = append(list, seed)
			}
		}
		var cuts atomic.Int64
		for _, seed := range list {
			t.Run(fmt.Sprint(d, "/", seed), func(t *testing.T) {
				t.Parallel()
				cuts.Add(int64(playRandom(t, d, model, seed)))
			})
		}
		t.Cleanup(func() { // behind all of them; a conversation may be too small for its window
			if n := cuts.Load(); n < int64(len(list)) {
				t.Errorf("%s: %d cuts in %d conversations: the test holds less than it should", d, n, len(list))
			}
		})
	}
}

// playRandom plays one conversation and returns the number of cuts that were told in it.
func playRandom(t *testing.T, d wire.Dialect, model string, seed uint64) (cuts int) {
	r := rand.New(rand.NewPCG(seed, uint64(d)))
	dir := filepath.Join(t.TempDir(), "log")
	window := 12_000 + r.IntN(20_000)
	script := func(turn int, _ *scripted.Request) scripted.Reply {
		if turn%9 == 8 {
			return scripted.Reply{Text: fmt.Sprintf("That is done, as of turn %d.", turn)}
		}
		reply := scripted.Reply{Calls: []scripted.Call{{Shell: fmt.Sprint("make ", turn)}}}
		if turn%5 == 2 {
			reply.Calls = append(reply.Calls, scripted.Call{Shell: fmt.Sprint("ls ", turn)})
		}
		return reply
	}
	provider := scripted.New(scripted.Options{Reasoning: scripted.RuleOf, Strict: true, Window: window, Script: scripted.Thoughtful(script)})
	upstream := newServer(t, provider)
	var root string
	var j *journal.Journal
	open := func() {
		_, root, j = start(t, upstream, Options{
			Store: openStore(t, dir), Resolver: windowOf(window), Target: 0.2,
			Compactor: compact.New(compact.Options{ResultBytes: 4000}),
		})
	}
	open()
	a := &appender{dialect: d, model: model}
	a.says("The task: find out why the build of project Halcyon fails, and mend it.")
	var late []string
	var before [][]byte
	known := 0
	for n := range 60 {
		if r.IntN(12) == 0 {
			open() // as after a kill: nothing is written at an end
			known = 0
		}
		a.send(t, root)
		if d == wire.Gemini {
			a.search(r, n+1)
		}
		all := asked(provider)
		got := all[len(all)-1]
		sent := messagesSent(t, d, got.Body)
		breaks := events[journal.WindowBreak](j)
		told := len(breaks) > known
		known = len(breaks)
		if told {
			cuts++
			if cause := breaks[len(breaks)-1].Cause; cause != "trigger" && cause != "limit" && cause != "cold" && cause != "topic" {
				t.Errorf("request %d: a break for %s", n, cause)
			}
		}
		compacted := events[journal.WindowCompacted](j)
		cut := len(compacted) > 0 && compacted[len(compacted)-1].Reason != reasonSize && compacted[len(compacted)-1].Request == uint64(len(events[journal.WindowRequest](j)))
		for i := range before {
			if !cut && (i >= len(sent) || !bytes.Equal(before[i], sent[i])) {
				t.Fatalf("request %d: message %d was sent as\n%s\nand is now\n%s", n, i, before[i], sent[min(i, len(sent)-1)])
			}
		}
		before = sent
		text := func(string) string { return lines(r, []int{40, 400, 1500, 9000}[r.IntN(4)]) }
		switch {
		case len(a.open) == 0:
			a.says(fmt.Sprintf("Now step %d.", n))
		case a.searching > 0: // it goes on
			a.results(a.open, text, "")
		case r.IntN(7) == 0: // interrupted
			late = append(late, a.open...)
			a.says("Stop, do it otherwise.")
		case len(late) > 0 && r.IntN(2) == 0:
			if d == wire.Chat || d == wire.Responses || r.IntN(2) == 0 {
				a.results(append(append([]string{}, a.open...), late[0]), text, "")
			} else {
				a.results(append([]string{late[0]}, a.open...), text, "")
			}
			late = late[1:]
		case r.IntN(6) == 0:
			a.results(a.open, text, "And mind the tests.")
		default:
			a.results(a.open, text, "")
		}
	}
	s := provider.Stats()
	if s.Refused > 0 || s.Dropped > 0 || s.Sent != s.Accepted {
		t.Errorf("%+v", s)
	}
	return cuts
}

// TestAfterAKill: what was sent before a kill is sent again, also where nothing was decided about it: results are not bounded that were sent
// whole, a second result of a call does not change the first, and what has to change is a cut, unless the conversation was never seen.
func TestAfterAKill(t *testing.T) {
	t.Parallel()
	for d, model := range thoughtfulModels {
		for _, seen := range []bool{true, false} { // by something that was decided
			for _, what := range []string{"second", "bound", "hole"} {
				t.Run(fmt.Sprint(d, "/", what, "/", seen), func(t *testing.T) {
					t.Parallel()
					playKill(t, &appender{dialect: d, model: model}, what, seen)
				})
			}
		}
	}
}

func playKill(t *testing.T, a *appender, what string, seen bool) {
	provider := scripted.New(scripted.Options{Reasoning: scripted.RuleOf, Strict: true, Script: scripted.Thoughtful(scripted.Shells("done", slicesOf("make", 10)...))})
	upstream := newServer(t, provider)
	dir := filepath.Join(t.TempDir(), "log")
	_, root, _ := start(t, upstream, Options{Store: openStore(t, dir), Compactor: compact.New(compact.Options{})})
	r := rand.New(rand.NewPCG(1, 2))
	text := func(string) string { return lines(r, 3000) }
	a.says(task)
	if seen {
		a.send(t, root)
		a.says("Stop, do it otherwise.")
	}
	a.send(t, root)
	first, at := a.open, len(a.history)
	for range 3 {
		a.results(a.open, text, "")
		a.send(t, root)
	}
	all := asked(provider)
	before := messagesSent(t, a.dialect, all[len(all)-1].Body)

	o := compact.Options{}
	if what == "bound" {
		o.ResultBytes = 1000
	}
	_, root, j := start(t, upstream, Options{Store: openStore(t, dir), Compactor: compact.New(o)})
	calls := a.open
	switch what {
	case "second":
		calls = slices.Concat(calls, first)
	case "hole":
		a.history = slices.Delete(a.history, at, at+1)
	}
	a.results(calls, text, "")
	a.send(t, root)
	all = asked(provider)
	sent := messagesSent(t, a.dialect, all[len(all)-1].Body)
	breaks := events[journal.WindowBreak](j)
	if what == "hole" {
		if told := len(breaks) == 1 && breaks[0].Cause == causeRepair; told != seen || len(breaks) > 1 {
			t.Errorf("seen before: %v, told: %+v", seen, breaks)
		}
		return
	}
	if s := provider.Stats(); s.Refused > 0 || s.Dropped > 0 {
		t.Errorf("%+v", s)
	}
	if what == "bound" && !seen { // only the answers say that the results were sent: the bound is held, as a cut
		if len(breaks) != 1 || breaks[0].Cause != causeLimit || len(all[len(all)-1].Body) >= len(all[len(all)-2].Body) {
			t.Errorf("%+v, %d bytes after %d", breaks, len(all[len(all)-1].Body), len(all[len(all)-2].Body))
		}
		return
	}
	if len(breaks) > 0 {
		t.Errorf("%+v", breaks)
	}
	for i := range before {
		if i >= len(sent) || !bytes.Equal(before[i], sent[i]) {
			t.Fatalf("message %d was sent as\n%s\nand is now\n%s", i, before[i], sent[min(i, len(sent)-1)])
		}
	}
}
