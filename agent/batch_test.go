package agent_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/journal"
)

// A batch is looked at as a whole: a call that is malformed, and the last one at that, keeps
// all others from being run.
func TestAMalformedCallKeepsItsBatchFromRunning(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ tool, arguments, says string }{
		"no JSON":       {"echo", `{"n":`, "no JSON object"},
		"no object":     {"echo", `[1]`, "no JSON object"},
		"two objects":   {"echo", `{} {}`, "no JSON object"},
		"a bomb":        {"echo", strings.Repeat(`{"a":`, 20_000), "no JSON object"},
		"bad schema":    {"echo", `{"forbidden":1}`, "the schema does not allow"},
		"unknown tool":  {"ecco", `{}`, `there is no tool "ecco"`},
		"without name":  {"", `{}`, "names no tool"},
		"broken UTF-8":  {"echo", "{\"a\":\xff", "no JSON object"},
		"huge":          {"echo", `{"a":"` + strings.Repeat("x", 2<<20) + `"}`, "no JSON object"},
		"panicking one": {"panics", `{}`, "panicked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ran atomic.Int64
			tools := toolFuncs{"echo": func(ctx context.Context, c agent.Call, chunk func(string)) (agent.Output, error) {
				ran.Add(1)
				return echo(ctx, c, chunk)
			}}
			shelf := newFakeStore()
			model := newScriptedModel(t, replies(call("echo", `{"n":1}`, "echo", "", c.tool, c.arguments), say("sorry")))
			got := ask(t, start(t, agent.Options{Model: model, Tools: panicky{tools}, Conversations: shelf}), agent.Query{Session: "s"})
			if ran.Load() != 0 || got.Calls != 0 {
				t.Errorf("%d calls of the batch were run", ran.Load())
			}
			kept := shelf.get("s")
			if roles(kept) != "uattta" {
				t.Fatalf("kept are %s", roles(kept))
			}
			for i, m := range kept[2:5] {
				if !m.Failed || !strings.HasPrefix(m.Text, "Not run") || len(m.Text) > 4000 {
					t.Errorf("call %d was answered with %.300q", i, m.Text)
				}
			}
			if !strings.Contains(kept[4].Text, c.says) || !strings.Contains(kept[2].Text, "call 3") {
				t.Errorf("the model is told %.300q and %.300q", kept[2].Text, kept[4].Text)
			}
			paired(t, kept)
		})
	}
}

// panicky is tools whose check panics.
type panicky struct{ toolFuncs }

func (p panicky) Check(c agent.Call) error {
	if c.Name == "panics" {
		panic("in Check")
	}
	return p.toolFuncs.Check(c)
}

func TestCallsGetIdsOfTheirOwn(t *testing.T) {
	t.Parallel()
	script := replies(
		func() (*agent.Reply, error) {
			r, _ := calls("echo", `{"n":1}`, "echo", `{"n":2}`, "echo", `{"n":3}`, "echo", `{"n":4}`)
			r.Message.Calls[1].ID, r.Message.Calls[2].ID, r.Message.Calls[3].ID = "c0", "", strings.Repeat("x", 100)
			return r, nil
		},
		call("echo", `{"n":5}`), // c0 once more
		say("done"),
	)
	shelf := newFakeStore()
	got := ask(t, start(t, agent.Options{Model: newScriptedModel(t, script), Tools: toolFuncs{"echo": echo}, Conversations: shelf}), agent.Query{Session: "s"})
	if got.Outcome != agent.Completed {
		t.Fatalf("ended with %+v", got)
	}
	kept := shelf.get("s")
	paired(t, kept)
	ids := map[string]bool{}
	for _, m := range kept {
		for i, c := range m.Calls {
			if ids[c.ID] || c.ID == "" || len(c.ID) > 64 {
				t.Errorf("call %d has the id %q", i, c.ID)
			}
			ids[c.ID] = true
		}
		if m.Role == agent.RoleTool && m.Text == "" {
			t.Errorf("no result in %+v", m)
		}
	}
	if len(ids) != 5 || !ids["c0"] {
		t.Errorf("the ids are %v", ids)
	}
}

func TestTooManyCallsInAStep(t *testing.T) {
	t.Parallel()
	many := func() (*agent.Reply, error) {
		var pairs []string
		for i := range 50 {
			pairs = append(pairs, "echo", fmt.Sprintf(`{"n":%d}`, i))
		}
		return calls(pairs...)
	}
	shelf := newFakeStore()
	got := ask(t, start(t, agent.Options{
		Model: newScriptedModel(t, replies(many, say("done"))), Tools: toolFuncs{"echo": echo}, Conversations: shelf,
		Limits: agent.Limits{MaxCalls: 10, MaxHistoryMessages: 100},
	}), agent.Query{Session: "s"})
	kept := shelf.get("s")
	if got.Calls != 10 || len(kept[1].Calls) != 20 || kept[11].Failed || !kept[12].Failed || !strings.Contains(kept[12].Text, "at most 10 calls") {
		t.Errorf("%d calls were run, %d are kept, and the eleventh was answered with %q", got.Calls, len(kept[1].Calls), kept[12].Text)
	}
	paired(t, kept)
}

