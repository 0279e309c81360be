package agent_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/plimsoll/plimsoll/agent"
)

// live is the bytes on the heap that something holds.
func live() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// queryBudget is what a thousand queries may leave behind on the heap, in bytes: half of them
// had results of 1 MB, so 500 MB went by. What stays are the caches of the tokenizer and of
// the shares that are learned, and 64 small sessions.
const queryBudget = 4 << 20

// Not parallel: it looks at the heap of the process.
func TestAThousandQueriesLeaveNothing(t *testing.T) {
	const large = 1 << 20
	tools := toolFuncs{
		"small": echo,
		"large": func(_ context.Context, c agent.Call, chunk func(string)) (agent.Output, error) {
			chunk("here it comes")
			return agent.Output{Text: strings.Repeat("a line of output, as there are many\n", large/36)}, nil
		},
	}
	model := newScriptedModel(t, func(n int, r *agent.Request, text func(string)) (*agent.Reply, error) {
		last := r.Messages[len(r.Messages)-1]
		if last.Role == agent.RoleUser {
			return calls(last.Text, fmt.Sprintf(`{"n":%d}`, n))
		}
		text("done")
		return says("done")
	})
	model.loose = true
	a := start(t, agent.Options{Model: model, Tools: tools})
	run := func(from, to int) {
		for i := from; i < to; i++ {
			q := agent.Query{Text: "small", Session: fmt.Sprint("session ", i%100)}
			if i%2 == 1 {
				q = agent.Query{Text: "large"}
			}
			got := ask(t, a, q)
			if got.Outcome != agent.Completed || got.PeakMemory.StepResults > 9000 {
				t.Fatalf("query %d ended with %+v", i, got)
			}
		}
	}
	run(0, 100) // what is made once is made by now
	before := live()
	run(100, manyQueries)
	after := live()
	t.Logf("live heap %d bytes before, %d after %d more queries", before, after, manyQueries-100)
	if after-before > queryBudget {
		t.Errorf("%d queries left %d bytes, more than %d", manyQueries-100, after-before, queryBudget)
	}
	if s := a.Stats(); s.Queries != manyQueries || s.Calls != manyQueries || s.Leaked != 0 {
		t.Errorf("%+v", s)
	}
}

// Fifty at once, each with a result of 1 MB: what they hold together is bounded by what goes
// to the model of a result, and is gone with them.
func TestFiftyLargeQueriesAtOnce(t *testing.T) {
	for _, n := range []int{5, 50} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			tools := toolFuncs{"large": func(context.Context, agent.Call, func(string)) (agent.Output, error) {
				return agent.Output{Text: strings.Repeat("x ", 1<<19)}, nil
			}}
			model := newScriptedModel(t, replies(call("large", "{}"), say("done")))
			model.script = func(_ int, r *agent.Request, _ func(string)) (*agent.Reply, error) {
				if r.Messages[len(r.Messages)-1].Role == agent.RoleUser {
					return calls("large", "{}")
				}
				return says("done")
			}
			model.loose = true
			a := start(t, agent.Options{Model: model, Tools: tools})
			ask(t, a, agent.Query{})
			before := live()
			var wg sync.WaitGroup
			for range n {
				wg.Go(func() {
					got, err := a.Ask(t.Context(), agent.Query{Text: "q"})
					if err != nil || got.Outcome != agent.Completed || got.PeakMemory.Total > 2<<20 {
						t.Errorf("%+v, %v", got, err)
					}
				})
			}
			wg.Wait()
			if grown := live() - before; grown > queryBudget {
				t.Errorf("%d queries left %d bytes", n, grown)
			}
			if m := a.MemoryUsage(); m.Total != 0 {
				t.Errorf("without queries it holds %+v", m)
			}
		})
	}
}

