package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/plimsoll/plimsoll/agent"
)

// clerk is a model of the simplest kind: it looks at the stock, and says what it saw. A real
// one comes from agent/openai or agent/anthropic.
type clerk struct{}

func (clerk) Info() agent.ModelInfo { return agent.ModelInfo{Name: "clerk", Window: 8000} }

func (clerk) Generate(_ context.Context, r *agent.Request, text func(string)) (*agent.Reply, error) {
	last := r.Messages[len(r.Messages)-1]
	if last.Role == agent.RoleUser {
		return &agent.Reply{
			Message: agent.Message{Role: agent.RoleAssistant, Calls: []agent.Call{{ID: "1", Name: "stock", Arguments: `{"of":"ropes"}`}}},
			Stop:    agent.StopCalls,
		}, nil
	}
	answer := "There are " + last.Text + "."
	text(answer)
	return &agent.Reply{Message: agent.Message{Role: agent.RoleAssistant, Text: answer}, Stop: agent.StopEnd}, nil
}

// store is one tool. Package agent/toolbox makes tools of MCP servers and Go functions.
type store struct{}

func (store) List(context.Context) ([]agent.ToolSpec, error) {
	return []agent.ToolSpec{{
		Name: "stock", Description: "How many there are of a thing.", ReadOnly: true,
		Schema: json.RawMessage(`{"type":"object","properties":{"of":{"type":"string"}},"required":["of"]}`),
	}}, nil
}

func (store) Check(c agent.Call) error {
	if c.Name != "stock" || !strings.Contains(c.Arguments, `"of"`) {
		return fmt.Errorf("there is one tool, stock, and it wants a thing in %q", "of")
	}
	return nil
}

func (store) Call(_ context.Context, c agent.Call, _ func(string)) (agent.Output, error) {
	var args struct{ Of string }
	if err := json.Unmarshal([]byte(c.Arguments), &args); err != nil {
		return agent.Output{}, err
	}
	return agent.Output{Text: "12 " + args.Of}, nil
}

func Example() {
	a, err := agent.New(agent.Options{Model: clerk{}, Tools: store{}, System: "You keep the store of a ship."})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()

	result, err := a.Ask(context.Background(), agent.Query{
		Text:    "How many ropes are there?",
		Session: "harbour",
		Events: func(e agent.Event) {
			switch e.Kind {
			case agent.EventCall:
				fmt.Println("→", e.Call.Name, e.Call.Arguments)
			case agent.EventResult:
				fmt.Println("←", e.Result.Text)
			}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Outcome+":", result.Answer)
	// Output:
	// → stock {"of":"ropes"}
	// ← 12 ropes
	// completed: There are 12 ropes.
}