// Every way in which a tool can misbehave ends in exactly one result.
func TestToolsThatMisbehave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		tools := toolFuncs{
			"good":    echo,
			"nothing": func(context.Context, agent.Call, func(string)) (agent.Output, error) { return agent.Output{}, nil },
			"panics":  func(context.Context, agent.Call, func(string)) (agent.Output, error) { panic("oh no") },
			"exits": func(context.Context, agent.Call, func(string)) (agent.Output, error) {
				runtime.Goexit()
				return agent.Output{}, nil
			},
			"fails": func(context.Context, agent.Call, func(string)) (agent.Output, error) {
				return agent.Output{Text: "half of it"}, errors.New("the disk is full")
			},
			"image": func(context.Context, agent.Call, func(string)) (agent.Output, error) {
				return agent.Output{Text: "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"}, nil
			},
			"never": func(_ context.Context, _ agent.Call, chunk func(string)) (agent.Output, error) {
				<-free
				chunk("too late")
				return agent.Output{Text: "too late"}, nil
			},
			"slow": func(ctx context.Context, _ agent.Call, _ func(string)) (agent.Output, error) {
				<-ctx.Done()
				return agent.Output{}, ctx.Err()
			},
		}
		j, events, shelf := journal.New(journal.Options{}), &log{}, newFakeStore()
		model := newScriptedModel(t, replies(
			call("never", "{}", "good", "{}", "nothing", "{}", "panics", "{}", "exits", "{}", "fails", "{}", "image", "{}", "slow", "{}"), say("done")))
		a := start(t, agent.Options{Model: model, Tools: tools, Journal: j, Conversations: shelf})
		got := ask(t, a, agent.Query{Session: "s", Events: events.add})
		if got.Outcome != agent.Completed || got.Calls != 8 {
			t.Errorf("ended with %+v", got)
		}
		kept := shelf.get("s")
		paired(t, kept)
		for i, want := range []struct {
			text   string
			failed bool
		}{
			{"took longer than 2m", true},
			{"{}", false},
			{agent.NoOutput, false},
			{"oh no", true},
			{"broke off", true},
			{"half of it\nthe disk is full", true},
			{"(binary, 16 bytes, beginning with 89 50 4e 47", false},
			{"took longer than 2m", true},
		} {
			if m := kept[2+i]; !strings.Contains(m.Text, want.text) || m.Failed != want.failed {
				t.Errorf("call %d was answered with %q, %v; want %q, %v", i, m.Text, m.Failed, want.text, want.failed)
			}
		}
		synctest.Wait()
		if s := a.Stats(); s.Leaked != 1 || s.Late != 1 {
			t.Errorf("before the tool returns: %+v", s)
		}
		time.Sleep(agent.LeakGrace + time.Second)
		if n := j.Counts()["agent.call_leaked"]; n != 1 {
			t.Errorf("%d tools are told to have leaked, not 1", n)
		}
		close(free)
		synctest.Wait()
		if s := a.Stats(); s.Leaked != 0 || s.Late != 2 {
			t.Errorf("after the tool returned: %+v", s)
		}
		if n := len(events.of(agent.EventResult)); n != 8 {
			t.Errorf("%d results were told, not 8", n)
		}
		if text := events.text(agent.EventChunk); text != "" {
			t.Errorf("a call that was given up still says %q", text)
		}
	})
}

// A tool that never returns is not begun without end.
func TestToolsThatNeverReturnAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		var begun atomic.Int64
		tools := toolFuncs{"echo": echo, "never": func(context.Context, agent.Call, func(string)) (agent.Output, error) {
			begun.Add(1)
			<-free
			return agent.Output{}, nil
		}}
		model := newScriptedModel(t, func(n int, _ *agent.Request, _ func(string)) (*agent.Reply, error) {
			if n%2 == 1 {
				return says("done")
			}
			return calls("never", `{}`, "echo", `{}`)
		})
		a := start(t, agent.Options{Model: model, Tools: tools})
		for range agent.MaxAbandonedTool + 5 {
			if got := ask(t, a, agent.Query{}); got.Outcome != agent.Completed {
				t.Fatalf("ended with %+v", got)
			}
		}
		if begun.Load() != agent.MaxAbandonedTool {
			t.Errorf("%d calls were begun, not %d", begun.Load(), agent.MaxAbandonedTool)
		}
		last := model.seen()[len(model.seen())-1].Messages
		if !strings.Contains(last[2].Text, "still run") || last[3].Text != "{}" {
			t.Errorf("the model is told %+v", last)
		}
		close(free)
		synctest.Wait()
		if s := a.Stats(); s.Leaked != 0 {
			t.Errorf("%d still run", s.Leaked)
		}
		ask(t, a, agent.Query{})
		if begun.Load() != agent.MaxAbandonedTool+1 {
			t.Error("the tool is not called again although it returns now")
		}
	})
}

func TestCallsRunAtOnceAndWithinTheirNumber(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		tools := toolFuncs{"wait": func(context.Context, agent.Call, func(string)) (agent.Output, error) {
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(time.Second)
			now.Add(-1)
			return agent.Output{Text: "x"}, nil
		}}
		var pairs []string
		for i := range 60 {
			pairs = append(pairs, "wait", fmt.Sprintf(`{"n":%d}`, i))
		}
		model := newScriptedModel(t, replies(call(pairs...), say("done")))
		a := start(t, agent.Options{Model: model, Tools: tools, Limits: agent.Limits{MaxParallel: 5}})
		began := time.Now()
		got := ask(t, a, agent.Query{})
		if took := time.Since(began); got.Calls != 60 || most.Load() != 5 || took != 12*time.Second {
			t.Errorf("%d calls, at most %d at once, in %v", got.Calls, most.Load(), took)
		}
	})
}
