package agent_test

import (
	"context"
	"strings"
	"testing"

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
