package scripted

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A talk is a Messages client that keeps what it got.
type talk struct {
	t        *testing.T
	server   *httptest.Server
	model    string
	betas    []string
	key      string
	body     m // members beside model, max_tokens, tools and messages
	messages []any
	stream   bool
}

func newTalk(t *testing.T, server *httptest.Server, model string) *talk {
	return &talk{t: t, server: server, model: model, key: "one", body: m{}, messages: []any{m{"role": "user", "content": "the task is T-1"}}}
}

func (c *talk) request(extra m) (int, m) {
	c.t.Helper()
	body := m{"model": c.model, "max_tokens": 1000, "tools": []any{m{"name": "Bash", "input_schema": json.RawMessage(shellSchema)}}, "messages": c.messages, "stream": c.stream}
	maps.Copy(body, c.body)
	maps.Copy(body, extra)
	raw, err := json.Marshal(body)
	if err != nil {
		c.t.Fatal(err)
	}
	r, err := http.NewRequest(http.MethodPost, c.server.URL+"/v1/messages", strings.NewReader(string(raw)))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("X-Api-Key", c.key)
	if len(c.betas) > 0 {
		r.Header.Set("Anthropic-Beta", strings.Join(c.betas, ","))
	}
	status, text := do(c.t, c.server, r)
	if c.stream && status == 200 {
		return status, assembled(c.t, text)
	}
	var v m
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		c.t.Fatalf("%d %s: %v", status, text, err)
	}
	return status, v
}

// turn sends the history, keeps the answer, and answers its calls.
func (c *talk) turn() m {
	c.t.Helper()
	status, v := c.request(nil)
	if status != 200 {
		c.t.Fatalf("%d %v", status, at(v, "error", "message"))
	}
	c.keep(v)
	return v
}

func (c *talk) keep(v m) {
	c.messages = append(c.messages, m{"role": "assistant", "content": v["content"]})
	var results []any
	for _, b := range v["content"].([]any) {
		if at(b, "type") == "tool_use" {
			results = append(results, m{"type": "tool_result", "tool_use_id": at(b, "id"), "content": "ok"})
		}
	}
	if results == nil {
		results = []any{m{"type": "text", "text": "go on"}}
	}
	c.messages = append(c.messages, m{"role": "user", "content": results})
}

func (c *talk) refused(words string) string {
	c.t.Helper()
	status, v := c.request(nil)
	got, _ := at(v, "error", "message").(string)
	if status != 400 || !strings.Contains(got, words) {
		c.t.Errorf("%d %v, want 400 with %q", status, v, words)
	}
	return got
}

// served is a server without a connection: [do] calls its handler.
func served(p *Provider) *httptest.Server {
	return &httptest.Server{Config: &http.Server{Handler: p}}
}

func do(t *testing.T, server *httptest.Server, r *http.Request) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	server.Config.Handler.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// assembled makes a message of a stream, as the SDKs do.
func assembled(t *testing.T, text string) m {
	t.Helper()
	var message m
	var blocks []any
	for _, e := range events(t, text) {
		switch e["type"] {
		case "message_start":
			message = e["message"].(m)
		case "content_block_start":
			blocks = append(blocks, e["content_block"])
		case "content_block_delta":
			b, d := blocks[int(e["index"].(float64))].(m), e["delta"].(m)
			for _, name := range []string{"thinking", "text", "signature"} {
				if s, ok := d[name].(string); ok {
					b[name] = b[name].(string) + s
				}
			}
			if s, ok := d["partial_json"].(string); ok {
				before, _ := b["partial"].(string)
				b["partial"] = before + s
			}
		case "message_delta":
			message["stop_reason"], message["usage"] = at(e, "delta", "stop_reason"), e["usage"]
		}
	}
	for _, b := range blocks {
		if partial, ok := b.(m)["partial"].(string); ok {
			delete(b.(m), "partial")
			b.(m)["input"] = json.RawMessage(partial)
		}
	}
	message["content"] = blocks
	return message
}

func bound(t *testing.T, o Options) (*Provider, *httptest.Server) {
	t.Helper()
	if o.Reasoning == nil {
		o.Reasoning = RuleOf
	}
	if o.Script == nil {
		o.Script = Thoughtful(Replies(Reply{Text: "next", Calls: []Call{{Shell: "ls"}}}))
	}
	return start(t, o)
}

// edit changes a history in place: the content of a message.
func (c *talk) edit(i int, content any) {
	c.messages[i] = m{"role": c.messages[i].(m)["role"], "content": content}
}

// strip takes the n-th block out of a message.
func (c *talk) strip(i, n int) {
	content := c.messages[i].(m)["content"].([]any)
	c.edit(i, append(append([]any{}, content[:n]...), content[n+1:]...))
}

