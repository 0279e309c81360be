package wire

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// events makes an event stream of JSON texts, named where they have a type.
func events(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		fmt.Fprintf(&b, "data: %s\n\n", d)
	}
	return b.String()
}

var answers = []struct {
	name    string
	dialect Dialect
	stream  bool
	body    string
	usage   Usage
	stop    string
	begun   bool
	done    bool
	failure string
	changes []Change
}{
	{
		name: "chat", dialect: Chat,
		body:  `{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":"a \"usage\": {"},"finish_reason":"stop"}],"usage":{"prompt_tokens":120,"completion_tokens":7,"total_tokens":127,"prompt_tokens_details":{"cached_tokens":100},"completion_tokens_details":{"reasoning_tokens":3}}}`,
		usage: Usage{Input: 120, Output: 7, CacheRead: 100, Reasoning: 3}, stop: "stop", begun: true, done: true,
	},
	{
		name: "chat stream", dialect: Chat, stream: true,
		body: events(`{"choices":[],"prompt_filter_results":[]}`, `{"choices":[{"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}`,
			`{"choices":[{"delta":{"content":"hi"}}]}`, `{"choices":[{"delta":{},"finish_reason":"length"}]}`,
			`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}}`, `[DONE]`),
		usage: Usage{Input: 9, Output: 2}, stop: "length", begun: true, done: true,
	},
	{
		name: "chat stream cut off", dialect: Chat, stream: true,
		body:  events(`{"choices":[{"delta":{"content":"hi"}}]}`) + `data: {"choices":[{"delta":{},"finish_rea`,
		begun: true,
	},
	{
		name: "error inside a 200", dialect: Chat, stream: true,
		body:    ": keep alive\n\n" + events(`{"error":{"object":"error","message":"The input (9 tokens) is longer than the model's context length (8 tokens).","type":"BadRequestError","code":400}}`, `[DONE]`),
		done:    true,
		failure: `{"error":{"object":"error","message":"The input (9 tokens) is longer than the model's context length (8 tokens).","type":"BadRequestError","code":400}}`,
	},
	{
		name: "error as a string", dialect: Chat,
		body: `{"error":"model not found"}`, done: true, failure: `{"error":"model not found"}`,
	},
	{
		name: "responses", dialect: Responses,
		body:  `{"id":"r","object":"response","status":"completed","error":null,"incomplete_details":null,"output":[{"type":"message","status":"in_progress","content":[{"type":"output_text","text":"x"}]}],"usage":{"input_tokens":50,"input_tokens_details":{"cached_tokens":40},"output_tokens":6,"output_tokens_details":{"reasoning_tokens":2}}}`,
		usage: Usage{Input: 50, Output: 6, CacheRead: 40, Reasoning: 2}, stop: "completed", begun: true, done: true,
	},
	{
		name: "responses held back", dialect: Responses, stream: true,
		body: events(`{"type":"response.created","response":{"id":"r","status":"in_progress","error":null,"output":[]}}`, `{"type":"response.in_progress","response":{"status":"in_progress"}}`, `{"type":"keepalive"}`),
	},
	{
		name: "responses incomplete", dialect: Responses, stream: true,
		body:  "event: response.incomplete\n" + events(`{"response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"usage":{"input_tokens":5,"output_tokens":1}},"type":"response.incomplete"}`),
		usage: Usage{Input: 5, Output: 1}, stop: "max_output_tokens", done: true,
	},
	{
		name: "responses completed", dialect: Responses, stream: true,
		body: events(`{"type":"response.completed","response":{"status":"completed","output":[{"type":"message"}]}}`),
		stop: "completed", begun: true, done: true,
	},
	{
		name: "responses failed", dialect: Responses, stream: true,
		body: events(`{"type":"response.created","response":{}}`, `{"type":"response.failed","response":{"status":"failed","error":{"code":"context_length_exceeded","message":"Your input exceeds the context window"}}}`),
		stop: "failed", done: true,
		failure: `{"type":"response.failed","response":{"status":"failed","error":{"code":"context_length_exceeded","message":"Your input exceeds the context window"}}}`,
	},
	{
		name: "responses error event", dialect: Responses, stream: true,
		body: events(`{"type":"error","code":"context_length_exceeded","message":"m","param":null}`),
		done: true, failure: `{"type":"error","code":"context_length_exceeded","message":"m","param":null}`,
	},
	{
		name: "messages", dialect: Messages,
		body:  `{"type":"message","role":"assistant","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"cache_creation_input_tokens":20,"cache_read_input_tokens":100,"cache_creation":{"ephemeral_5m_input_tokens":15,"ephemeral_1h_input_tokens":5},"output_tokens":4}}`,
		usage: Usage{Input: 123, Output: 4, CacheRead: 100, CacheWrite: 20, CacheHour: 5}, stop: "end_turn", begun: true, done: true,
	},
	{
		name: "messages stream", dialect: Messages, stream: true,
		body: strings.ReplaceAll("event: message_start\n"+events(`{"type":"message_start","message":{"type":"message","content":[],"stop_reason":null,"usage":{"input_tokens":3,"cache_creation_input_tokens":20,"cache_read_input_tokens":100,"output_tokens":1}}}`,
			`{"type": "ping"}`, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\\"}{"}}`,
			`{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":900,"output_tokens":44}}`,
			`{"type":"message_stop"}`), "\n", "\r\n"),
		usage: Usage{Input: 123, Output: 44, CacheRead: 100, CacheWrite: 20}, stop: "tool_use", begun: true, done: true,
	},
	{
		name: "messages stream that says the input last", dialect: Messages, stream: true,
		body: events(`{"type":"message_start","message":{"usage":{"input_tokens":0,"output_tokens":0}}}`,
			`{"type":"message_delta","delta":{"stop_reason":"model_context_window_exceeded"},"usage":{"input_tokens":70,"cache_read_input_tokens":30,"output_tokens":4}}`, `{"type":"message_stop"}`),
		usage: Usage{Input: 100, Output: 4, CacheRead: 30}, stop: "model_context_window_exceeded", done: true,
	},
	{
		name: "messages error event", dialect: Messages, stream: true,
		body: "event: error\n" + events(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`),
		done: true, failure: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`,
	},
	{
		name: "gemini stream", dialect: Gemini, stream: true,
		body: events(`{"candidates":[{"content":{"parts":[{"text":"a"}],"role":"model"}}],"usageMetadata":{"promptTokenCount":11,"totalTokenCount":11}}`,
			`{"candidates":[{"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":11,"cachedContentTokenCount":8,"candidatesTokenCount":5,"thoughtsTokenCount":2}}`),
		usage: Usage{Input: 11, Output: 7, CacheRead: 8, Reasoning: 2}, stop: "STOP", begun: true, done: true,
	},
	{
		name: "gemini array", dialect: Gemini,
		body:  "[{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}]}\n,\r\n{\"candidates\":[{\"finishReason\":\"MAX_TOKENS\"}],\"usageMetadata\":{\"promptTokenCount\":11,\"toolUsePromptTokenCount\":4}}]",
		usage: Usage{Input: 15}, stop: "MAX_TOKENS", begun: true, done: true,
	},
	{
		name: "gemini error array", dialect: Gemini,
		body: "[{\n  \"error\": {\"code\": 400, \"message\": \"too many\", \"status\": \"INVALID_ARGUMENT\"}\n}\n]",
		done: true, failure: "{\n  \"error\": {\"code\": 400, \"message\": \"too many\", \"status\": \"INVALID_ARGUMENT\"}\n}",
	},
	{
		name: "messages that dropped thinking", dialect: Messages,
		body: `{"type":"message","content":[{"type":"text","text":"x","input_transformations":[{"type":"no"}]}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":4},"input_transformations":[` +
			`{"type":"thinking_dropped","path":"messages.3.content.0","reason":"prefix_binding_mismatch"},{"reason":"prefix_binding_mismatch","type":"thinking_dropped"},{"type":"thinking_dropped","reason":null},{},7]}`,
		usage: Usage{Input: 3, Output: 4}, stop: "end_turn", begun: true, done: true,
		changes: []Change{{"thinking_dropped", "prefix_binding_mismatch", 2}, {"thinking_dropped", "", 1}, {"", "", 1}},
	},
	{
		name: "messages stream that dropped thinking", dialect: Messages, stream: true,
		body: events(`{"type":"message_start","message":{"content":[],"input_transformations":[{"type":"thinking_dropped","path":"messages.1.content.0","reason":"prefix_binding_mismatch"}],"usage":{"input_tokens":5}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}`, `{"type":"message_stop"}`),
		usage: Usage{Input: 5, Output: 2}, stop: "end_turn", begun: true, done: true, changes: []Change{{"thinking_dropped", "prefix_binding_mismatch", 1}},
	},
	{
		name: "messages stream that another model took over", dialect: Messages, stream: true,
		body: events(`{"type":"message_start","message":{"input_transformations":[{"type":"thinking_dropped","reason":"prefix_binding_mismatch"}]}}`,
			`{"type":"message_delta","input_transformations":[{"type":"thinking_dropped","reason":"model_binding_mismatch"},{"type":"thinking_dropped","reason":"model_binding_mismatch"}],"usage":{"output_tokens":2}}`),
		usage: Usage{Output: 2}, changes: []Change{{"thinking_dropped", "model_binding_mismatch", 2}},
	},
	{
		name: "nothing was dropped after all", dialect: Messages, stream: true,
		body: events(`{"type":"message_start","message":{"input_transformations":[{"type":"thinking_dropped"}]}}`, `{"type":"message_delta","input_transformations":[]}`),
	},
	{
		name: "responses that dropped reasoning", dialect: Responses, stream: true,
		body: events(`{"type":"response.created","response":{"status":"in_progress","input_transformations":[]}}`,
			`{"type":"response.completed","response":{"status":"completed","output":[],"input_transformations":[{"reason":"prefix_mismatch"},{"reason":"prefix_mismatch"}]}}`),
		stop: "completed", done: true, changes: []Change{{"", "prefix_mismatch", 2}},
	},
	{
		name: "more changes than are kept apart", dialect: Messages,
		body: `{"input_transformations":[{"type":"0"},{"type":"1"},{"type":"2"},{"type":"3"},{"type":"4"},{"type":"5"},{"type":"6"},{"type":"7"},{"type":"8"},{"type":"9"},{"type":"` + strings.Repeat("x", 100) + `"}]}`,
		done: true, changes: []Change{{"0", "", 1}, {"1", "", 1}, {"2", "", 1}, {"3", "", 1}, {"4", "", 1}, {"5", "", 1}, {"6", "", 1}, {"7", "", 4}},
	},
	{name: "html", dialect: Chat, body: "<html>\"{[</html>"},
	{name: "deep", dialect: Chat, body: `{"a":` + strings.Repeat("[", 100_000)},
	{name: "escaped names are others", dialect: Messages, body: `{"\u0075sage":{"input_tokens":3},"usage\\":{"input_tokens":4},"x":{"usage":{"input_tokens":5}}}`, done: true},
}

