package topic_test

import (
	"testing"

	"github.com/plimsoll/plimsoll/internal/window/topic"
	"github.com/plimsoll/plimsoll/window/wire"
)

func parsed(t testing.TB, d wire.Dialect, body []byte) *wire.Request {
	t.Helper()
	r, err := wire.Parse(d, body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestFreshPrompt goes through what stands at the end of requests.
func TestFreshPrompt(t *testing.T) {
	for name, c := range map[string]struct {
		d    wire.Dialect
		list string
		want int
	}{
		"a task":                           {wire.Messages, `{"role":"user","content":"go"}`, 0},
		"a reminder and a prompt":          {wire.Messages, `{"role":"user","content":[{"type":"text","text":"<system-reminder>\nx</system-reminder>"},{"type":"text","text":"go"}]},{"role":"system","content":"skills"}`, 0},
		"only a reminder":                  {wire.Messages, `{"role":"user","content":"<system-reminder>\nx</system-reminder>"}`, -1},
		"a notification":                   {wire.Messages, `{"role":"user","content":"go"},{"role":"assistant","content":"ok"},{"role":"user","content":"<task-notification>done</task-notification>"}`, -1},
		"a result":                         {wire.Messages, `{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"x","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"y"}]}`, -1},
		"a prompt beside a result":         {wire.Messages, `{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"x","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"y"},{"type":"text","text":"stop"}]}`, -1},
		"a prompt behind a result":         {wire.Chat, `{"role":"user","content":"go"},{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"x","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"y"},{"role":"user","content":"stop"}`, -1},
		"a second prompt":                  {wire.Chat, `{"role":"user","content":"go"},{"role":"assistant","content":"done"},{"role":"user","content":"more"}`, 2},
		"the model begins":                 {wire.Chat, `{"role":"user","content":"go"},{"role":"assistant","content":"done"}`, -1},
		"codex: environment, then prompt":  {wire.Responses, `{"role":"user","content":[{"type":"input_text","text":"<environment_context>x</environment_context>"}]},{"role":"user","content":[{"type":"input_text","text":"go"}]}`, 1},
		"codex: prompt behind an answer":   {wire.Responses, `{"role":"user","content":"go"},{"type":"reasoning","summary":[]},{"role":"assistant","content":[{"type":"output_text","text":"done"}]},{"role":"user","content":"more"}`, 3},
		"codex: prompt behind a call":      {wire.Responses, `{"role":"user","content":"go"},{"type":"function_call","call_id":"a","name":"x","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":"y"},{"role":"user","content":"more"}`, -1},
		"nothing":                          {wire.Gemini, ``, -1},
		"gemini: context and prompt":       {wire.Gemini, `{"role":"user","parts":[{"text":"<session_context>x</session_context>"},{"text":"go"}]}`, 0},
		"gemini: a result":                 {wire.Gemini, `{"role":"user","parts":[{"text":"go"}]},{"role":"model","parts":[{"functionCall":{"name":"x","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"x","response":{}}}]}`, -1},
		"a summary that was put in before": {wire.Chat, `{"role":"user","content":"[Plimsoll: summary of 9 earlier messages of this conversation."}`, -1},
	} {
		member := map[wire.Dialect]string{wire.Messages: "messages", wire.Chat: "messages", wire.Responses: "input", wire.Gemini: "contents"}[c.d]
		if got := topic.FreshPrompt(parsed(t, c.d, []byte(`{"`+member+`":[`+c.list+`]}`))); got != c.want {
			t.Errorf("%s: message %d, want %d", name, got, c.want)
		}
	}
}
