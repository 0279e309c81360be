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
	"github.com/plimsoll/plimsoll/limit"
)

func TestAnAnswerWithTools(t *testing.T) {
	t.Parallel()
	shelf, events, j := newFakeStore(), &log{}, journal.New(journal.Options{})
	model := newScriptedModel(t, replies(call("echo", `{"n":1}`, "echo", `{"n":2}`), say("both are there")))
	a := start(t, agent.Options{Model: model, Conversations: shelf, Journal: j, System: "be brief", Tools: toolFuncs{
		"echo": func(ctx context.Context, c agent.Call, chunk func(string)) (agent.Output, error) {
			chunk("on the ")
			chunk("way")
			return echo(ctx, c, chunk)
		},
	}})
	got := ask(t, a, agent.Query{Session: "s", Events: events.add})
	if got.Outcome != agent.Completed || got.Answer != "both are there" || got.Steps != 2 || got.Calls != 2 || got.Detail != "" || got.Err != nil {
		t.Errorf("the result is %+v", got)
	}
	if got.Usage != (agent.Usage{Input: 20, Output: 2}) || got.PeakMemory.Total == 0 {
		t.Errorf("counted %+v and %+v", got.Usage, got.PeakMemory)
	}
	kept := shelf.get("s")
	if roles(kept) != "uatta" || kept[2].Text != `{"n":1}` || kept[3].Text != `{"n":2}` || kept[3].CallID != "c1" {
		t.Errorf("kept are %s: %+v", roles(kept), kept)
	}
	paired(t, kept)
	if text := events.text(agent.EventText); text != "both are there" {
		t.Errorf("the streamed text is %q", text)
	}
	if n := len(events.of(agent.EventChunk)); n != 4 {
		t.Errorf("%d pieces of output came, not 4", n)
	}
	for i, e := range events.of(agent.EventResult) {
		if e.Call == nil || e.Result == nil || e.Result.CallID != e.Call.ID {
			t.Errorf("result %d is %+v", i, e)
		}
	}
	counts := j.Counts()
	if counts["agent.query_started"] != 1 || counts["agent.query_ended"] != 1 || counts["agent.called"] != 2 {
		t.Errorf("the journal counted %v", counts)
	}
	if s := a.Stats(); s.Queries != 1 || s.Outcomes[agent.Completed] != 1 || s.Calls != 2 || s.Running != 0 || s.Leaked != 0 {
		t.Errorf("the agent counted %+v", s)
	}
	if m := a.MemoryUsage(); m != (agent.MemoryUsage{}) {
		t.Errorf("without queries it holds %+v", m)
	}
	if got = ask(t, a, agent.Query{Session: "s", Existing: true}); got.Outcome != agent.Completed {
		t.Errorf("the next turn ended with %+v", got)
	}
}

// What a step may end in, other than a plain answer.
func TestHowQueriesEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script func(int, *agent.Request, func(string)) (*agent.Reply, error)
		limits agent.Limits
		bare   bool // no tools
		want   agent.Outcome
		answer string
		detail string
		steps  int
	}{
		"no tools":                     {replies(say("hi")), agent.Limits{MaxSteps: 1}, true, agent.Completed, "hi", "", 1},
		"steps used up":                {replies(call("echo", "{}"), call("echo", `{"n":1}`), say("so far")), agent.Limits{MaxSteps: 3}, false, agent.StepLimit, "so far", "3 steps", 3},
		"steps used up and no answer":  {replies(call("echo", "{}"), call("echo", `{"n":1}`)), agent.Limits{MaxSteps: 2}, false, agent.StepLimit, "", "no answer without tools", 2},
		"calls without tools for ever": {replies(call("echo", "{}")), agent.Limits{MaxSteps: 3, Identical: 100}, true, agent.LoopDetected, "", "", 0},
		"refused":                      {replies(stop("", agent.StopRefused)), agent.Limits{}, false, agent.ModelFailed, "", "refused to answer", 1},
		"refused with words":           {replies(stop("I won't", agent.StopRefused)), agent.Limits{}, false, agent.ModelFailed, "I won't", "refused to answer", 1},
		"no room for words":            {replies(stop("", agent.StopLength)), agent.Limits{}, false, agent.ModelFailed, "", "max_output", 1},
		"in three parts":               {replies(stop("one ", agent.StopLength), stop("two ", agent.StopLength), say("three")), agent.Limits{}, false, agent.Completed, "one two three", "", 3},
		"in too many parts":            {replies(stop("on ", agent.StopLength)), agent.Limits{MaxParts: 2}, false, agent.StepLimit, "on on on ", "output limit", 3},
		"more parts than steps":        {replies(stop("on ", agent.StopLength)), agent.Limits{MaxSteps: 2}, true, agent.StepLimit, "on on ", "output limit", 2},
		"the window was full":          {replies(stop("one ", agent.StopOverflow), say("two")), agent.Limits{}, false, agent.Completed, "one two", "", 2},
		"too long an answer":           {replies(say(strings.Repeat("é", 100))), agent.Limits{MaxAnswer: 33}, false, agent.StepLimit, strings.Repeat("é", 16), "most that one may have", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shelf := newFakeStore()
			o := agent.Options{Model: newScriptedModel(t, c.script), Limits: c.limits, Conversations: shelf, Tools: toolFuncs{"echo": echo}}
			if c.bare {
				o.Tools = nil
			}
			events := &log{}
			got := ask(t, start(t, o), agent.Query{Session: "s", Events: events.add})
			if c.want == agent.LoopDetected { // or the steps end first: what counts is that it ends
				if got.Outcome != agent.LoopDetected && got.Outcome != agent.StepLimit {
					t.Errorf("ended with %+v", got)
				}
			} else if got.Outcome != c.want || got.Answer != c.answer || !strings.Contains(got.Detail, c.detail) || (got.Detail == "") != (got.Outcome == agent.Completed) {
				t.Errorf("ended with %+v; want %s, %q, %q", got, c.want, c.answer, c.detail)
			}
			if c.steps != 0 && got.Steps != c.steps {
				t.Errorf("%d steps, not %d", got.Steps, c.steps)
			}
			if text := events.text(agent.EventText); text != got.Answer {
				t.Errorf("streamed were %q, and the answer is %q", text, got.Answer)
			}
			kept := shelf.get("s")
			paired(t, kept)
			if last := kept[len(kept)-1]; got.Answer != "" && (last.Role != agent.RoleAssistant || last.Text != got.Answer) {
				t.Errorf("the answer %q was not kept: %+v", got.Answer, last)
			}
		})
	}
}