func same(a, b *Answer) bool {
	return a.Usage == b.Usage && a.StopReason == b.StopReason && a.Begun == b.Begun && a.Done == b.Done && a.Calls == b.Calls && string(a.ErrorBody) == string(b.ErrorBody) && slices.Equal(a.Changes, b.Changes)
}

// Who answered, and under which name, in every dialect; the id of a call in it is none.
func TestAnswerNamesItselfAndItsModel(t *testing.T) {
	for body, dialect := range map[string]Dialect{
		`{"id":"r-1","model":"m-1","choices":[{"message":{"tool_calls":[{"id":"call_9"}]}}]}`:                                                Chat,
		events(`{"id":"r-1","model":"m-1","choices":[]}`, `{"id":"r-2","model":"m-2","choices":[]}`):                                         Chat,
		events(`{"type":"message_start","message":{"id":"r-1","model":"m-1"}}`, `{"type":"content_block_start","content_block":{"id":"t"}}`): Messages,
		events(`{"type":"response.created","response":{"id":"r-1","model":"m-1"}}`):                                                          Responses,
		`{"candidates":[{"content":{"parts":[{"functionCall":{"id":"x"}}]}}],"modelVersion":"m-1","responseId":"r-1"}`:                       Gemini,
		`{"id":"r-1","model":"m-1","content":[{"type":"tool_use","id":"toolu_1"}]}`:                                                          Messages,
	} {
		a := NewAnswer(dialect, strings.HasPrefix(body, "data:") || strings.HasPrefix(body, "event:"))
		for i := range len(body) { // byte by byte
			_, _ = a.Write([]byte(body[i : i+1]))
		}
		if a.ID != "r-1" || a.Model != "m-1" {
			t.Errorf("%s: %q by %q", body, a.ID, a.Model)
		}
	}
	long := NewAnswer(Chat, false)
	_, _ = long.Write([]byte(`{"id":"` + strings.Repeat("x", 100) + `"}`))
	if long.ID != "" {
		t.Errorf("a part of an id: %s", long.ID)
	}
}

