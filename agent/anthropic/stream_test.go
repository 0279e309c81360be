package anthropic_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/anthropic"
	"github.com/plimsoll/plimsoll/internal/testing/adapters"
)

const (
	begin = `event: message_start
data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{"input_tokens":10,"cache_read_input_tokens":30,"cache_creation_input_tokens":5,"output_tokens":1}}}

`
	end = `event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}

event: message_stop
data: {"type":"message_stop"}

`
	textBlock = `event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

`
)

func word(s string) string {
	return "event: content_block_delta\n" + event(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%q}}`, s)
}

func event(v string, args ...any) string { return "data: " + fmt.Sprintf(v, args...) + "\n\n" }

func TestStreams(t *testing.T) {
	t.Parallel()
	streamed := func(events string, m agent.Message, stop agent.Stop) adapters.Streamed {
		return adapters.Streamed{Events: events, Want: agent.Reply{Message: m, Stop: stop, Usage: agent.Usage{Input: 45, Cached: 30, Output: 7}}}
	}
	stop := func(reason string) string {
		return event(`{"type":"message_delta","delta":{"stop_reason":%q},"usage":{"output_tokens":7}}`, reason) + event(`{"type":"message_stop"}`)
	}
	adapters.Streams(t, wire, map[string]adapters.Streamed{
		"text": streamed(begin+"event: ping\ndata: {\"type\": \"ping\"}\n\n"+textBlock+word("x")+word("x")+end, agent.Message{Text: "xx"}, agent.StopEnd),
		"calls in pieces": streamed(
			begin+
				event(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}`)+
				event(`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"b","name":"g","input":{}}}`)+
				event(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"x\":"}}`)+
				event(`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}`)+
				event(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":" tru"}}`)+stop("tool_use"),
			agent.Message{Calls: []agent.Call{{ID: "a", Name: "f", Arguments: `{"x": tru`}, {ID: "b", Name: "g", Arguments: "{}"}}},
			agent.StopCalls,
		),
		"a call at once": streamed(
			begin+event(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{"x": 1}}}`)+stop("end_turn"),
			agent.Message{Calls: []agent.Call{{ID: "a", Name: "f", Arguments: `{"x": 1}`}}},
			agent.StopCalls,
		),
		"unknown kinds": streamed(
			begin+event(`{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"a","name":"web_search","input":{}}}`)+
				event(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}`)+event(`{"type":"what_is_this"}`)+
				event(`{"type":"content_block_start","index":3,"content_block":{"type":"text","text":"y"}}`)+stop("end_turn"),
			agent.Message{Text: "y"},
			agent.StopEnd,
		),
		"length":  streamed(begin+textBlock+word("x")+stop("max_tokens"), agent.Message{Text: "x"}, agent.StopLength),
		"window":  streamed(begin+textBlock+word("x")+stop("model_context_window_exceeded"), agent.Message{Text: "x"}, agent.StopOverflow),
		"refusal": streamed(begin+stop("refusal"), agent.Message{}, agent.StopRefused),
		"whole": streamed(
			`{"type":"message","role":"assistant","content":[{"type":"text","text":"y"},{"type":"tool_use","id":"a","name":"f","input":{"x":1}}],"stop_reason":"tool_use","usage":{"input_tokens":15,"cache_read_input_tokens":30,"output_tokens":7}}`,
			agent.Message{Text: "y", Calls: []agent.Call{{ID: "a", Name: "f", Arguments: `{"x":1}`}}},
			agent.StopCalls,
		),
	})
}

// TestInterleaved: thoughts between words and calls, some of them not readable, go back in
// their places and to the letter.
func TestInterleaved(t *testing.T) {
	t.Parallel()
	blocks := `[{"type":"thinking","thinking":"a <b> & \u2028 c","signature":"c2lnMQ=="},{"type":"text","text":"one"},` +
		`{"type":"redacted_thinking","data":"ZGF0YS8r"},{"type":"tool_use","id":"t1","name":"f","input":{"x":1}},` +
		`{"type":"thinking","thinking":"","signature":"c2lnMg=="},{"type":"text","text":"two"},{"type":"tool_use","id":"t2","name":"g","input":{}}]`
	var body []byte
	a := adapters.Stream(`{"type":"message","role":"assistant","content":` + blocks + `,"stop_reason":"tool_use","usage":{}}`)
	a.Sent = &body
	m := model(t, anthropic.Options{BaseURL: "http://model.test", Provider: "anthropic", HTTPClient: a.Client()})
	one, err := m.Generate(t.Context(), adapters.Question, adapters.Ignore)
	if err != nil {
		t.Fatal(err)
	}
	r := &agent.Request{Messages: []agent.Message{
		adapters.Question.Messages[0], one.Message,
		{Role: agent.RoleTool, CallID: "t1", Text: "r"},
		{Role: agent.RoleTool, CallID: "t2", Text: "r"},
	}}
	if _, err := m.Generate(t.Context(), r, adapters.Ignore); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Messages []struct{ Content []map[string]any }
	}
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	var want []map[string]any
	if err := json.Unmarshal([]byte(blocks), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.Messages[1].Content); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzStream(f *testing.F) {
	adapters.Fuzz(f, wire,
		begin+event(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{"x":[1e999]}}}`)+end,
		begin+event(`{"type":"content_block_start","index":-1,"content_block":{"type":"thinking","thinking":"a","signature":"b"}}`)+end,
		`{"type":"message","content":[{"type":"redacted_thinking","data":"a"},{"type":"tool_use","input":7}],"stop_reason":"tool_use"}`,
		"event: error\n"+event(`{"type":"error","error":{"type":"overloaded_error","message":"\ud800"}}`),
		begin+"data: {\"type\":\"content_block_start\",\"content_block\":"+strings.Repeat("{\"input\":", 300),
	)
}
