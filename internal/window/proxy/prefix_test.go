package proxy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/night"
	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/wire"
)

// An appender is a client that only ever appends to its history: what the model answers, results of its calls, words of the user.
type appender struct {
	dialect wire.Dialect
	model   string
	system  string
	key     string
	drops   bool // it asks for drop_block
	history []json.RawMessage
	open    []string // calls of the newest answer, by their names in the dialect
	names   map[string]string
	tools   int // how many requests have been answered
	// searching is the number of what a tool at the provider was asked and has not found yet; see search.
	searching int
}

func (a *appender) add(v any) {
	raw, ok := v.(json.RawMessage)
	if !ok {
		raw, _ = json.Marshal(v)
	}
	a.history = append(a.history, raw)
}

func (a *appender) says(text string) {
	switch a.dialect {
	case wire.Gemini:
		a.add(m{"role": "user", "parts": []any{m{"text": text}}})
	case wire.Converse:
		a.add(m{"role": "user", "content": []any{m{"text": text}}})
	case wire.Responses:
		a.add(m{"type": "message", "role": "user", "content": []any{m{"type": "input_text", "text": text}}})
	default:
		a.add(m{"role": "user", "content": text})
	}
}

// results answers calls, those of Messages and Gemini in one message with words behind them where there are any.
func (a *appender) results(calls []string, text func(id string) string, words string) {
	var parts []any
	for _, id := range calls {
		switch a.dialect {
		case wire.Messages:
			parts = append(parts, m{"type": "tool_result", "tool_use_id": id, "content": text(id)})
		case wire.Gemini:
			parts = append(parts, m{"functionResponse": m{"id": id, "name": a.names[id], "response": m{"output": text(id)}}})
		case wire.Converse:
			parts = append(parts, m{"toolResult": m{"toolUseId": id, "content": []any{m{"text": text(id)}}}})
		case wire.Responses:
			a.add(m{"type": "function_call_output", "call_id": id, "output": text(id)})
		case wire.Chat:
			a.add(m{"role": "tool", "tool_call_id": id, "content": text(id)})
		}
	}
	switch {
	case a.dialect == wire.Messages && words != "":
		parts = append(parts, m{"type": "text", "text": words})
	case (a.dialect == wire.Gemini || a.dialect == wire.Converse) && words != "":
		parts = append(parts, m{"text": words})
	case words != "":
		a.says(words)
	}
	switch {
	case len(parts) == 0:
	case a.dialect == wire.Messages || a.dialect == wire.Converse:
		a.add(m{"role": "user", "content": parts})
	case a.dialect == wire.Gemini:
		a.add(m{"role": "user", "parts": parts})
	}
}

// takes appends an answer as it came.
func (a *appender) takes(t *testing.T, answer []byte) {
	t.Helper()
	a.open, a.tools = nil, a.tools+1
	if a.names == nil {
		a.names = map[string]string{}
	}
	var v struct {
		Content []struct{ Type, ID, Name string }
		Choices []struct{ Message json.RawMessage }
		Output  json.RawMessage
		Cands   []struct{ Content json.RawMessage } `json:"candidates"`
	}
	if err := json.Unmarshal(answer, &v); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	call := func(id, name string) {
		a.open = append(a.open, id)
		a.names[id] = name
	}
	switch a.dialect {
	case wire.Messages:
		var whole struct{ Content json.RawMessage }
		_ = json.Unmarshal(answer, &whole)
		a.add(m{"role": "assistant", "content": whole.Content})
		for _, b := range v.Content {
			if b.Type == "tool_use" {
				call(b.ID, b.Name)
			}
		}
	case wire.Chat:
		a.add(v.Choices[0].Message)
		var one struct {
			Calls []struct {
				ID       string
				Function struct{ Name string }
			} `json:"tool_calls"`
		}
		_ = json.Unmarshal(v.Choices[0].Message, &one)
		for _, c := range one.Calls {
			call(c.ID, c.Function.Name)
		}
	case wire.Responses:
		var items []json.RawMessage
		_ = json.Unmarshal(v.Output, &items)
		for _, item := range items {
			a.add(item)
			var one struct {
				Type, Name string
				ID         string `json:"call_id"`
			}
			_ = json.Unmarshal(item, &one)
			if one.Type == "function_call" {
				call(one.ID, one.Name)
			}
		}
	case wire.Converse:
		var whole struct{ Message json.RawMessage }
		_ = json.Unmarshal(v.Output, &whole)
		a.add(whole.Message)
		var one struct {
			Content []struct {
				Use *struct {
					ID   string `json:"toolUseId"`
					Name string
				} `json:"toolUse"`
			}
		}
		_ = json.Unmarshal(whole.Message, &one)
		for _, b := range one.Content {
			if b.Use != nil {
				call(b.Use.ID, b.Use.Name)
			}
		}
	case wire.Gemini:
		a.add(v.Cands[0].Content)
		var one struct {
			Parts []struct {
				Call *struct{ ID, Name string } `json:"functionCall"`
			}
		}
		_ = json.Unmarshal(v.Cands[0].Content, &one)
		for _, p := range one.Parts {
			if p.Call != nil {
				call(p.Call.ID, p.Call.Name)
			}
		}
	}
}