func TestAnswer(t *testing.T) {
	for _, c := range answers {
		t.Run(c.name, func(t *testing.T) {
			want := &Answer{Usage: c.usage, StopReason: c.stop, Begun: c.begun, Done: c.done, ErrorBody: []byte(c.failure), Changes: c.changes}
			whole := NewAnswer(c.dialect, c.stream)
			whole.Write([]byte(c.body))
			if !same(whole, want) {
				t.Errorf("at once: %+v %q begun %t done %t\nerror %s\nchanges %+v", whole.Usage, whole.StopReason, whole.Begun, whole.Done, whole.ErrorBody, whole.Changes)
			}
			bytewise := NewAnswer(c.dialect, c.stream)
			for i := range len(c.body) {
				bytewise.Write([]byte(c.body[i : i+1]))
			}
			if !same(bytewise, want) {
				t.Errorf("byte by byte: %+v %q begun %t done %t\nerror %s\nchanges %+v", bytewise.Usage, bytewise.StopReason, bytewise.Begun, bytewise.Done, bytewise.ErrorBody, bytewise.Changes)
			}
		})
	}
}

// Who comes next, by the answer in every dialect: the user, or the client with the result of a tool.
func TestAnswerEndsTheTurn(t *testing.T) {
	for _, c := range []struct {
		name    string
		dialect Dialect
		stream  bool
		body    string
		ends    bool
	}{
		{"chat", Chat, false, `{"choices":[{"message":{"content":"done"},"finish_reason":"stop"}]}`, true},
		{"chat, too long", Chat, false, `{"choices":[{"message":{"content":"do"},"finish_reason":"length"}]}`, true},
		{"chat calls", Chat, false, `{"choices":[{"message":{"tool_calls":[{"id":"a","type":"function","function":{"name":"ls"}}]},"finish_reason":"tool_calls"}]}`, false},
		{"chat calls and says stop", Chat, false, `{"choices":[{"message":{"tool_calls":[{"id":"a"}]},"finish_reason":"stop"}]}`, false},
		{"chat stream", Chat, true, events(`{"choices":[{"delta":{"content":"done"},"finish_reason":null}]}`, `{"choices":[{"delta":{},"finish_reason":"stop"}]}`, `[DONE]`), true},
		{"chat stream calls", Chat, true, events(`{"choices":[{"delta":{"tool_calls":[{"index":0}]}}]}`, `{"choices":[{"delta":{},"finish_reason":"stop"}]}`), false},
		{"chat stream is cut", Chat, true, events(`{"choices":[{"delta":{"content":"do"},"finish_reason":null}]}`), false},
		{"messages", Messages, false, `{"content":[{"type":"text","text":"done"}],"stop_reason":"end_turn"}`, true},
		{"messages refuses", Messages, false, `{"content":[],"stop_reason":"refusal"}`, true},
		{"messages calls", Messages, false, `{"content":[{"type":"tool_use","id":"a"}],"stop_reason":"tool_use"}`, false},
		{"messages pauses", Messages, false, `{"content":[{"type":"text","text":"x"}],"stop_reason":"pause_turn"}`, false},
		{"messages stream", Messages, true, events(`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`), true},
		{"messages stream calls", Messages, true, events(`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`), false},
		{"messages error", Messages, true, events(`{"type":"error","error":{"type":"overloaded_error"}}`), false},
		{"responses", Responses, false, `{"status":"completed","output":[{"type":"message","content":[]}]}`, true},
		{"responses searched by itself", Responses, false, `{"status":"completed","output":[{"type":"web_search_call"},{"type":"message"}]}`, true},
		{"responses calls", Responses, false, `{"status":"completed","output":[{"type":"function_call","call_id":"a"}]}`, false},
		{"responses stream", Responses, true, events(`{"type":"response.output_item.added","item":{"type":"message"}}`, `{"type":"response.completed","response":{"status":"completed","output":[{"type":"message"}]}}`), true},
		{"responses stream calls", Responses, true, events(`{"type":"response.output_item.added","item":{"type":"custom_tool_call"}}`, `{"type":"response.completed","response":{"status":"completed","output":[]}}`), false},
		{"responses stream calls, told at the end", Responses, true, events(`{"type":"response.completed","response":{"status":"completed","output":[{"type":"function_call"}]}}`), false},
		{"gemini", Gemini, false, `{"candidates":[{"content":{"parts":[{"text":"done"}]},"finishReason":"STOP"}]}`, true},
		{"gemini calls", Gemini, false, `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"ls"}}]},"finishReason":"STOP"}]}`, false},
		{"gemini stream calls", Gemini, true, events(`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"ls"}}]}}]}`, `{"candidates":[{"content":{"parts":[{"text":""}]},"finishReason":"STOP"}]}`), false},
		{"converse", Converse, false, `{"output":{"message":{"content":[{"text":"done"}]}},"stopReason":"end_turn"}`, true},
		{"converse calls", Converse, false, `{"output":{"message":{"content":[{"toolUse":{}}]}},"stopReason":"tool_use"}`, false},
	} {
		a := NewAnswer(c.dialect, c.stream)
		for i := range len(c.body) { // byte by byte
			_, _ = a.Write([]byte(c.body[i : i+1]))
		}
		if a.EndsTurn() != c.ends {
			t.Errorf("%s: ends the turn is %t; %q, calls %t", c.name, a.EndsTurn(), a.StopReason, a.Calls)
		}
	}
}

