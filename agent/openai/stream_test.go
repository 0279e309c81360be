package openai_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/openai"
	"github.com/plimsoll/plimsoll/internal/testing/adapters"
)

// TestDialects are streams as servers really write them.
func TestDialects(t *testing.T) {
	t.Parallel()
	call := func(id, name, arguments string) agent.Call {
		return agent.Call{ID: id, Name: name, Arguments: arguments}
	}
	adapters.Streams(t, wire, map[string]adapters.Streamed{
		"pieces of two": {Events: `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}},{"index":1,"id":"b","function":{"name":"g","arguments":""}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{}"}},{"index":0,"function":{"arguments":":1}"}}]}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: [DONE]

`, Want: agent.Reply{Message: agent.Message{Calls: []agent.Call{call("a", "f", `{"x":1}`), call("b", "g", "{}")}}, Stop: agent.StopCalls}},
		"all with index 0": {Events: `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},{"index":0,"id":"b","function":{"name":"f","arguments":"{\"x\":2}"}}]},"finish_reason":"stop"}]}

data: [DONE]`, Want: agent.Reply{Message: agent.Message{Calls: []agent.Call{call("a", "f", "{}"), call("b", "f", `{"x":2}`)}}, Stop: agent.StopCalls}},
		"without index, name repeated": {Events: `data: {"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":""}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"2}"}}]},"finish_reason":"tool_calls"}]}

`, Want: agent.Reply{Message: agent.Message{Calls: []agent.Call{call("a", "f", `{"x":2}`)}}, Stop: agent.StopCalls}},
		"an object, no finish, but done": {Events: `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}}]}}]}

data: [DONE]

`, Want: agent.Reply{Message: agent.Message{Calls: []agent.Call{call("a", "f", `{"x":1}`)}}, Stop: agent.StopCalls}},
		"bad arguments": {Events: `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\": tru"}}]},"finish_reason":"length"}]}

`, Want: agent.Reply{Message: agent.Message{Calls: []agent.Call{call("a", "f", `{"x": tru`)}}, Stop: agent.StopLength}},
		"CRLF, comments, other choices, null error": {
			Events: "\xef\xbb\xbf: hi\r\n\r\ndata:{\"error\":null,\"choices\":[{\"index\":1,\"delta\":{\"content\":\"no\"}},{\"index\":0,\"delta\":{\"content\":\"ja \"}}]}\r\n\r\n: keep-alive\r\n\r\nid: 7\r\nevent: message\r\ndata: {\"choices\":[{\"index\":0,\r\ndata: \"delta\":{\"content\":\"wohl\"},\"finish_reason\":\"stop\"}]}\r\n\r\n",
			Want:   agent.Reply{Message: agent.Message{Text: "ja wohl"}, Stop: agent.StopEnd},
		},
		"words of errors": {Events: `data: {"choices":[{"delta":{"content":"{\"error\":\"none\"}"},"finish_reason":"eos"}]}

data: {"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":60}}}

data: [DONE]

`, Want: agent.Reply{Message: agent.Message{Text: `{"error":"none"}`}, Stop: agent.StopEnd, Usage: agent.Usage{Input: 100, Cached: 60, Output: 5}}},
		"usage of DeepSeek": {Events: `data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":5,"prompt_cache_hit_tokens":64}}

data: [DONE]`, Want: agent.Reply{Message: agent.Message{Text: "a"}, Stop: agent.StopEnd, Usage: agent.Usage{Input: 100, Cached: 64, Output: 5}}},
		"usage of Kimi": {Events: `data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop","usage":{"prompt_tokens":10,"completion_tokens":5,"cached_tokens":9}}]}

data: [DONE]`, Want: agent.Reply{Message: agent.Message{Text: "a"}, Stop: agent.StopEnd, Usage: agent.Usage{Input: 10, Cached: 9, Output: 5}}},
		"absurd usage": {Events: `data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":-5,"completion_tokens":1e300}}

data: [DONE]`, Want: agent.Reply{Message: agent.Message{Text: "a"}, Stop: agent.StopEnd, Usage: agent.Usage{Output: 1 << 40}}},
		"parts": {Events: `data: {"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"no"}]},{"type":"text","text":"yes"}]},"finish_reason":"stop"}]}

`, Want: agent.Reply{Message: agent.Message{Text: "yes"}, Stop: agent.StopEnd}},
		"refused": {Events: `data: {"choices":[{"delta":{"refusal":"I won't."},"finish_reason":"stop"}]}

`, Want: agent.Reply{Message: agent.Message{Text: "I won't."}, Stop: agent.StopRefused}},
		"filtered": {Events: `data: {"choices":[{"delta":{"content":"a"},"finish_reason":"content_filter"}]}

`, Want: agent.Reply{Message: agent.Message{Text: "a"}, Stop: agent.StopRefused}},
		"window": {Events: `data: {"choices":[{"delta":{"content":"a"},"finish_reason":"model_context_window_exceeded"}]}

`, Want: agent.Reply{Message: agent.Message{Text: "a"}, Stop: agent.StopOverflow}},
		"whole": {
			Events: `{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"a","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"g","arguments":""}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`,
			Want:   agent.Reply{Message: agent.Message{Text: "a", Calls: []agent.Call{call("a", "f", "{}"), call("b", "g", "{}")}}, Stop: agent.StopCalls, Usage: agent.Usage{Input: 3, Output: 4}},
		},
	})
}

