package agent_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/agent"
)

// dialogue makes messages of a word: u the user, a the model, c the model with a call
// for each t behind it, t a result.
func dialogue(word string) []agent.Message {
	var ms []agent.Message
	call := 0
	for i, r := range word {
		m := agent.Message{Text: fmt.Sprint(i)}
		switch r {
		case 'u':
			m.Role = agent.RoleUser
		case 'a':
			m.Role = agent.RoleAssistant
		case 'c':
			m.Role, call = agent.RoleAssistant, i
		case 't':
			m.Role, m.CallID = agent.RoleTool, fmt.Sprint("call ", i)
			ms[call].Calls = append(ms[call].Calls, agent.Call{ID: m.CallID, Name: "x", Arguments: "{}"})
		}
		ms = append(ms, m)
	}
	return ms
}

// places says which messages are left, by where they were.
func places(ms []agent.Message) string {
	var list []string
	for _, m := range ms {
		list = append(list, m.Text)
	}
	return strings.Join(list, " ")
}

func TestOldMessagesAreLeftOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		word string
		most int
		want string
	}{
		{"", 4, ""},
		{"ua", 4, "0 1"},
		{"uauau", 5, "0 1 2 3 4"},
		{"uauau", 4, "2 3 4"},
		{"uauau", 2, "4"},
		{"uauau", 0, "4"},
		{"ucttauau", 5, "5 6 7"}, // a turn goes as a whole, with its steps
		{"uau", 1, "2"},
		{"uctau", 3, "0 3 4"},           // of the turn before its steps go first
		{"ucttcttau", 6, "0 4 5 6 7 8"}, // the oldest of them
		{"ucttcttau", 5, "0 7 8"},       // a step is not cut in two
		{"ucttctt", 4, "0 4 5 6"},       // and the newest stays
		{"uctttttttttt", 3, "0 1 2 3 4 5 6 7 8 9 10 11"},
		{"uctctct", 5, "0 3 4 5 6"},
		{"aua", 4, "1 2"}, // the first is the user's
		{"ttua", 9, "2 3"},
		{"auaua", 2, "3 4"},
		{"ucta", 2, "0 3"}, // the answer stays without what it was made of
	} {
		var ms []agent.Message
		if !strings.HasPrefix(c.word, "t") {
			ms = dialogue(c.word)
		} else {
			ms = append([]agent.Message{{Role: agent.RoleTool, Text: "0"}, {Role: agent.RoleTool, Text: "1"}}, agent.Message{Role: agent.RoleUser, Text: "2"}, agent.Message{Role: agent.RoleAssistant, Text: "3"})
		}
		if got := places(agent.CutHistory(ms, c.most, 1<<30)); got != c.want {
			t.Errorf("%s in %d messages: %s are left, not %s", c.word, c.most, got, c.want)
		}
	}
	// Bytes count as messages do.
	large := dialogue("uauau")
	large[1].Text = strings.Repeat("x", 10_000)
	if got := agent.CutHistory(large, 40, 5000); roles(got) != "uau" {
		t.Errorf("%s is left", roles(got))
	}
}

func FuzzCutHistory(f *testing.F) {
	f.Add(uint64(1), 10, 1000)
	f.Fuzz(func(t *testing.T, seed uint64, messages, bytes int) {
		dice := rand.New(rand.NewPCG(seed, 2))
		var word strings.Builder
		for range 1 + dice.IntN(8) {
			word.WriteString("u")
			for range dice.IntN(4) {
				word.WriteString("c" + strings.Repeat("t", 1+dice.IntN(4)))
			}
			if dice.IntN(5) > 0 {
				word.WriteString("a")
			}
		}
		ms := dialogue(word.String())
		messages = max(messages, 0) % 60
		got := agent.CutHistory(ms, messages, int64(max(bytes, 0)%20_000))
		paired(t, got)
		if got[0].Role != agent.RoleUser {
			t.Errorf("%s became %s", word.String(), roles(got))
		}
		// The last question is there, and what is left is in its order.
		last := strings.LastIndex(word.String(), "u")
		if !slices.ContainsFunc(got, func(m agent.Message) bool { return m.Text == fmt.Sprint(last) }) {
			t.Errorf("%s became %s, without the last question", word.String(), places(got))
		}
		if again := agent.CutHistory(got, messages, 1<<30); len(again) > len(got) {
			t.Errorf("%s grew", roles(got))
		}
	})
}

