package anthropic_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/anthropic"
)

var question = &agent.Request{Messages: []agent.Message{{Role: agent.RoleUser, Text: "a"}}}

// canned answers every request with the same body.
type canned struct {
	status int
	kind   string
	header http.Header
	body   func(*http.Request) io.ReadCloser
}

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	io.Copy(io.Discard, r.Body)
	r.Body.Close()
	h := http.Header{"Content-Type": {c.kind}}
	maps.Copy(h, c.header)
	return &http.Response{StatusCode: c.status, Header: h, Body: c.body(r), Request: r, ProtoMajor: 1, ProtoMinor: 1}, nil
}

func said(status int, kind, text string) canned {
	return canned{status, kind, nil, func(*http.Request) io.ReadCloser { return io.NopCloser(strings.NewReader(text)) }}
}

func streamed(text string) canned { return said(200, "text/event-stream", text) }

func cannedModel(t testing.TB, c canned) *anthropic.Model {
	m, err := anthropic.New(anthropic.Options{BaseURL: "http://model.test", Key: "sk-ant-secret-key", Model: "m", HTTPClient: &http.Client{Transport: c}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

const (
	begin = `event: message_start
data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{"input_tokens":10,"cache_read_input_tokens":30,"cache_creation_input_tokens":5,"output_tokens":1}}}

`
	end = `event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}

event: message_stop
data: {"type":"message_stop"}

`
	oneWord = `event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}

`
	textBlock = `event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

`
)

func event(v string, args ...any) string { return "data: " + fmt.Sprintf(v, args...) + "\n\n" }

func TestStreams(t *testing.T) {
	t.Parallel()
	usage := agent.Usage{Input: 45, Cached: 30, Output: 7}
	stop := func(reason string) string {
		return event(`{"type":"message_delta","delta":{"stop_reason":%q},"usage":{"output_tokens":7}}`, reason) + event(`{"type":"message_stop"}`)
	}
	for name, c := range map[string]struct {
		body string
		want agent.Message
		stop agent.Stop
	}{
		"text": {begin + "event: ping\ndata: {\"type\": \"ping\"}\n\n" + textBlock + oneWord + oneWord + end, agent.Message{Text: "xx"}, agent.StopEnd},
		"calls in pieces": {
			begin +
				event(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}`) +
				event(`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"b","name":"g","input":{}}}`) +
				event(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"x\":"}}`) +
				event(`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}`) +
				event(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":" tru"}}`) + stop("tool_use"),
			agent.Message{Calls: []agent.Call{{ID: "a", Name: "f", Arguments: `{"x": tru`}, {ID: "b", Name: "g", Arguments: "{}"}}},
			agent.StopCalls,
		},
		"a call at once": {
			begin + event(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{"x": 1}}}`) + stop("end_turn"),
			agent.Message{Calls: []agent.Call{{ID: "a", Name: "f", Arguments: `{"x": 1}`}}},
			agent.StopCalls,
		},
		"unknown kinds": {begin + event(`{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"a","name":"web_search","input":{}}}`) +
			event(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}`) + event(`{"type":"what_is_this"}`) +
			event(`{"type":"content_block_start","index":3,"content_block":{"type":"text","text":"y"}}`) + stop("end_turn"), agent.Message{Text: "y"}, agent.StopEnd},
		"length":  {begin + textBlock + oneWord + stop("max_tokens"), agent.Message{Text: "x"}, agent.StopLength},
		"window":  {begin + textBlock + oneWord + stop("model_context_window_exceeded"), agent.Message{Text: "x"}, agent.StopOverflow},
		"refusal": {begin + stop("refusal"), agent.Message{}, agent.StopRefused},
		"whole": {
			`{"type":"message","role":"assistant","content":[{"type":"text","text":"y"},{"type":"tool_use","id":"a","name":"f","input":{"x":1}}],"stop_reason":"tool_use","usage":{"input_tokens":45,"output_tokens":7}}`,
			agent.Message{Text: "y", Calls: []agent.Call{{ID: "a", Name: "f", Arguments: `{"x":1}`}}},
			agent.StopCalls,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var text strings.Builder
			one, err := cannedModel(t, streamed(c.body)).Generate(t.Context(), question, func(s string) { text.WriteString(s) })
			if err != nil {
				t.Fatal(err)
			}
			c.want.Role = agent.RoleAssistant
			want := &agent.Reply{Message: c.want, Stop: c.stop, Usage: usage}
			if name == "whole" {
				want.Usage.Cached = 0
			}
			if diff := cmp.Diff(want, one); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if text.String() != c.want.Text {
				t.Errorf("streamed %q", text.String())
			}
		})
	}
}