func TestMissingIDs(t *testing.T) {
	t.Parallel()
	one, err := wire.Canned(t, adapters.Stream(`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f"}},{"index":1,"function":{"name":"g"}}]},"finish_reason":"tool_calls"}]}`)).Generate(t.Context(), adapters.Question, adapters.Ignore)
	if err != nil {
		t.Fatal(err)
	}
	c := one.Message.Calls
	if len(c) != 2 || c[0].ID == "" || c[0].ID == c[1].ID || c[0].Arguments != "{}" {
		t.Errorf("%+v", c)
	}
}

// TestSignedCalls: Gemini refuses calls that come back without their signatures.
func TestSignedCalls(t *testing.T) {
	t.Parallel()
	var sent []byte
	signature := `{"google":{"thought_signature":"c2ln\u003c"}}`
	a := adapters.Stream(`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","extra_content":` + signature + `,"function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`)
	a.Sent = &sent
	m := model(t, openai.Options{BaseURL: "http://model.test", Provider: "gemini", HTTPClient: a.Client()})
	r := adapters.Ask("a")
	one, err := m.Generate(t.Context(), r, adapters.Ignore)
	if err != nil {
		t.Fatal(err)
	}
	r.Messages = append(r.Messages, one.Message, agent.Message{Role: agent.RoleTool, CallID: "a", Text: "b"})
	if _, err := m.Generate(t.Context(), r, adapters.Ignore); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(sent, []byte(`"extra_content":`+signature)) {
		t.Errorf("sent %s", sent)
	}
}

func FuzzStream(f *testing.F) {
	adapters.Fuzz(f, wire,
		wire.Word("x")+"data: [DONE]\n\n",
		"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}],\"usage\":{\"prompt_tokens\":1e99}}\n\n",
		`{"choices":[{"message":{"content":"a","tool_calls":[{"id":"x"}]},"finish_reason":"stop"}]}`,
		"event: error\ndata: {\"error\":{\"message\":\"no\",\"code\":429}}\n\n",
		"data: {\"choices\":[{\"delta\":{\"reasoning_details\":[{\"a\":1}],\"reasoning\":\"b\",\"content\":[{\"type\":\"text\",\"text\":\"c\"}]},\"finish_reason\":\"stop\"}]}\r\n\r\n",
		"data: {\"choices\":["+strings.Repeat("{\"delta\":", 300),
	)
}