// A session that goes on for long keeps its newest turns, and the model is told.
func TestALongSession(t *testing.T) {
	t.Parallel()
	shelf := newFakeStore()
	model := newScriptedModel(t, func(n int, r *agent.Request, _ func(string)) (*agent.Reply, error) {
		if last := r.Messages[len(r.Messages)-1]; last.Role == agent.RoleUser {
			return calls("echo", fmt.Sprintf(`{"n":%d}`, n), "echo", "{}")
		}
		return says(fmt.Sprint("answer ", n))
	})
	a := start(t, agent.Options{Model: model, Tools: toolFuncs{"echo": echo}, Conversations: shelf})
	left := 0
	for i := range 50 {
		events := &log{}
		got := ask(t, a, agent.Query{Text: fmt.Sprint("question ", i), Session: "s", Events: events.add})
		if got.Outcome != agent.Completed {
			t.Fatalf("ended with %+v", got)
		}
		left += len(events.of(agent.EventRoom))
		if kept := shelf.get("s"); len(kept) > 40 || kept[0].Role != agent.RoleUser {
			t.Fatalf("%d messages are kept: %s", len(kept), roles(kept))
		}
		paired(t, shelf.get("s"))
	}
	if left == 0 {
		t.Error("nobody was told")
	}
	for i, r := range model.seen() {
		if len(r.Messages) > 41 {
			t.Errorf("request %d has %d messages", i, len(r.Messages))
		}
	}
}

// A query with more steps than the conversation may have messages goes on with the newest.
func TestALongQuery(t *testing.T) {
	t.Parallel()
	model := newScriptedModel(t, func(n int, r *agent.Request, _ func(string)) (*agent.Reply, error) {
		if n == 19 {
			return says("done")
		}
		return calls("echo", fmt.Sprintf(`{"n":%d}`, n))
	})
	shelf := newFakeStore()
	a := start(t, agent.Options{Model: model, Tools: toolFuncs{"echo": echo}, Conversations: shelf, Limits: agent.Limits{MaxHistoryMessages: 10, MaxSteps: 30}})
	got := ask(t, a, agent.Query{Text: "the question", Session: "s"})
	if got.Outcome != agent.Completed || got.Steps != 20 {
		t.Fatalf("ended with %+v", got)
	}
	seen := model.seen()
	for i, r := range seen {
		if len(r.Messages) > 10 || r.Messages[0].Text != "the question" {
			t.Errorf("request %d: %s, beginning with %q", i, roles(r.Messages), r.Messages[0].Text)
		}
	}
	if last := seen[len(seen)-1]; !strings.Contains(last.System, "left out") || last.Messages[len(last.Messages)-1].Text != `{"n":18}` {
		t.Errorf("the last request says %q and ends with %+v", last.System, last.Messages[len(last.Messages)-1])
	}
	if kept := shelf.get("s"); len(kept) > 10 || kept[len(kept)-1].Text != "done" {
		t.Errorf("kept are %s", roles(kept))
	}
}

// A store that is full gets fewer messages, and the query goes on.
func TestAFullSession(t *testing.T) {
	t.Parallel()
	shelf := newFakeStore()
	shelf.sessions["s"] = dialogue("uauauauauaua")
	for i := range shelf.sessions["s"] {
		shelf.sessions["s"][i].Text = strings.Repeat("x", 1000)
	}
	refused := 0
	shelf.fail = func(op string, ms []agent.Message) error {
		size := agent.SizeOf(ms)
		if op == "append" {
			size += agent.SizeOf(shelf.sessions["s"])
		}
		if size > 15_000 {
			refused++
			return fmt.Errorf("%w: %d bytes", agent.ErrSessionFull, size)
		}
		return nil
	}
	tools := toolFuncs{"get": func(context.Context, agent.Call, func(string)) (agent.Output, error) {
		return agent.Output{Text: strings.Repeat("y", 4000)}, nil
	}}
	a := start(t, agent.Options{Model: newScriptedModel(t, replies(call("get", "{}", "get", `{"n":1}`), say("done"))), Tools: tools, Conversations: shelf})
	got := ask(t, a, agent.Query{Text: "the question", Session: "s"})
	kept := shelf.get("s")
	if got.Outcome != agent.Completed || refused == 0 {
		t.Errorf("refused %d times, ended with %+v", refused, got)
	}
	paired(t, kept)
	if !strings.HasSuffix(roles(kept), "uatta") {
		t.Errorf("kept are %s", roles(kept))
	}
	shelf.fail = func(string, []agent.Message) error { return agent.ErrSessionFull }
	if got := ask(t, a, agent.Query{Session: "s"}); got.Outcome != agent.Failed || !errors.Is(got.Err, agent.ErrSessionFull) {
		t.Errorf("when nothing fits: %+v", got)
	}
}
