package scripted

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A chat is a Responses client that stores nothing at the provider.
type chat struct {
	t      *testing.T
	server *httptest.Server
	model  string
	body   m
	input  []any
}

func newChat(t *testing.T, server *httptest.Server, model string) *chat {
	return &chat{t: t, server: server, model: model, body: m{}, input: []any{m{"type": "message", "role": "user", "content": "the task is T-1"}}}
}

func (c *chat) post(path string) (int, m) {
	c.t.Helper()
	body := m{"model": c.model, "input": c.input, "store": false, "tools": []any{m{"type": "function", "name": "shell", "parameters": json.RawMessage(shellSchema)}}}
	maps.Copy(body, c.body)
	raw, err := json.Marshal(body)
	if err != nil {
		c.t.Fatal(err)
	}
	r, err := http.NewRequest(http.MethodPost, c.server.URL+path, strings.NewReader(string(raw)))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer one")
	status, text := do(c.t, c.server, r)
	var v m
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		c.t.Fatalf("%d %s: %v", status, text, err)
	}
	return status, v
}

// turn sends the input and keeps what came, without ids, as clients do that store nothing.
func (c *chat) turn() m {
	c.t.Helper()
	status, v := c.post("/v1/responses")
	if status != 200 {
		c.t.Fatalf("%d %v", status, v)
	}
	c.keep(v["output"].([]any))
	return v
}

func (c *chat) keep(output []any) {
	for _, item := range output {
		item := item.(m)
		delete(item, "id")
		c.input = append(c.input, item)
		if item["type"] == "function_call" {
			c.input = append(c.input, m{"type": "function_call_output", "call_id": item["call_id"], "output": "ok"})
		}
	}
}

func TestReasoningItemsAreDroppedBehindAChange(t *testing.T) {
	for _, e := range []struct {
		name    string
		model   string
		edit    func(c *chat)
		dropped int
		reason  string
	}{
		{"nothing", "gpt-6.2-sol", func(*chat) {}, 0, ""},
		{"instructions", "gpt-6.2-sol", func(c *chat) { c.body["instructions"] = "be brief" }, 0, ""},
		{"a result", "gpt-6.2-sol", func(c *chat) { c.input[4].(m)["output"] = "shorter" }, 2, "prefix_mismatch"},
		{"the tools", "gpt-6.2-sol", func(c *chat) {
			c.body["tools"] = []any{m{"type": "function", "name": "shell", "parameters": m{"type": "object"}}}
		}, 3, "prefix_mismatch"},
		{"the format", "gpt-6.2-sol", func(c *chat) {
			c.body["text"] = m{"format": m{"type": "json_schema", "name": "x", "schema": m{"type": "object"}}}
		}, 3, "prefix_mismatch"},
		{"a model that reads it not", "gpt-6.2-sol", func(c *chat) { c.model = "gpt-6.1-sol" }, 3, "model_mismatch"},
		{"a result, before GPT-6.2", "gpt-6.1-sol", func(c *chat) { c.input[4].(m)["output"] = "shorter" }, 0, ""},
		{"a result, of a model that is not in the table", "other", func(c *chat) { c.input[4].(m)["output"] = "shorter" }, 0, ""},
	} {
		t.Run(e.name, func(t *testing.T) {
			p, server := bound(t, Options{})
			c := newChat(t, server, e.model)
			for range 3 {
				c.turn()
			}
			e.edit(c)
			for range 2 { // what comes new is accepted
				v := c.turn()
				told, _ := v["input_transformations"].([]any)
				if r := last(p).Request.Reasoning; r.Dropped != e.dropped || len(told) != e.dropped || r.Accepted != r.Sent-e.dropped {
					t.Errorf("%+v, told %v, want %d dropped", r, told, e.dropped)
				}
				if e.dropped > 0 && at(told, 0, "reason") != e.reason {
					t.Errorf("told %v, want reason %s", told, e.reason)
				}
			}
		})
	}
}

