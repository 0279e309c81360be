package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/agent"
)

// However a query ends while its tools run, the calls have their results, and a strict
// provider accepts the next turn.
func TestNoCallIsLeftWithoutAResult(t *testing.T) {
	t.Parallel()
	untilDone := func(ctx context.Context, _ chan struct{}) (agent.Output, error) {
		<-ctx.Done()
		return agent.Output{Text: "too late"}, ctx.Err()
	}
	untilFree := func(_ context.Context, free chan struct{}) (agent.Output, error) {
		<-free
		return agent.Output{Text: "too late"}, nil
	}
	for name, c := range map[string]struct {
		hang func(ctx context.Context, free chan struct{}) (agent.Output, error)
		end  func(a *agent.Agent, r *agent.Run, cancel func())
		want agent.Outcome
	}{
		"cancelled":                     {untilDone, func(_ *agent.Agent, r *agent.Run, _ func()) { r.Cancel(nil) }, agent.Cancelled},
		"cancelled, and the tool stays": {untilFree, func(_ *agent.Agent, r *agent.Run, _ func()) { r.Cancel(nil) }, agent.Cancelled},
		"the client has gone":           {untilDone, func(_ *agent.Agent, _ *agent.Run, cancel func()) { cancel() }, agent.Cancelled},
		"the agent is closed":           {untilDone, func(a *agent.Agent, _ *agent.Run, _ func()) { a.Close() }, agent.Cancelled},
		"a timeout":                     {untilDone, nil, agent.Completed},
		"a timeout, and the tool stays": {untilFree, nil, agent.Completed},
		"a panic":                       {func(context.Context, chan struct{}) (agent.Output, error) { panic("no") }, nil, agent.Completed},
	} {
		hang := c.hang
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				free := make(chan struct{})
				shelf := newFakeStore()
				var wrong error
				tools := toolFuncs{"echo": echo, "hang": func(ctx context.Context, c agent.Call, _ func(string)) (agent.Output, error) {
					// The result must be in the conversation when the tool hears of its end.
					stop := context.AfterFunc(ctx, func() {
						for _, m := range shelf.get("s") {
							if m.CallID == c.ID {
								return
							}
						}
						wrong = fmt.Errorf("call %s was told of its end before it had a result", c.ID)
					})
					defer stop()
					return hang(ctx, free)
				}}
				model := newScriptedModel(t, replies(call("echo", "{}", "hang", "{}", "echo", `{"n":1}`, "hang", `{"n":1}`), say("done")))
				a := start(t, agent.Options{Model: model, Tools: tools, Conversations: shelf})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				run, err := a.Start(ctx, agent.Query{Text: "q", Session: "s"})
				if err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if c.end != nil {
					c.end(a, run, cancel)
				}
				got := run.Wait()
				if got.Outcome != c.want {
					t.Errorf("ended with %+v", got)
				}
				synctest.Wait()
				if wrong != nil {
					t.Error(wrong)
				}
				kept := shelf.get("s")
				paired(t, kept)
				if len(kept) < 6 || kept[2].Text != "{}" || kept[4].Text != `{"n":1}` || !kept[3].Failed || !kept[5].Failed {
					t.Errorf("kept are %+v", kept)
				}
				next(t, shelf)
				close(free)
				synctest.Wait()
			})
		})
	}
}

// next asks for the next turn of a conversation; the model holds it to the rules.
func next(t *testing.T, shelf agent.Conversations) {
	t.Helper()
	model := newScriptedModel(t, replies(say("here I am")))
	a, err := agent.New(agent.Options{Model: model, Conversations: shelf, Tools: toolFuncs{"echo": echo}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := a.Ask(t.Context(), agent.Query{Text: "and now?", Session: "s", Existing: true})
	if err != nil || got.Outcome != agent.Completed || model.provider.Refused() != 0 {
		t.Errorf("the next turn: %+v, %v", got, err)
	}
}

// A process that dies leaves what was appended, and nothing else happens. Its death is played
// by a store that is opened again while everything of the first process stands still.
func TestTheDeathOfAProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		for died, want := range map[string]string{
			"while the model thinks": "u",
			"while the tools run":    "uat",
			"at the third step":      "uatttat",
		} {
			shelf := newFakeStore()
			var model *scriptedModel
			tools := toolFuncs{"echo": echo, "hang": func(context.Context, agent.Call, func(string)) (agent.Output, error) {
				<-free
				return agent.Output{Text: "never said"}, nil
			}}
			model = newScriptedModel(t, func(n int, _ *agent.Request, _ func(string)) (*agent.Reply, error) {
				switch {
				case died == "while the model thinks":
					<-free
					return says("never said")
				case died == "at the third step" && n == 0:
					return calls("echo", "{}", "echo", `{"n":1}`, "echo", `{"n":2}`)
				default:
					return calls("echo", `{"n":3}`, "hang", "{}", "echo", `{"n":4}`)
				}
			})
			a := start(t, agent.Options{Model: model, Tools: tools, Conversations: shelf, Limits: agent.Limits{ToolTimeout: 1000 * time.Hour, ModelTimeout: 1000 * time.Hour}})
			run, err := a.Start(t.Context(), agent.Query{Text: "q", Session: "s"})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			left := newFakeStore()
			left.sessions["s"] = shelf.get("s")
			if got := roles(left.get("s")); got != want {
				t.Errorf("died %s: %s is left, not %s", died, got, want)
			}
			next(t, left)
			kept := left.get("s")
			paired(t, kept)
			if died != "while the model thinks" {
				if m := kept[len(kept)-3]; m.Role != agent.RoleTool || !m.Failed || !strings.Contains(m.Text, "may have run") {
					t.Errorf("died %s: the last call was answered with %+v", died, m)
				}
			}
			run.Cancel(nil)
		}
		close(free)
		synctest.Wait()
	})
}