func TestStepResults(t *testing.T) {
	t.Parallel()
	const most = 8192
	x := func(n int) string { return strings.Repeat("x", n) }
	room := most - len(agent.CutMarker)
	for name, c := range map[string]struct {
		text string
		want string
		cut  bool
	}{
		"small":                           {"hello", "hello", false},
		"empty":                           {"", "", false},
		"8192":                            {x(8192), x(8192), false},
		"8193":                            {x(8193), x(room) + agent.CutMarker, true},
		"a rune that ends at the edge":    {x(room-2) + "é" + x(100), x(room-2) + "é" + agent.CutMarker, true},
		"a rune over the edge":            {x(room-1) + "é" + x(100), x(room-1) + agent.CutMarker, true},
		"a long rune over the edge":       {x(room-3) + "🚢" + x(100), x(room-3) + agent.CutMarker, true},
		"only long runes":                 {strings.Repeat("🚢", 3000), strings.Repeat("🚢", room/4) + agent.CutMarker, true},
		"multi-byte that fits":            {strings.Repeat("🚢", 2048), strings.Repeat("🚢", 2048), false},
		"binary":                          {"\x00\x01\x02\xff\xfe", "(binary, 5 bytes, beginning with 00 01 02 ff fe)", false},
		"large binary":                    {strings.Repeat("\x00\xff", 1<<19), "(binary, 1048576 bytes, beginning with 00 ff 00 ff 00 ff 00 ff 00 ff 00 ff 00 ff 00 ff)", false},
		"a wrong byte in a text":          {"caf\xe9 au lait", "caf\uFFFD au lait", false},
		"a wrong byte that makes it grow": {x(8191) + "\xe9", x(room) + agent.CutMarker, true},
		"colours of a terminal":           {"\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tools := toolFuncs{"get": func(context.Context, agent.Call, func(string)) (agent.Output, error) {
				return agent.Output{Text: c.text}, nil
			}}
			model := newScriptedModel(t, replies(call("get", "{}"), say("done")))
			a := start(t, agent.Options{Model: model, Tools: tools})
			var run *agent.Run
			began := make(chan struct{})
			var stored agent.StepResult
			found := false
			run, err := a.Start(t.Context(), agent.Query{Text: "q", Events: func(e agent.Event) {
				if e.Kind == agent.EventResult {
					<-began
					stored, found = run.StepResult(e.Call.ID)
					if e.Result == nil || *e.Result != stored {
						t.Errorf("told was %+v, and stored is %+v", e.Result, stored)
					}
					if _, ok := run.StepResult("another"); ok {
						t.Error("there is a result of another call")
					}
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			close(began)
			if got := run.Wait(); got.Outcome != agent.Completed {
				t.Fatalf("ended with %+v", got)
			}
			if !found || stored.Text != c.want || stored.Truncated != c.cut || stored.Size < int64(len(c.text)) || len(stored.Text) > most {
				t.Errorf("stored are %d bytes of %d, cut: %v, %.80q…", len(stored.Text), stored.Size, stored.Truncated, stored.Text)
			}
			if stored.Size != int64(len(c.text)) {
				t.Errorf("the size is %d, not %d", stored.Size, len(c.text))
			}
			if _, ok := run.StepResult(stored.CallID); ok || run.MemoryUsage().Total != 0 {
				t.Error("it is there after the end of the query")
			}
			// The model gets more than what is stored.
			result := model.seen()[1].Messages[2].Text
			if c.cut && len(result) <= most {
				t.Errorf("the model got %d bytes only", len(result))
			}
			if result == "" {
				t.Error("the model got an empty message")
			}
		})
	}
}

func FuzzCapText(f *testing.F) {
	f.Add("hello", 64)
	f.Add(strings.Repeat("🚢", 100), 65)
	f.Add("\xff\xfe\x00", 64)
	f.Fuzz(func(t *testing.T, text string, n int) {
		n = 64 + max(n, 0)%1000
		legible := agent.Legible(text)
		got, cut := agent.CapText(legible, n)
		if len(got) > n || strings.ToValidUTF8(got, "") != got || cut != (len(legible) > n) || !cut && got != legible || cut && !strings.HasSuffix(got, agent.CutMarker) {
			t.Errorf("%q in %d bytes is %q, %v", text, n, got, cut)
		}
		if kept := strings.TrimSuffix(got, agent.CutMarker); cut && (!strings.HasPrefix(legible, kept) || len(kept) < n-len(agent.CutMarker)-3) {
			t.Errorf("%q in %d bytes is %q", text, n, got)
		}
	})
}

// What is counted while a query runs is what a recount finds, whatever happens in it.
func FuzzMemoryUsage(f *testing.F) {
	for seed := range uint64(12) {
		f.Add(seed, uint8(20))
	}
	f.Fuzz(func(t *testing.T, seed uint64, steps uint8) {
		dice := rand.New(rand.NewPCG(seed, 1))
		var mu sync.Mutex
		roll := func(n int) int {
			mu.Lock()
			defer mu.Unlock()
			return dice.IntN(n)
		}
		tools := toolFuncs{"get": func(_ context.Context, _ agent.Call, chunk func(string)) (agent.Output, error) {
			chunk("x")
			switch roll(6) {
			case 0:
				panic("no")
			case 1:
				return agent.Output{}, nil
			case 2:
				return agent.Output{}, fmt.Errorf("no")
			}
			return agent.Output{Text: strings.Repeat("é", roll(20_000))}, nil
		}}
		model := newScriptedModel(t, func(_ int, _ *agent.Request, text func(string)) (*agent.Reply, error) {
			text(strings.Repeat("y", roll(100)))
			switch roll(10) {
			case 0:
				return nil, &agent.ModelError{Failure: agent.TooLong}
			case 1:
				r, _ := says("cut")
				r.Stop = agent.StopLength
				return r, nil
			case 2:
				return says(strings.Repeat("z", roll(3000)))
			case 3:
				return calls("get", "{")
			}
			var pairs []string
			for range 1 + roll(5) {
				pairs = append(pairs, "get", fmt.Sprintf(`{"n":%d}`, roll(1_000_000)))
			}
			return calls(pairs...)
		})
		model.loose, model.info.Window = true, 16_000
		a, err := agent.New(agent.Options{Model: model, Tools: tools, Limits: agent.Limits{
			MaxSteps: 1 + int(steps%24), MaxHistoryMessages: 4 + roll(30), MaxAnswer: 2000, Identical: 100,
		}})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			var run *agent.Run
			began := make(chan struct{})
			events := 0
			run, err = a.Start(t.Context(), agent.Query{Text: "q", Session: "s", Events: func(e agent.Event) {
				<-began
				// Tools that run beside this one store nothing: only the query does, and it waits here.
				if now, anew := run.MemoryUsage(), run.Recount(); now != anew {
					t.Errorf("at %s: %+v is counted, and %+v is there", e.Kind, now, anew)
				}
				if events++; events > 400 {
					run.Cancel(nil)
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			close(began)
			got := run.Wait()
			if u := got.PeakMemory; u.Total == 0 || u.Total != u.Messages+u.StepResults+u.CallHistory {
				t.Errorf("the most was %+v", u)
			}
			if run.MemoryUsage() != (agent.MemoryUsage{}) || run.Recount() != (agent.MemoryUsage{}) {
				t.Errorf("after the end: %+v, %+v", run.MemoryUsage(), run.Recount())
			}
		}
	})
}