// TestInterleaved: thoughts between words and calls, some of them not readable, go back in
// their places and to the letter.
func TestInterleaved(t *testing.T) {
	t.Parallel()
	blocks := `[{"type":"thinking","thinking":"a <b> & \u2028 c","signature":"c2lnMQ=="},{"type":"text","text":"one"},` +
		`{"type":"redacted_thinking","data":"ZGF0YS8r"},{"type":"tool_use","id":"t1","name":"f","input":{"x":1}},` +
		`{"type":"thinking","thinking":"","signature":"c2lnMg=="},{"type":"text","text":"two"},{"type":"tool_use","id":"t2","name":"g","input":{}}]`
	var body []byte
	c := streamed(`{"type":"message","role":"assistant","content":` + blocks + `,"stop_reason":"tool_use","usage":{}}`)
	m, err := anthropic.New(anthropic.Options{BaseURL: "http://model.test", Model: "m", Provider: "anthropic", HTTPClient: &http.Client{Transport: keeping{c, &body}}})
	if err != nil {
		t.Fatal(err)
	}
	one, err := m.Generate(t.Context(), question, nothing)
	if err != nil {
		t.Fatal(err)
	}
	r := &agent.Request{Messages: []agent.Message{
		question.Messages[0], one.Message,
		{Role: agent.RoleTool, CallID: "t1", Text: "r"},
		{Role: agent.RoleTool, CallID: "t2", Text: "r"},
	}}
	if _, err := m.Generate(t.Context(), r, nothing); err != nil {
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

const anthropicPatience = 5 * time.Minute

func TestLongAnswers(t *testing.T) {
	word := event(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%q}}`, strings.Repeat("y", 64<<10))
	long := func(words int) canned {
		return canned{200, "text/event-stream", nil, func(*http.Request) io.ReadCloser {
			parts := []io.Reader{strings.NewReader(begin + textBlock)}
			for range words {
				parts = append(parts, strings.NewReader(word))
			}
			return io.NopCloser(io.MultiReader(append(parts, strings.NewReader(end))...))
		}}
	}
	live := func() uint64 {
		runtime.GC()
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return s.HeapAlloc
	}
	m := cannedModel(t, long(256))
	before, most, pieces := live(), uint64(0), 0
	one, err := m.Generate(t.Context(), question, func(string) {
		if pieces++; pieces%64 == 0 {
			most = max(most, live())
		}
	})
	if err != nil || len(one.Message.Text) != 16<<20 {
		t.Fatalf("%v", err)
	}
	after := live()
	runtime.KeepAlive(one)
	t.Logf("16 MiB of answer: %.1f MiB live while it comes, %.1f MiB at its end", float64(most-before)/(1<<20), float64(after-before)/(1<<20))
	if most-before > 48<<20 || after-before > 32<<20 {
		t.Errorf("live heap grew by %d while it came, and by %d at its end", most-before, after-before)
	}
	_, err = cannedModel(t, long(257)).Generate(t.Context(), question, nothing)
	if e := failure(t, err); e.Failure != agent.Oversized || !strings.Contains(e.Text, "longer than") {
		t.Errorf("%+v", e)
	}
}

// FuzzStream: whatever comes, an answer or an error that can be shown comes of it, and the
// answer can be sent back.
func FuzzStream(f *testing.F) {
	f.Add([]byte(begin + textBlock + oneWord + end))
	f.Add([]byte(begin + event(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{"x":[1e999]}}}`) + end))
	f.Add([]byte(begin + event(`{"type":"content_block_start","index":-1,"content_block":{"type":"thinking","thinking":"a","signature":"b"}}`) + end))
	f.Add([]byte(`{"type":"message","content":[{"type":"redacted_thinking","data":"a"},{"type":"tool_use","input":7}],"stop_reason":"tool_use"}`))
	f.Add([]byte("event: error\n" + event(`{"type":"error","error":{"type":"overloaded_error","message":"\ud800"}}`)))
	f.Add([]byte("data: " + strings.Repeat("[", 300) + "\n\n"))
	f.Add([]byte(begin + "data: {\"type\":\"content_block_start\",\"content_block\":" + strings.Repeat("{\"input\":", 300)))
	f.Fuzz(func(t *testing.T, body []byte) {
		var text strings.Builder
		one, err := cannedModel(t, streamed(string(body))).Generate(t.Context(), question, func(s string) { text.WriteString(s) })
		if err != nil {
			e := failure(t, err)
			if len(e.Text) > 300 || !utf8.ValidString(e.Text) || e.Failure == "" {
				t.Errorf("%+v", e)
			}
			return
		}
		if len(text.String()) != len(one.Message.Text) || one.Stop == "" {
			t.Errorf("streamed %q, answered %+v", text.String(), one)
		}
		r := &agent.Request{Messages: []agent.Message{question.Messages[0], one.Message}}
		for _, c := range one.Message.Calls {
			if c.ID == "" || c.Arguments == "" {
				t.Errorf("call %+v", c)
			}
			r.Messages = append(r.Messages, agent.Message{Role: agent.RoleTool, CallID: c.ID, Text: "b"})
		}
		if _, err := cannedModel(t, streamed(begin+textBlock+oneWord+end)).Generate(t.Context(), r, nothing); err != nil {
			t.Errorf("the answer can't be sent back: %v", err)
		}
	})
}