func TestAnswerKeepsNoLongError(t *testing.T) {
	a := NewAnswer(Chat, false)
	a.Write([]byte(`{"error":{"message":"`))
	for range 100 {
		a.Write([]byte(strings.Repeat("x", 10_000)))
	}
	a.Write([]byte(`"}}`))
	if len(a.ErrorBody) != ErrorBytes || cap(a.record) > 2*ErrorBytes {
		t.Errorf("an error of a megabyte left %d bytes, and a record of %d", len(a.ErrorBody), cap(a.record))
	}
}

func FuzzAnswer(f *testing.F) {
	for _, c := range answers {
		if len(c.body) < 10_000 {
			f.Add(uint8(c.dialect), c.stream, []byte(c.body), uint64(7))
		}
	}
	f.Fuzz(func(t *testing.T, d uint8, stream bool, body []byte, seed uint64) {
		whole := NewAnswer(Dialect(d), stream)
		whole.Write(body)
		r := rand.New(rand.NewPCG(seed, 1))
		pieces := NewAnswer(Dialect(d), stream)
		for rest := body; len(rest) > 0; {
			n := 1 + r.IntN(min(len(rest), 1+r.IntN(64)))
			if got, err := pieces.Write(rest[:n]); got != n || err != nil {
				t.Fatalf("Write(%d bytes) = %d, %v", n, got, err)
			}
			rest = rest[n:]
		}
		if len(whole.Changes) > maxChanges {
			t.Errorf("%d changes are kept apart", len(whole.Changes))
		}
		if !same(whole, pieces) {
			t.Errorf("at once %+v %q %t %t %q %+v, in pieces %+v %q %t %t %q %+v",
				whole.Usage, whole.StopReason, whole.Begun, whole.Done, whole.ErrorBody, whole.Changes,
				pieces.Usage, pieces.StopReason, pieces.Begun, pieces.Done, pieces.ErrorBody, pieces.Changes)
		}
	})
}

func BenchmarkAnswer(b *testing.B) {
	var s strings.Builder
	for range 2000 {
		s.WriteString("event: content_block_delta\n" + events(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"some words of the model"}}`))
	}
	body := []byte(s.String())
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		a := NewAnswer(Messages, true)
		for rest := body; len(rest) > 0; rest = rest[min(len(rest), 4096):] {
			a.Write(rest[:min(len(rest), 4096)])
		}
	}
}
