package scripted

import (
	"maps"
	"net/http"
	"strings"
	"testing"
)

var summarize = m{"compaction": m{"type": "summarize"}}

// compacted asks for a summary of the first n messages and returns the message that holds it.
func (c *talk) compacted(n int) m {
	c.t.Helper()
	all := c.messages
	c.messages = all[:n]
	status, v := c.request(summarize)
	c.messages = all
	if status != 200 || v["stop_reason"] != "compaction" || len(v["content"].([]any)) != 1 || at(v, "content", 0, "type") != "compaction" ||
		at(v, "usage", "input_tokens") != 0.0 || at(v, "usage", "iterations", 0, "cache_read_input_tokens").(float64)+at(v, "usage", "iterations", 0, "input_tokens").(float64) <= 0 {
		c.t.Fatalf("%d %v", status, v)
	}
	return m{"role": "assistant", "content": v["content"]}
}

// The summary takes the place of what it summarizes; what is kept behind it keeps its thinking, and
// so it goes through a second one. What is thought behind a summary is bound to it.
func TestCompactionOnDemandKeepsThinking(t *testing.T) {
	for _, stream := range []bool{false, true} {
		p, server := bound(t, Options{})
		c := newTalk(t, server, "claude-fable-5-1")
		c.betas, c.stream = []string{BetaCompact}, stream
		c.body["system"] = "be brief"
		for range 5 {
			c.turn()
		}
		// In the background: the request of 5 messages is summarized, and the talk goes on.
		block := c.compacted(5)
		c.turn()
		c.messages = append([]any{block}, c.messages[5:]...)
		c.turn() // kept: the turns 3 to 6
		if r := last(p).Request.Reasoning; r.Accepted != 4 || r.Dropped != 0 {
			t.Errorf("stream %v: behind the summary %+v", stream, r)
		}
		n := len(c.messages)
		again := c.compacted(n - 4)
		c.messages = append([]any{again}, c.messages[n-4:]...)
		c.turn()
		if r := last(p).Request.Reasoning; r.Sent != 2 || r.Accepted != 2 {
			t.Errorf("stream %v: behind the second summary %+v", stream, r)
		}
		// Without the block, that which was made behind it is bound to another conversation.
		c.messages = append([]any{m{"role": "user", "content": "the task is T-1"}}, c.messages[len(c.messages)-2:]...)
		c.refused("bound to a different conversation")
		if s := p.Stats(); s.Summaries != 2 || p.Turns("") != 8 || s.Refusals[CausePrefix] != 1 {
			t.Errorf("stream %v: %d turns, %+v", stream, p.Turns(""), s)
		}
	}
}

func last(p *Provider) *Recorded {
	list := p.Requests()
	return list[len(list)-1]
}

// What makes kept thinking invalid, each a condition of "Compaction and preserved thinking".
func TestKeptThinkingIsLost(t *testing.T) {
	for name, lose := range map[string]func(c *talk){
		"a message between": func(c *talk) {
			c.messages = append([]any{c.messages[0], m{"role": "user", "content": "ah"}}, c.messages[1:]...)
		},
		"a message left out": func(c *talk) { c.messages = append([]any{c.messages[0]}, c.messages[3:]...) },
		"a kept message was changed": func(c *talk) {
			c.edit(2, []any{m{"type": "tool_result", "tool_use_id": at(c.messages[2], "content", 0, "tool_use_id"), "content": "cut"}})
		},
		"another system prompt": func(c *talk) { c.body["system"] = "be verbose" },
		"the summary of another talk": func(c *talk) {
			other := newTalk(c.t, c.server, c.model)
			other.betas = c.betas
			other.edit(0, "another")
			c.messages[0] = other.compacted(1)
		},
		"summarized by a model whose reasoning is not bound": func(c *talk) {
			other := newTalk(c.t, c.server, "claude-opus-5")
			other.betas = c.betas
			c.messages[0] = other.compacted(1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, server := bound(t, Options{})
			c := newTalk(t, server, "claude-fable-5-1")
			c.betas = []string{BetaCompact}
			for range 3 {
				c.turn()
			}
			c.messages = append([]any{c.compacted(1)}, c.messages[1:]...)
			if status, v := c.request(nil); status != 200 {
				t.Fatalf("unchanged: %d %v", status, v)
			}
			lose(c)
			c.refused("bound to a different conversation")
			c.betas = append(c.betas, BetaBinding)
			c.body["thinking"] = m{"type": "adaptive", "block_binding": m{"prefix_mismatch_behavior": "drop_block"}}
			c.turn()
		})
	}
}