// Histories with holes in other places than the end are mended before the first request.
func TestHolesInAConversation(t *testing.T) {
	t.Parallel()
	u := agent.Message{Role: agent.RoleUser, Text: "q"}
	c := agent.Message{Role: agent.RoleAssistant, Calls: []agent.Call{{ID: "x", Name: "echo", Arguments: "{}"}, {ID: "y", Name: "echo", Arguments: "{}"}}}
	x := agent.Message{Role: agent.RoleTool, CallID: "x", Name: "echo", Text: "x"}
	y := agent.Message{Role: agent.RoleTool, CallID: "y", Name: "echo", Text: "y"}
	for name, ms := range map[string][]agent.Message{
		"in the middle":      {u, c, x, u},
		"nothing but a call": {c},
		"a result alone":     {x},
		"results first":      {x, y, u, c, x, y, u},
		"twice":              {u, c, x, x, y, y},
		"the wrong order":    {u, c, y, u, x},
	} {
		shelf := newFakeStore()
		shelf.sessions["s"] = ms
		next(t, shelf)
		if t.Failed() {
			t.Fatal(name)
		}
		kept := shelf.get("s")
		paired(t, kept)
	}
}

// A store that fails ends the query: what is not kept must not be done.
func TestAConversationThatCannotBeKept(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left on device")
	for name, c := range map[string]struct {
		fail   func(ms []agent.Message) bool
		panics bool
		ran    int
		answer string
	}{
		"the question": {func(ms []agent.Message) bool { return ms[0].Role == agent.RoleUser }, false, 0, ""},
		"the calls":    {func(ms []agent.Message) bool { return len(ms[0].Calls) > 0 }, false, 0, ""},
		"the results":  {func(ms []agent.Message) bool { return ms[0].Role == agent.RoleTool }, false, 1, ""},
		"the answer":   {func(ms []agent.Message) bool { return ms[0].Text == "done" }, false, 1, "done"},
		"it panics":    {func(ms []agent.Message) bool { return ms[0].Role == agent.RoleTool }, true, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shelf, ran := newFakeStore(), 0
			shelf.fail = func(_ string, ms []agent.Message) error {
				if !c.fail(ms) {
					return nil
				}
				if c.panics {
					panic("in the store")
				}
				return full
			}
			tools := toolFuncs{"echo": func(ctx context.Context, c agent.Call, chunk func(string)) (agent.Output, error) {
				ran++
				return echo(ctx, c, chunk)
			}}
			a := start(t, agent.Options{Model: newScriptedModel(t, replies(call("echo", "{}"), say("done"))), Tools: tools, Conversations: shelf})
			got := ask(t, a, agent.Query{Session: "s"})
			if got.Outcome != agent.Failed || got.Answer != c.answer || ran != c.ran || got.Err == nil || !c.panics && !errors.Is(got.Err, full) {
				t.Errorf("%d calls ran, and it ended with %+v", ran, got)
			}
			shelf.fail = nil
			if len(shelf.get("s")) > 0 {
				next(t, shelf)
			}
			paired(t, shelf.get("s"))
		})
	}
}

// What the caller does wrong in his own function is not the end of the conversation.
func TestEventsThatPanic(t *testing.T) {
	t.Parallel()
	for _, at := range []agent.EventKind{agent.EventStep, agent.EventText, agent.EventCall, agent.EventChunk, agent.EventResult} {
		shelf := newFakeStore()
		tools := toolFuncs{"echo": func(ctx context.Context, c agent.Call, chunk func(string)) (agent.Output, error) {
			chunk("on the way")
			return echo(ctx, c, chunk)
		}}
		a := start(t, agent.Options{Model: newScriptedModel(t, replies(call("echo", "{}"), say("done"))), Tools: tools, Conversations: shelf})
		n := 0
		got := ask(t, a, agent.Query{Session: "s", Events: func(e agent.Event) {
			if e.Kind == at {
				n++
				panic("in Events")
			}
		}})
		// The words of the answer are the last that happens: it is whole by then.
		whole := at == agent.EventText && got.Outcome == agent.Completed
		if n != 1 || !whole && (got.Outcome != agent.Cancelled || !strings.Contains(got.Detail, "in Events")) {
			t.Errorf("%s: after %d events %+v", at, n, got)
		}
		paired(t, shelf.get("s"))
		next(t, shelf)
	}
}