func TestForeignReasoningItemsAreRefused(t *testing.T) {
	p, server := bound(t, Options{})
	for _, kind := range []string{"reasoning", "compaction"} {
		c := newChat(t, server, "gpt-6.2-sol")
		said := m{"type": "message", "role": "assistant", "content": []any{m{"type": "output_text", "text": "so"}}}
		c.input = append([]any{m{"type": kind, "summary": []any{}, "encrypted_content": "ZmFrZQ=="}, said}, c.input...)
		if status, v := c.post("/v1/responses"); status != 400 || at(v, "error", "code") != "invalid_encrypted_content" || last(p).Cause != CauseSignature {
			t.Errorf("%s: %d %v", kind, status, v)
		}
	}
}

// The provider's own compaction, in its three forms, keeps the reasoning behind it valid.
func TestCompactionOfItemsKeepsReasoning(t *testing.T) {
	t.Run("compact", func(t *testing.T) {
		p, server := bound(t, Options{})
		c := newChat(t, server, "gpt-6.2-sol")
		for range 3 {
			c.turn()
		}
		all := c.input
		c.input = all[:5] // task, and the first turn
		status, v := c.post("/v1/responses/compact")
		output := v["output"].([]any)
		if status != 200 || v["object"] != "response.compaction" || len(output) != 2 || at(output, 1, "type") != "compaction" {
			t.Fatalf("%d %v", status, v)
		}
		c.input = append(output, all[5:]...)
		c.turn()
		if r := last(p).Request.Reasoning; r.Sent != 2 || r.Accepted != 2 {
			t.Errorf("behind the item: %+v", r)
		}
		c.turn()
		if r := last(p).Request.Reasoning; r.Sent != 3 || r.Accepted != 3 {
			t.Errorf("with what was thought behind it: %+v", r)
		}
		if s := p.Stats(); s.Summaries != 1 || p.Turns("") != 5 {
			t.Errorf("%d turns, %+v", p.Turns(""), s)
		}
	})
	t.Run("compaction_trigger", func(t *testing.T) {
		p, server := bound(t, Options{})
		c := newChat(t, server, "gpt-6.2-sol")
		for range 2 {
			c.turn()
		}
		all := c.input
		c.input = append(all[:5:5], m{"type": "compaction_trigger"})
		_, v := c.post("/v1/responses")
		item := at(v, "output", 0)
		if at(item, "type") != "compaction" || len(v["output"].([]any)) != 1 {
			t.Fatalf("%v", v)
		}
		c.input = append([]any{item}, all[5:]...)
		c.turn()
		if r := last(p).Request.Reasoning; r.Sent != 1 || r.Accepted != 1 {
			t.Errorf("behind the item: %+v", r)
		}
	})
	t.Run("context_management", func(t *testing.T) {
		p, server := bound(t, Options{})
		c := newChat(t, server, "gpt-6.2-sol")
		c.turn()
		c.body["context_management"] = []any{m{"type": "compaction", "compact_threshold": 50}}
		v := c.turn()
		if at(v, "output", 0, "type") != "compaction" || at(v, "output", 1, "type") != "reasoning" {
			t.Fatalf("%v", v["output"])
		}
		delete(c.body, "context_management")
		for i, item := range c.input { // what stands before the item may go
			if at(item, "type") == "compaction" {
				c.input = c.input[i:]
				break
			}
		}
		c.turn()
		if r := last(p).Request.Reasoning; r.Sent != 1 || r.Accepted != 1 {
			t.Errorf("behind the item: %+v", r)
		}
	})
	t.Run("a model without", func(t *testing.T) {
		p, server := bound(t, Options{})
		c := newChat(t, server, "other")
		if status, v := c.post("/v1/responses/compact"); status != 400 || last(p).Cause != CauseCompaction {
			t.Errorf("%d %v", status, v)
		}
	})
}
