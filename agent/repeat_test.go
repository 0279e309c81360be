package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/journal"
)

// The loop meets each of these for as many steps as there may be: those that are loops end
// early, the others don't.
func TestLoops(t *testing.T) {
	t.Parallel()
	tools := func() toolFuncs {
		polls := 0
		return toolFuncs{
			"list": func(context.Context, agent.Call, func(string)) (agent.Output, error) {
				return agent.Output{Text: "the same list"}, nil
			},
			"get": func(context.Context, agent.Call, func(string)) (agent.Output, error) {
				return agent.Output{Text: "the same thing"}, nil
			},
			"page": func(context.Context, agent.Call, func(string)) (agent.Output, error) {
				polls++
				return agent.Output{Text: fmt.Sprintf("a page; the rest is under the handle r_%d", polls), Digest: "of all that is kept"}, nil
			},
			"echo": echo,
			"broken": func(_ context.Context, c agent.Call, _ func(string)) (agent.Output, error) {
				return agent.Output{}, errors.New("no such thing")
			},
			"poll": func(context.Context, agent.Call, func(string)) (agent.Output, error) {
				polls++
				return agent.Output{Text: fmt.Sprintf("%d%% done", polls)}, nil
			},
		}
	}
	for name, c := range map[string]struct {
		call func(n int) []string
		want agent.Outcome
		rule string
		most int // steps
	}{
		"identical": {func(int) []string { return []string{"list", `{"a":1,"b":2}`} }, agent.LoopDetected, "identical", 6},
		"identical behind another handle each time": {func(int) []string { return []string{"page", `{}`} }, agent.LoopDetected, "identical", 6},
		"identical but for the order of keys": {func(n int) []string {
			return []string{"list", []string{`{"a":1,"b":2}`, `{ "b": 2, "a": 1 }`}[n%2]}
		}, agent.LoopDetected, "identical", 6},
		"A-B-A-B": {func(n int) []string { return []string{[]string{"list", "get"}[n%2], `{}`} }, agent.LoopDetected, "cycle", 8},
		"an error streak with changing arguments": {func(n int) []string {
			return []string{"broken", fmt.Sprintf(`{"n":%d}`, n)}
		}, agent.LoopDetected, "errors", 8},
		"malformed calls":             {func(n int) []string { return []string{"echo", fmt.Sprintf(`{"n":%d`, n)} }, agent.LoopDetected, "errors", 8},
		"polling that makes progress": {func(int) []string { return []string{"poll", `{}`} }, agent.StepLimit, "", 20},
		"a batch of 60 similar calls": {func(n int) []string {
			var pairs []string
			for i := range 60 {
				pairs = append(pairs, "echo", fmt.Sprintf(`{"app":"guestbook-%03d","step":%d}`, i, n))
			}
			return pairs
		}, agent.StepLimit, "", 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := func(n int, r *agent.Request, _ func(string)) (*agent.Reply, error) {
				if len(r.Tools) == 0 {
					return says("what there is")
				}
				return calls(c.call(n)...)
			}
			events, shelf, j := &log{}, newFakeStore(), journal.New(journal.Options{})
			model := newScriptedModel(t, script)
			a := start(t, agent.Options{Model: model, Tools: tools(), Conversations: shelf, Journal: j})
			got := ask(t, a, agent.Query{Session: "s", Events: events.add})
			if got.Outcome != c.want || got.Steps > c.most {
				t.Fatalf("ended with %+v", got)
			}
			nudges := events.of(agent.EventNudge)
			paired(t, shelf.get("s"))
			if c.want != agent.LoopDetected {
				if len(nudges) != 0 || j.Counts()["agent.loop"] != 0 {
					t.Errorf("told were %+v", nudges)
				}
				return
			}
			if len(nudges) != 1 || got.Detail == "" || got.Answer != "" {
				t.Fatalf("the model was told %d times, and the result is %+v", len(nudges), got)
			}
			seen := model.seen()
			told := slices.ContainsFunc(seen[len(seen)-1].Messages, func(m agent.Message) bool {
				return m.Role == agent.RoleTool && strings.HasSuffix(m.Text, "\n\n"+nudges[0].Text)
			})
			if !told {
				t.Errorf("no result in the last request ends in what was told: %q", nudges[0].Text)
			}
			var rules []string
			for rec := range j.Since(0) {
				if e, ok := rec.Event.(journal.AgentLoop); ok {
					rules = append(rules, fmt.Sprint(e.Rule, e.Ended))
				}
			}
			if len(rules) != 2 || rules[0] != c.rule+"false" || rules[1] != c.rule+"true" {
				t.Errorf("the journal has %v", rules)
			}
			// The next turn of the session goes on.
			again := start(t, agent.Options{Model: newScriptedModel(t, replies(say("something else"))), Conversations: shelf})
			if got := ask(t, again, agent.Query{Session: "s"}); got.Outcome != agent.Completed {
				t.Errorf("the next turn ended with %+v", got)
			}
		})
	}
}

// A model that heeds what it is told goes on.
func TestANudgeThatHelps(t *testing.T) {
	t.Parallel()
	script := func(n int, r *agent.Request, _ func(string)) (*agent.Reply, error) {
		if n >= 4 {
			return says("I see")
		}
		return calls("list", "{}")
	}
	tools := toolFuncs{"list": func(context.Context, agent.Call, func(string)) (agent.Output, error) {
		return agent.Output{Text: "x"}, nil
	}}
	got := ask(t, start(t, agent.Options{Model: newScriptedModel(t, script), Tools: tools}), agent.Query{})
	if got.Outcome != agent.Completed || got.Answer != "I see" || got.Steps != 5 {
		t.Errorf("ended with %+v", got)
	}
}
