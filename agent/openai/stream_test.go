package openai_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/openai"
)

// canned answers every request with the same body.
type canned struct {
	kind string
	body func(*http.Request) io.ReadCloser
}

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {c.kind}}, Body: c.body(r), Request: r, ProtoMajor: 1, ProtoMinor: 1}, nil
}

func cannedModel(t testing.TB, c canned, change func(*openai.Options)) *openai.Model {
	o := openai.Options{BaseURL: "http://model.test/v1", Model: "m", HTTPClient: &http.Client{Transport: c}}
	if change != nil {
		change(&o)
	}
	m, err := openai.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func said(text string) canned {
	return canned{"text/event-stream", func(*http.Request) io.ReadCloser { return io.NopCloser(strings.NewReader(text)) }}
}

// TestDialects are streams as servers really write them.
func TestDialects(t *testing.T) {
	t.Parallel()
	call := func(id, name, arguments string) agent.Call {
		return agent.Call{ID: id, Name: name, Arguments: arguments}
	}
	for name, c := range map[string]struct {
		body  string
		text  string
		calls []agent.Call
		stop  agent.Stop
		usage agent.Usage
	}{
		"pieces of two": {body: `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}},{"index":1,"id":"b","function":{"name":"g","arguments":""}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{}"}},{"index":0,"function":{"arguments":":1}"}}]}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: [DONE]

`, calls: []agent.Call{call("a", "f", `{"x":1}`), call("b", "g", "{}")}, stop: agent.StopCalls},
		"all with index 0": {body: `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},{"index":0,"id":"b","function":{"name":"f","arguments":"{\"x\":2}"}}]},"finish_reason":"stop"}]}

data: [DONE]`, calls: []agent.Call{call("a", "f", "{}"), call("b", "f", `{"x":2}`)}, stop: agent.StopCalls},
		"without index, name repeated": {body: `data: {"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":""}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"2}"}}]},"finish_reason":"tool_calls"}]}

`, calls: []agent.Call{call("a", "f", `{"x":2}`)}, stop: agent.StopCalls},
		"an object, no finish, but done": {body: `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}}]}}]}

data: [DONE]

`, calls: []agent.Call{call("a", "f", `{"x":1}`)}, stop: agent.StopCalls},
		"bad arguments": {body: `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\": tru"}}]},"finish_reason":"length"}]}

`, calls: []agent.Call{call("a", "f", `{"x": tru`)}, stop: agent.StopLength},
		"CRLF, comments, other choices, null error": {
			body: "\xef\xbb\xbf: hi\r\n\r\ndata:{\"error\":null,\"choices\":[{\"index\":1,\"delta\":{\"content\":\"no\"}},{\"index\":0,\"delta\":{\"content\":\"ja \"}}]}\r\n\r\n: keep-alive\r\n\r\nid: 7\r\nevent: message\r\ndata: {\"choices\":[{\"index\":0,\r\ndata: \"delta\":{\"content\":\"wohl\"},\"finish_reason\":\"stop\"}]}\r\n\r\n",
			text: "ja wohl", stop: agent.StopEnd,
		},
		"words of errors": {body: `data: {"choices":[{"delta":{"content":"{\"error\":\"none\"}"},"finish_reason":"eos"}]}

data: {"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":60}}}

data: [DONE]

`, text: `{"error":"none"}`, stop: agent.StopEnd, usage: agent.Usage{Input: 100, Cached: 60, Output: 5}},
		"usage of DeepSeek": {body: `data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":5,"prompt_cache_hit_tokens":64}}

data: [DONE]`, text: "a", stop: agent.StopEnd, usage: agent.Usage{Input: 100, Cached: 64, Output: 5}},
		"usage of Kimi": {body: `data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop","usage":{"prompt_tokens":10,"completion_tokens":5,"cached_tokens":9}}]}

data: [DONE]`, text: "a", stop: agent.StopEnd, usage: agent.Usage{Input: 10, Cached: 9, Output: 5}},
		"absurd usage": {body: `data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":-5,"completion_tokens":1e300}}

data: [DONE]`, text: "a", stop: agent.StopEnd},
		"parts": {body: `data: {"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"no"}]},{"type":"text","text":"yes"}]},"finish_reason":"stop"}]}

`, text: "yes", stop: agent.StopEnd},
		"refused": {body: `data: {"choices":[{"delta":{"refusal":"I won't."},"finish_reason":"stop"}]}

`, text: "I won't.", stop: agent.StopRefused},
		"filtered": {body: `data: {"choices":[{"delta":{"content":"a"},"finish_reason":"content_filter"}]}

`, text: "a", stop: agent.StopRefused},
		"window": {body: `data: {"choices":[{"delta":{"content":"a"},"finish_reason":"model_context_window_exceeded"}]}

`, text: "a", stop: agent.StopOverflow},
		"whole": {
			body: `{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"a","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"g","arguments":""}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`,
			text: "a", calls: []agent.Call{call("a", "f", "{}"), call("b", "g", "{}")}, stop: agent.StopCalls, usage: agent.Usage{Input: 3, Output: 4},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var text strings.Builder
			one, err := cannedModel(t, said(c.body), nil).Generate(t.Context(), question, func(s string) { text.WriteString(s) })
			if err != nil {
				t.Fatal(err)
			}
			want := &agent.Reply{Message: agent.Message{Role: agent.RoleAssistant, Text: c.text, Calls: c.calls}, Stop: c.stop, Usage: c.usage}
			if name == "absurd usage" {
				want.Usage = one.Usage
				if one.Usage.Input != 0 || one.Usage.Output < 0 {
					t.Errorf("usage %+v", one.Usage)
				}
			}
			if diff := cmp.Diff(want, one); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if text.String() != c.text {
				t.Errorf("streamed %q", text.String())
			}
		})
	}
}

