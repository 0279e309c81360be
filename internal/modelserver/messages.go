package scripted

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
)

// messages writes a Messages answer: one object, or the events from message_start to
// message_stop with a ping after the first.
func (s *stream) messages(p *Provider, r *Request, reply Reply, u usage) {
	reason := "end_turn"
	if len(reply.Calls) > 0 {
		reason = "tool_use"
	}
	if reply.Stop != "" {
		reason = reply.Stop
	}
	used := m{
		"input_tokens": u.input - u.cached, "cache_creation_input_tokens": 0, "cache_read_input_tokens": u.cached,
		"cache_creation": m{"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0}, "output_tokens": u.output, "service_tier": "standard",
	}
	var blocks []m
	if reply.Thinking != "" && r.thinks() {
		blocks = append(blocks, m{"type": "thinking", "thinking": reply.Thinking, "signature": sign(reply.Thinking)})
	}
	if reply.Text != "" {
		blocks = append(blocks, m{"type": "text", "text": reply.Text})
	}
	for _, c := range reply.Calls {
		blocks = append(blocks, m{"type": "tool_use", "id": c.ID, "name": c.Tool, "input": json.RawMessage(c.arguments())})
	}
	message := m{
		"id": p.id("msg_"), "type": "message", "role": "assistant", "model": r.Model, "content": blocks,
		"stop_reason": reason, "stop_sequence": nil, "usage": used,
	}
	if blocks == nil {
		message["content"] = []any{}
	}
	if !r.Stream {
		s.whole(message)
		return
	}
	s.open("text/event-stream; charset=utf-8")
	start := m{}
	maps.Copy(start, used)
	start["output_tokens"] = 1
	message["content"], message["stop_reason"], message["usage"] = []any{}, nil, start
	s.event("message_start", m{"type": "message_start", "message": message})
	s.event("ping", m{"type": "ping"})
	for i, b := range blocks {
		s.block(i, b)
	}
	s.event("message_delta", m{"type": "message_delta", "delta": m{"stop_reason": reason, "stop_sequence": nil}, "usage": used})
	s.event("message_stop", m{"type": "message_stop"})
}

// block writes the events of one content block.
func (s *stream) block(i int, b m) {
	first := m{"type": b["type"]}
	var deltas []m
	switch b["type"] {
	case "text":
		first["text"] = ""
		for _, text := range pieces(b["text"].(string)) {
			deltas = append(deltas, m{"type": "text_delta", "text": text})
		}
	case "thinking":
		first["thinking"], first["signature"] = "", ""
		for _, text := range pieces(b["thinking"].(string)) {
			deltas = append(deltas, m{"type": "thinking_delta", "thinking": text})
		}
		deltas = append(deltas, m{"type": "signature_delta", "signature": b["signature"]})
	case "tool_use":
		first["id"], first["name"], first["input"] = b["id"], b["name"], m{}
		deltas = append(deltas, m{"type": "input_json_delta", "partial_json": ""})
		for _, text := range pieces(string(b["input"].(json.RawMessage))) {
			deltas = append(deltas, m{"type": "input_json_delta", "partial_json": text})
		}
	}
	s.event("content_block_start", m{"type": "content_block_start", "index": i, "content_block": first})
	for _, d := range deltas {
		s.event("content_block_delta", m{"type": "content_block_delta", "index": i, "delta": d})
	}
	s.event("content_block_stop", m{"type": "content_block_stop", "index": i})
}

// thinks tells whether the request turned thinking on: the provider sends none otherwise.
func (r *Request) thinks() bool {
	var t struct{ Type string }
	json.Unmarshal(r.top["thinking"], &t)
	return t.Type == "enabled" || t.Type == "adaptive"
}

// sign makes the signature that goes with thinking.
func sign(thinking string) string {
	sum := sha256.Sum256([]byte("scripted:" + thinking))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// checkSignatures refuses thinking that was changed, in the messages behind the last one
// that is the user's own: those are the turn that is still running.
func checkSignatures(r *Request) error {
	for i := len(r.list) - 1; i >= 0; i-- {
		var e struct {
			Role    string
			Content []struct{ Type, Thinking, Signature string }
		}
		if json.Unmarshal(r.list[i], &e) != nil {
			return nil // a plain text of the user
		}
		own := e.Role == "user"
		for k, b := range e.Content {
			if b.Type == "thinking" && b.Signature != sign(b.Thinking) {
				return fmt.Errorf("messages.%d.content.%d: Invalid `signature` in `thinking` block", i, k)
			}
			own = own && b.Type != "tool_result"
		}
		if own {
			return nil
		}
	}
	return nil
}

var errCut = errors.New("the answer was broken off on purpose")
