package adapters

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/testing/scripted"
)

// Tools are tools with a schema that fits, with one that does not say that it is an object, and with none; a wire may change them.
func Tools() []agent.ToolSpec {
	return []agent.ToolSpec{
		{Name: "search", Description: "Finds things.", Schema: json.RawMessage(`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}},"$defs":{"x":{}}}`)},
		{Name: "files.read", Schema: json.RawMessage(`{"properties":{"path":{"type":"string"}}}`)},
		{Name: "now"},
	}
}

// History has what other models and conversations that were cut leave behind: empty messages, thoughts of another model, and calls with
// unfit names, ids and arguments.
func History() []agent.Message {
	long := strings.Repeat("long.id:", 10)
	return []agent.Message{
		{Role: agent.RoleUser, Text: ""},
		{Role: agent.RoleAssistant, Text: "\n"},
		{Role: agent.RoleUser, Text: "b"},
		{Role: agent.RoleAssistant},
		{Role: agent.RoleAssistant, Text: "x", Calls: []agent.Call{
			{ID: long, Name: "search", Arguments: `{"a": `},
			{ID: "two", Name: "", Arguments: `[1,2]`},
			{ID: "three", Name: strings.Repeat("x", 100), Arguments: ""},
		}, Opaque: json.RawMessage(`{"model":"another","member":"reasoning_content","reasoning":"theirs"}`)},
		{Role: agent.RoleTool, CallID: long, Text: "not JSON", Failed: true},
		{Role: agent.RoleTool, CallID: "two", Text: "x\x00\xffy"},
		{Role: agent.RoleTool, CallID: "three", Text: " \n"},
		{Role: agent.RoleAssistant, Text: "one "},
		{Role: agent.RoleAssistant, Text: "two \n"},
	}
}

// Talk is a conversation with two calls at once, notes to their results, and a last step without tools.
type Talk struct {
	Model    func(url string) agent.Model // with the key that Provider demands
	Provider scripted.Options             // without a script
	Tools    []agent.ToolSpec
	Sent     string    // the name that the last tool has on the wire; both are called, the first and the last
	Thoughts [2]string // of the first two answers
	Between  bool      // a note stands between the results too, for an adapter that puts them in order
}

// Hold holds the conversation. It returns the two calls, and the three requests as the provider got them.
func (c Talk) Hold(t *testing.T) ([]agent.Call, []*scripted.Recorded) {
	t.Helper()
	first, last := c.Tools[0].Name, c.Tools[len(c.Tools)-1].Name
	bye := scripted.Reply{Text: "Bye."}
	o := c.Provider
	o.Side = func(int, *scripted.Request) scripted.Reply { return bye } // a protocol may declare no tools in the last step
	o.Script = scripted.Replies(
		scripted.Reply{Thinking: c.Thoughts[0], Text: "I look.", Calls: []scripted.Call{{Tool: first, Args: map[string]any{"z": "needle ✓", "a": 3}}, {Tool: c.Sent}}},
		scripted.Reply{Thinking: c.Thoughts[1], Text: "Found: needle ✓."},
		bye,
	)
	p := scripted.New(o)
	server := httptest.NewServer(p)
	defer server.Close()
	m := c.Model(server.URL)
	r := &agent.Request{
		System: "You search.", Tools: c.Tools, MaxOutput: 500, Session: "one",
		Messages: []agent.Message{{Role: agent.RoleUser, Text: "find the needle"}},
	}
	step := func(stop agent.Stop, want string) *agent.Reply {
		t.Helper()
		var text strings.Builder
		reply, err := m.Generate(t.Context(), r, func(s string) { text.WriteString(s) })
		if err != nil {
			t.Fatal(err)
		}
		if reply.Stop != stop || reply.Message.Text != want || text.String() != want || reply.Usage.Input == 0 || reply.Usage.Cached > reply.Usage.Input || reply.Usage.Output == 0 {
			t.Fatalf("streamed %q, answered %+v", text.String(), reply)
		}
		r.Messages = append(r.Messages, reply.Message)
		return reply
	}
	calls := step(agent.StopCalls, "I look.").Message.Calls
	if len(calls) != 2 || calls[0].ID == "" || calls[0].ID == calls[1].ID {
		t.Fatalf("calls %+v", calls)
	}
	want := []agent.Call{{ID: calls[0].ID, Name: first, Arguments: `{"a":3,"z":"needle ✓"}`}, {ID: calls[1].ID, Name: last, Arguments: "{}"}}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Fatalf("calls (-want +got):\n%s", diff)
	}
	r.Messages = append(r.Messages, agent.Message{Role: agent.RoleTool, CallID: calls[0].ID, Name: first, Text: "needle ✓", Failed: true})
	if c.Between {
		r.Messages = append(r.Messages, agent.Message{Role: agent.RoleUser, Text: "quick"})
	}
	r.Messages = append(r.Messages,
		agent.Message{Role: agent.RoleTool, CallID: calls[1].ID, Name: last},
		agent.Message{Role: agent.RoleUser, Text: " "},
		agent.Message{Role: agent.RoleUser, Text: "please"},
	)
	if u := step(agent.StopEnd, "Found: needle ✓.").Usage; u.Cached == 0 {
		t.Errorf("nothing of the conversation was cached: %+v", u)
	}
	// The last step has no tools; the calls of the history are still of known ones.
	r.Messages = append(r.Messages, agent.Message{Role: agent.RoleUser, Text: "bye"})
	r.Tools = nil
	step(agent.StopEnd, "Bye.")
	return calls, p.Requests()
}