func TestMissingIDs(t *testing.T) {
	t.Parallel()
	one, err := cannedModel(t, said(`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f"}},{"index":1,"function":{"name":"g"}}]},"finish_reason":"tool_calls"}]}`), nil).Generate(t.Context(), question, nothing)
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
	stream := said(`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","extra_content":` + signature + `,"function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`)
	m := cannedModel(t, canned{stream.kind, stream.body}, func(o *openai.Options) {
		o.Provider = "gemini"
		o.HTTPClient = &http.Client{Transport: keeping{stream, &sent}}
	})
	r := &agent.Request{Messages: []agent.Message{{Role: agent.RoleUser, Text: "a"}}}
	one, err := m.Generate(t.Context(), r, nothing)
	if err != nil {
		t.Fatal(err)
	}
	r.Messages = append(r.Messages, one.Message, agent.Message{Role: agent.RoleTool, CallID: "a", Text: "b"})
	if _, err := m.Generate(t.Context(), r, nothing); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(sent, []byte(`"extra_content":`+signature)) {
		t.Errorf("sent %s", sent)
	}
}

type keeping struct {
	canned
	sent *[]byte
}

func (k keeping) RoundTrip(r *http.Request) (*http.Response, error) {
	*k.sent, _ = io.ReadAll(r.Body)
	return k.canned.RoundTrip(r)
}

// piped is a body that somebody writes to, and that ends with its request.
func piped(write func(*io.PipeWriter)) canned {
	return canned{"text/event-stream", func(r *http.Request) io.ReadCloser {
		out, in := io.Pipe()
		context.AfterFunc(r.Context(), func() { in.CloseWithError(r.Context().Err()) })
		go write(in)
		return out
	}}
}

const oneWord = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n"

func TestSilence(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		write func(*io.PipeWriter)
		after time.Duration // when the request ends
		want  agent.Failure // "": an answer
	}{
		"nothing": {func(*io.PipeWriter) {}, 5 * time.Minute, agent.Broken},
		"a role alone": {func(w *io.PipeWriter) {
			io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\n")
		}, 5 * time.Minute, agent.Broken},
		"after a word":     {func(w *io.PipeWriter) { io.WriteString(w, oneWord) }, time.Minute, agent.Broken},
		"inside of a word": {func(w *io.PipeWriter) { io.WriteString(w, oneWord+"data: {\"cho") }, time.Minute, agent.Broken},
		"after thinking on": {func(w *io.PipeWriter) {
			for range 7 {
				time.Sleep(4 * time.Minute)
				io.WriteString(w, ": still thinking\n\n")
			}
			io.WriteString(w, oneWord)
			for range 5 {
				time.Sleep(50 * time.Second)
				io.WriteString(w, ": keep-alive\n\n")
			}
			io.WriteString(w, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		}, 28*time.Minute + 250*time.Second, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				one, err := cannedModel(t, piped(c.write), nil).Generate(t.Context(), question, nothing)
				took := time.Since(begun).Truncate(time.Second) // of the bubble's clock
				if took != c.after {
					t.Errorf("it ended after %v", took)
				}
				if c.want == "" {
					if err != nil || one.Message.Text != "x" {
						t.Errorf("%v, %+v", err, one)
					}
					return
				}
				if e := failure(t, err); e.Failure != c.want || !strings.Contains(e.Text, "nothing came for") {
					t.Errorf("%+v", e)
				}
			})
		})
	}
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := cannedModel(t, piped(func(w *io.PipeWriter) { io.WriteString(w, oneWord) }), nil).Generate(ctx, question, nothing)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

