package repair_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/window/repair"
	"github.com/plimsoll/plimsoll/window/wire"
)

// TestLateResult: a result that comes after its call was sent with a note leaves what was sent as it was, and is told where it stands.
func TestLateResult(t *testing.T) {
	for _, c := range []struct {
		name    string
		dialect wire.Dialect
		sent    string // messages of the request that was sent first
		more    string // those that the client appends
		want    []string
	}{
		{
			"messages", wire.Messages,
			`{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"a1","name":"sh","input":{}}]},{"role":"user","content":"wait"}`,
			`{"role":"assistant","content":[{"type":"tool_use","id":"a2","name":"sh","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a2","content":"two"},{"type":"tool_result","tool_use_id":"a1","content":[{"type":"text","text":"one, late"},{"type":"image","source":{"type":"url","url":"http://x/y.png"}}]}]}`,
			[]string{"one, late", "y.png", "The result of the call a1 came late", `"two"`},
		},
		{
			"chat", wire.Chat,
			`{"role":"user","content":"go"},{"role":"assistant","tool_calls":[{"id":"a1","type":"function","function":{"name":"sh","arguments":"{}"}}]},{"role":"user","content":"wait"}`,
			`{"role":"assistant","tool_calls":[{"id":"a2","type":"function","function":{"name":"sh","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a1","content":"one, late"},{"role":"tool","tool_call_id":"a2","content":"two"}`,
			[]string{"one, late", "The result of the call a1 came late", `"two"`},
		},
		{
			"responses", wire.Responses,
			`{"role":"user","content":"go"},{"type":"function_call","call_id":"a1","name":"sh","arguments":"{}"},{"role":"user","content":"wait"}`,
			`{"type":"function_call","call_id":"a2","name":"sh","arguments":"{}"},{"type":"function_call_output","call_id":"a2","output":"two"},{"type":"function_call_output","call_id":"a1","output":"one, late"}`,
			[]string{"one, late", "The result of the call a1 came late", `"two"`},
		},
		{
			"gemini", wire.Gemini,
			`{"role":"user","parts":[{"text":"go"}]},{"role":"model","parts":[{"functionCall":{"id":"a1","name":"sh","args":{}}}]},{"role":"user","parts":[{"text":"wait"}]}`,
			`{"role":"model","parts":[{"functionCall":{"id":"a2","name":"ls","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"id":"a2","name":"ls","response":{"output":"two"}}},{"functionResponse":{"id":"a1","name":"sh","response":{"output":"one, late"}}}]}`,
			[]string{"one, late", "The result of the call a1 came late", `"two"`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			list := map[wire.Dialect]string{wire.Messages: "messages", wire.Chat: "messages", wire.Responses: "input", wire.Gemini: "contents"}[c.dialect]
			parse := func(messages string) *wire.Request {
				t.Helper()
				r, err := wire.Parse(c.dialect, []byte(`{"model":"m","max_tokens":9,"`+list+`":[`+messages+`]}`))
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			first, done, err := repair.Repair(parse(c.sent), repair.Options{})
			if err != nil || len(done) == 0 {
				t.Fatalf("%v, %v", done, err)
			}
			sent := string(first.Body[first.List.Start+1 : first.List.End-1])
			next, done, err := repair.Repair(parse(sent+","+c.more), repair.Options{Frozen: len(first.Messages)})
			if err != nil || len(done) == 0 || done[0].Kind != repair.Late || done[0].CallID != "a1" {
				t.Fatalf("%v, %v", done, err)
			}
			if !bytes.HasPrefix(next.Body, first.Body[:first.List.End-1]) {
				t.Errorf("what was sent:\n%s\nbecame\n%s", first.Body, next.Body)
			}
			for _, words := range c.want {
				if strings.Count(string(next.Body), words) != 1 {
					t.Errorf("%q is not there once:\n%s", words, next.Body)
				}
			}
			if err := wire.Validate(c.dialect, next.Body); err != nil {
				t.Errorf("%v\n%s", err, next.Body)
			}
			again, done, err := repair.Repair(next, repair.Options{Frozen: len(first.Messages)})
			if again != next || len(done) > 0 || err != nil {
				t.Errorf("a second time: %v, %v", done, err)
			}
		})
	}
}