func TestCompactionRefusals(t *testing.T) {
	p, server := bound(t, Options{})
	c := newTalk(t, server, "claude-fable-5-1")
	c.betas = []string{BetaCompact}
	c.turn()
	block := c.compacted(1)
	history := c.messages
	inside := func() m {
		b := m{}
		maps.Copy(b, at(block, "content", 0).(m))
		return b
	}
	for _, e := range []struct {
		name, words, code string
		extra             m
		change            func()
	}{
		{"beside context_management", "cannot be combined", "", m{"compaction": m{"type": "summarize"}, "context_management": m{"edits": []any{}}}, nil},
		{"beside stop_sequences", "cannot be combined", "", m{"compaction": m{"type": "summarize"}, "stop_sequences": []any{"x"}}, nil},
		{"beside a forced tool", "cannot be combined", "", m{"compaction": m{"type": "summarize"}, "tool_choice": m{"type": "any"}}, nil},
		{"open calls", "tool_use", "", summarize, func() { c.messages = history[:2] }},
		{"without the beta", "requires anthropic-beta: compact-2026-09-04", "", summarize, func() { c.betas = nil }},
		{"a model without", "does not support on-demand compaction", "", summarize, func() { c.model = "claude-sonnet-4-5" }},
		{"a block without the beta", "does not match any of the expected tags", "", nil, func() { c.betas, c.messages = nil, append([]any{block}, history[1:]...) }},
		{"a block behind messages", "must come first", "compaction_block_misplaced", nil, func() { c.messages = append([]any{history[0], block}, history[1:]...) }},
		{"two blocks", "exactly one", "", nil, func() {
			c.messages = append([]any{m{"role": "user", "content": []any{inside(), inside()}}}, history[1:]...)
		}},
		{"a changed signature", "Invalid `signature`", "compaction_signature_invalid", nil, func() {
			b := inside()
			b["signature"] = "AAAA"
			c.messages = []any{m{"role": "user", "content": []any{b, m{"type": "text", "text": "go on"}}}}
		}},
		{"a changed summary", "not what was returned", "compaction_content_mismatch", nil, func() {
			b := inside()
			b["content"] = "another"
			c.messages = []any{m{"role": "user", "content": []any{b, m{"type": "text", "text": "go on"}}}}
		}},
		{"a member more", "Extra inputs are not permitted", "", nil, func() {
			b := inside()
			b["citations"] = nil
			c.messages = []any{m{"role": "user", "content": []any{b, m{"type": "text", "text": "go on"}}}}
		}},
	} {
		c.betas, c.model, c.messages = []string{BetaCompact}, "claude-fable-5-1", history
		if e.change != nil {
			e.change()
		}
		status, v := c.request(e.extra)
		words, _ := at(v, "error", "message").(string)
		code, _ := at(v, "error", "details", "error_code").(string)
		if status != 400 || !strings.Contains(words, e.words) || code != e.code {
			t.Errorf("%s: %d %v", e.name, status, v)
		}
		if cause := last(p).Cause; cause != CauseCompaction && e.name != "open calls" {
			t.Errorf("%s: cause %q", e.name, cause)
		}
	}
	// A block in front of the user's own content is taken as well.
	c.messages = []any{m{"role": "user", "content": []any{inside(), m{"type": "text", "text": "go on"}}}}
	c.betas = []string{BetaCompact}
	c.turn()
	// A summary that did not come about is an answer without content.
	p2, server2 := bound(t, Options{Side: Replies(Reply{Text: "half", Stop: "max_tokens"})})
	c2 := newTalk(t, server2, "claude-fable-5-1")
	c2.betas = []string{BetaCompact}
	if status, v := c2.request(summarize); status != 200 || v["stop_reason"] != "max_tokens" || len(v["content"].([]any)) != 0 || p2.Stats().Summaries != 1 {
		t.Errorf("%d %v", status, v)
	}
}

func TestModelsSayWhoCompacts(t *testing.T) {
	_, server := bound(t, Options{})
	for model, want := range map[string]string{"claude-fable-5-1": "true", "claude-sonnet-4-5": "false"} {
		r, err := http.NewRequest(http.MethodGet, server.URL+"/v1/models/"+model, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Anthropic-Version", "2023-06-01")
		if _, text := do(t, server, r); !strings.Contains(text, `"compaction":{"supported":`+want+`}`) {
			t.Errorf("%s: %s", model, text)
		}
	}
}