// stream is an answer of words that is made as it is read.
type stream struct {
	left int
	rest []byte
	word string
}

func (s *stream) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		switch {
		case s.left > 0:
			s.rest = fmt.Appendf(nil, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", s.word)
			s.left--
		case s.left == 0:
			s.rest = []byte("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
			s.left--
		default:
			return 0, io.EOF
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

func (s *stream) Close() error { return nil }

func TestLongAnswers(t *testing.T) {
	word := strings.Repeat("y", 64<<10)
	m := cannedModel(t, canned{"text/event-stream", func(*http.Request) io.ReadCloser { return &stream{left: 256, word: word} }}, nil)
	live := func() uint64 {
		runtime.GC()
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return s.HeapAlloc
	}
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
	for name, s := range map[string]*stream{
		"answer": {left: 257, word: word},
		"event":  {left: 1, word: strings.Repeat("y", 9<<20)},
	} {
		_, err := cannedModel(t, canned{"text/event-stream", func(*http.Request) io.ReadCloser { return s }}, nil).Generate(t.Context(), question, nothing)
		if e := failure(t, err); e.Failure != agent.Oversized || !strings.Contains(e.Text, "longer than") {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// FuzzStream: whatever comes, an answer or an error that can be shown comes of it, and the
// answer can be sent back.
func FuzzStream(f *testing.F) {
	f.Add([]byte(oneWord + "data: [DONE]\n\n"))
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}],\"usage\":{\"prompt_tokens\":1e99}}\n\n"))
	f.Add([]byte(`{"choices":[{"message":{"content":"a","tool_calls":[{"id":"x"}]},"finish_reason":"stop"}]}`))
	f.Add([]byte("event: error\ndata: {\"error\":{\"message\":\"no\",\"code\":429}}\n\n"))
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"reasoning_details\":[{\"a\":1}],\"reasoning\":\"b\",\"content\":[{\"type\":\"text\",\"text\":\"c\"}]},\"finish_reason\":\"stop\"}]}\r\n\r\n"))
	f.Add([]byte("data: " + strings.Repeat("[", 300) + "\n\n"))
	f.Add([]byte("data: {\"choices\":[" + strings.Repeat("{\"delta\":", 300)))
	f.Fuzz(func(t *testing.T, body []byte) {
		var text strings.Builder
		m := cannedModel(t, said(string(body)), nil)
		one, err := m.Generate(t.Context(), question, func(s string) { text.WriteString(s) })
		if err != nil {
			e := failure(t, err)
			if len(e.Text) > 300 || !utf8.ValidString(e.Text) || e.Failure == "" {
				t.Errorf("%+v", e)
			}
			return
		}
		if one.Message.Text != text.String() || one.Message.Role != agent.RoleAssistant || one.Stop == "" {
			t.Errorf("streamed %q, answered %+v", text.String(), one)
		}
		r := &agent.Request{Messages: []agent.Message{{Role: agent.RoleUser, Text: "a"}, one.Message}}
		for _, c := range one.Message.Calls {
			if c.ID == "" || c.Arguments == "" {
				t.Errorf("call %+v", c)
			}
			r.Messages = append(r.Messages, agent.Message{Role: agent.RoleTool, CallID: c.ID, Text: "b"})
		}
		if _, err := cannedModel(t, said(oneWord+"data: [DONE]\n\n"), nil).Generate(t.Context(), r, nothing); err != nil {
			t.Errorf("the answer can't be sent back: %v", err)
		}
	})
}