func TestTheLastStepIsWithoutTools(t *testing.T) {
	t.Parallel()
	model := newScriptedModel(t, replies(call("echo", "{}"), say("done")))
	ask(t, start(t, agent.Options{Model: model, Limits: agent.Limits{MaxSteps: 2}, Tools: toolFuncs{"echo": echo}, System: "be brief"}), agent.Query{})
	seen := model.seen()
	if len(seen[0].Tools) != 1 || strings.Contains(seen[0].System, agent.LastNote) {
		t.Errorf("the first request has %d tools and says %q", len(seen[0].Tools), seen[0].System)
	}
	if len(seen[1].Tools) != 0 || !strings.HasPrefix(seen[1].System, "be brief\n\n") || !strings.Contains(seen[1].System, agent.LastNote) {
		t.Errorf("the last request has %d tools and says %q", len(seen[1].Tools), seen[1].System)
	}
}

func TestTheRestOfAnAnswerIsAskedFor(t *testing.T) {
	t.Parallel()
	model := newScriptedModel(t, replies(stop("one ", agent.StopLength), call("echo", "{}"), say("end")))
	shelf := newFakeStore()
	got := ask(t, start(t, agent.Options{Model: model, Tools: toolFuncs{"echo": echo}, Conversations: shelf}), agent.Query{Session: "s"})
	seen := model.seen()
	if ms := seen[1].Messages; roles(ms) != "uau" || ms[1].Text != "one " || ms[2].Text != agent.GoOn {
		t.Errorf("the rest was asked for with %+v", ms)
	}
	kept := shelf.get("s")
	if got.Answer != "end" || roles(kept) != "uata" || kept[1].Text != "one " || len(kept[1].Calls) != 1 {
		t.Errorf("kept are %+v", kept)
	}
}

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

func TestWhatCannotBeConfigured(t *testing.T) {
	t.Parallel()
	model := newScriptedModel(t, replies(say("hi")))
	for _, l := range []agent.Limits{
		{MaxSteps: -1}, {MaxStepResult: 10}, {MaxStepResult: -1}, {Trigger: 0.5, Target: 0.8}, {Trigger: 1.5}, {ToolTimeout: -1}, {MaxAnswer: -limit.KiB},
	} {
		if _, err := agent.New(agent.Options{Model: model, Limits: l}); err == nil || !strings.Contains(err.Error(), "Limits.") {
			t.Errorf("%+v: %v", l, err)
		}
	}
	if _, err := agent.New(agent.Options{}); err == nil {
		t.Error("an agent without a model")
	}
	if l := start(t, agent.Options{Model: model}).Limits(); l.MaxSteps != 20 || l.MaxHistoryMessages != 40 || l.MaxStepResult != 8192 || l.CallHistory != 10 || l.Identical != 4 {
		t.Errorf("the defaults are %+v", l)
	}
}