func TestAppendedHistoriesKeepTheirThinking(t *testing.T) {
	for _, stream := range []bool{false, true} {
		for _, model := range []string{"claude-fable-5-1", "claude-fable-5-2", "claude-opus-5-5", "claude-opus-5", "claude-sonnet-4-5", "kimi-k3"} {
			p, server := bound(t, Options{Script: Thoughtful(Replies(Reply{Redacted: 1, Text: "next", Calls: []Call{{Shell: "ls"}}}))})
			c := newTalk(t, server, model)
			c.stream = stream
			c.body["thinking"] = m{"type": "enabled", "budget_tokens": 500}
			for range 4 {
				c.turn()
			}
			s := p.Stats()
			if s.Answered != 4 || s.Sent != 12 || s.Accepted != 12 || s.Dropped != 0 || s.Made != 8 {
				t.Errorf("%s (stream %v): %+v", model, stream, s)
			}
		}
	}
}

// What may change and what may not, from the table "What counts as an edit".
func TestEditsOfThePrefix(t *testing.T) {
	edits := []struct {
		name  string
		edit  func(c *talk)
		words string // of the refusal; "" passes
	}{
		{"nothing", func(*talk) {}, ""},
		{"a cache mark", func(c *talk) {
			c.edit(0, []any{m{"type": "text", "text": "the task is T-1", "cache_control": m{"type": "ephemeral"}}})
		}, ""},
		{"a parameter", func(c *talk) { c.body["metadata"] = m{"user_id": "x"} }, ""},
		{"a deferred tool", func(c *talk) {
			c.body["tools"] = []any{m{"name": "Bash", "input_schema": json.RawMessage(shellSchema)}, m{"name": "Later", "defer_loading": true, "input_schema": m{"type": "object"}}}
		}, ""},
		{"the oldest thinking out", func(c *talk) { c.strip(1, 0) }, ""},
		{"the newest thinking out", func(c *talk) { c.strip(5, 0) }, ""},
		{"all thinking out", func(c *talk) { c.strip(1, 0); c.strip(3, 0); c.strip(5, 0) }, ""},
		{"thinking out of the middle", func(c *talk) { c.strip(3, 0) }, "messages.5.content.0: "},
		{"a word", func(c *talk) { c.edit(0, "the task is T-2") }, "messages.1.content.0: "},
		{"a result", func(c *talk) {
			r := c.messages[2].(m)["content"].([]any)[0].(m)
			c.edit(2, []any{m{"type": "tool_result", "tool_use_id": r["tool_use_id"], "content": "shorter"}})
		}, "messages.3.content.0: "},
		{"a reminder", func(c *talk) {
			r := c.messages[4].(m)["content"].([]any)[0]
			c.edit(4, []any{r, m{"type": "text", "text": "remember"}})
		}, "messages.5.content.0: "},
		{"a system prompt", func(c *talk) { c.body["system"] = "be brief" }, "messages.1.content.0: "},
		{"the tools", func(c *talk) { c.body["tools"] = []any{m{"name": "Bash", "input_schema": m{"type": "object"}}} }, "messages.1.content.0: "},
		{"a turn dropped", func(c *talk) { c.messages = append([]any{c.messages[0]}, c.messages[3:]...) }, "messages.1.content.0: "},
	}
	for _, e := range edits {
		t.Run(e.name, func(t *testing.T) {
			p, server := bound(t, Options{})
			c := newTalk(t, server, "claude-fable-5-1")
			for range 3 {
				c.turn()
			}
			e.edit(c)
			if e.words == "" {
				c.turn()
				return
			}
			words := c.refused(e.words + "Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\". That setting requires the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header.")
			if s := p.Stats(); s.Refusals[CausePrefix] != 1 || s.Refused != 1 {
				t.Errorf("%+v after %s", s, words)
			}
			list := p.Requests()
			if last := list[len(list)-1]; last.Cause != CausePrefix || last.Request.Reasoning.Sent == 0 {
				t.Errorf("recorded as %+v", last)
			}
			// Dropped, it passes, and what is thought from now on is accepted beside what is dropped.
			c.betas = []string{BetaBinding}
			c.body["thinking"] = m{"type": "adaptive", "block_binding": m{"prefix_mismatch_behavior": "drop_block"}}
			for _, stream := range []bool{false, true} {
				c.stream = stream
				v := c.turn()
				told := v["input_transformations"].([]any)
				list := p.Requests()
				r := list[len(list)-1].Request.Reasoning
				if len(told) != r.Dropped || r.Dropped == 0 || r.Accepted+r.Dropped != r.Sent || at(told[0], "reason") != "prefix_binding_mismatch" || at(told[0], "type") != "thinking_dropped" {
					t.Errorf("told %v, counted %+v", told, r)
				}
			}
			r := p.Requests()
			if a, b := r[len(r)-2].Request.Reasoning, r[len(r)-1].Request.Reasoning; b.Dropped != a.Dropped || b.Accepted != a.Accepted+1 {
				t.Errorf("%+v, then %+v: the block that was made behind the change is to be accepted", a, b)
			}
		})
	}
}