func (a *appender) body() []byte {
	schema := m{"type": "object", "properties": m{"command": m{"type": "string"}}, "required": []string{"command"}}
	b := m{"model": a.model}
	switch a.dialect {
	case wire.Messages:
		b["messages"], b["max_tokens"], b["thinking"] = a.history, 1000, m{"type": "adaptive"}
		if a.drops {
			b["thinking"] = m{"type": "adaptive", "block_binding": m{"prefix_mismatch_behavior": "drop_block"}}
		}
		b["system"] = cmp.Or(a.system, "You work in a shell.")
		b["tools"] = []any{m{"name": "shell", "description": "runs a command in a shell", "input_schema": schema}}
	case wire.Chat:
		b["messages"] = a.history
		b["tools"] = []any{m{"type": "function", "function": m{"name": "shell", "description": "runs a command in a shell", "parameters": schema}}}
	case wire.Responses:
		b["input"], b["store"], b["include"] = a.history, false, []string{"reasoning.encrypted_content"}
		b["tools"] = []any{m{"type": "function", "name": "shell", "description": "runs a command in a shell", "parameters": schema}}
	case wire.Converse:
		delete(b, "model")
		b["messages"], b["inferenceConfig"] = a.history, m{"maxTokens": 1000}
		b["system"] = []any{m{"text": cmp.Or(a.system, "You work in a shell.")}}
		b["toolConfig"] = m{"tools": []any{m{"toolSpec": m{"name": "shell", "description": "runs a command in a shell", "inputSchema": m{"json": schema}}}}}
		b["additionalModelRequestFields"] = m{"thinking": m{"type": "adaptive"}}
	case wire.Gemini:
		delete(b, "model")
		b["contents"] = a.history
		b["tools"] = []any{m{"functionDeclarations": []any{m{"name": "shell", "description": "runs a command in a shell", "parameters": schema}}}}
	}
	raw, _ := json.Marshal(b)
	return raw
}

// send sends the history, and appends the answer.
func (a *appender) send(t *testing.T, root string) *http.Response {
	t.Helper()
	k := talk{dialect: a.dialect, model: a.model}
	path := k.path()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, root+path, bytes.NewReader(a.body()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if a.drops {
		req.Header.Set("Anthropic-Beta", scripted.BetaBinding)
	}
	if a.key != "" {
		req.Header.Set("X-Api-Key", a.key)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		t.Fatalf("request %d: %s: %s", a.tools, res.Status, answer)
	}
	a.takes(t, answer)
	return res
}

// lines is a result of about so many bytes.
func lines(r *rand.Rand, size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "line %d: package number %d needs attention soon\n", i, r.IntN(100000))
	}
	return b.String()
}

// messagesSent are the messages of a request as it arrived, one a line, cache marks apart.
func messagesSent(t *testing.T, d wire.Dialect, body []byte) [][]byte {
	t.Helper()
	r, err := wire.Parse(d, body)
	if err != nil {
		t.Fatal(err)
	}
	var list [][]byte
	for i := range r.Messages {
		var raw []byte
		r.Fingerprint(i, func(p []byte) { raw = append(raw, p...) })
		list = append(list, raw)
	}
	return list
}

var thoughtfulModels = map[wire.Dialect]string{wire.Messages: "claude-fable-5-1", wire.Chat: "gpt-4o", wire.Responses: "gpt-6.2", wire.Gemini: "gemini-2.5-pro", wire.Converse: "anthropic.claude-sonnet-4-5-20250929-v1:0"}

// TestBoundLoop: three hundred turns of a tool loop with a model whose reasoning is bound to what stood before, in a window that is too small by far:
// no request is refused, what was sent is sent again but at a cut, and the provider takes every thinking block that was made since the last one.
func TestBoundLoop(t *testing.T) {
	t.Parallel()
	const window = 140_000
	turns := night.Else(300, 180) // what a turn costs grows with the turns before it
	provider, _, root, j := scripting(t, scripted.Options{
		Reasoning: scripted.RuleOf, Window: window, Strict: true,
		Script: scripted.Thoughtful(scripted.Shells("done", slicesOf("make", turns+10)...)),
	}, Options{Store: memoryStore(t), Resolver: windowOf(window), Target: 0.2})
	r := rand.New(rand.NewPCG(1, 2))
	a := &appender{dialect: wire.Messages, model: "claude-fable-5-1"}
	a.says("Find out why the build of project Halcyon fails, and mend it.")
	for range turns {
		a.send(t, root)
		a.results(a.open, func(string) string { return lines(r, 6000) }, "")
	}
	s := provider.Stats()
	breaks := events[journal.WindowBreak](j)
	t.Logf("%d cuts, %+v", len(breaks), s)
	if s.Refused > 0 || s.Dropped > 0 || s.Sent != s.Accepted || s.Made != turns {
		t.Errorf("%+v", s)
	}
	if len(breaks) < 2 || len(breaks) > 6 {
		t.Errorf("%d cuts: %+v", len(breaks), breaks)
	}
	for _, b := range breaks {
		if b.Cause != "trigger" && b.Cause != "limit" || b.ThinkingOut == 0 {
			t.Errorf("%+v", b)
		}
	}
	// Every answer since the last cut brings its thoughts back.
	requests := asked(provider)
	since := 0
	for _, e := range requests {
		since = len(e.Body)
	}
	if since == 0 || int64(s.Sent) < int64(turns) {
		t.Errorf("%d thinking blocks were sent in %d requests", s.Sent, turns)
	}
}

func slicesOf(s string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint(s, " ", i)
	}
	return list
}

func newServer(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}
