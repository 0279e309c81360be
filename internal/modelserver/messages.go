package modelserver

import (
	"encoding/json"
	"maps"
)

// Messages writes a Messages answer: one object, or the events from message_start to
// message_stop with a ping after the first.
func (s *Stream) Messages(a *Answer) {
	reason := "end_turn"
	if len(a.Calls) > 0 {
		reason = "tool_use"
	}
	if a.Stop != "" {
		reason = a.Stop
	}
	used := m{
		"input_tokens": a.Usage.Input - a.Usage.Cached - a.Usage.Written, "cache_creation_input_tokens": a.Usage.Written, "cache_read_input_tokens": a.Usage.Cached,
		"cache_creation": m{"ephemeral_5m_input_tokens": a.Usage.Written, "ephemeral_1h_input_tokens": 0}, "output_tokens": a.Usage.Output, "service_tier": "standard",
	}
	var blocks []m
	if a.Thinking != "" || a.Signature != "" {
		signature := a.Signature
		if signature == "" {
			signature = Sign(a.Thinking)
		}
		blocks = append(blocks, m{"type": "thinking", "thinking": a.Thinking, "signature": signature})
	}
	for _, data := range a.Redacted {
		blocks = append(blocks, m{"type": "redacted_thinking", "data": data})
	}
	if s := a.Summary; s != nil {
		blocks = append(blocks, m{"type": "compaction", "content": s.Content, "signature": s.Signature})
	}
	if a.Text != "" {
		blocks = append(blocks, m{"type": "text", "text": a.Text})
	}
	for _, c := range a.Calls {
		blocks = append(blocks, m{"type": "tool_use", "id": c.ID, "name": c.Name, "input": c.arguments()})
	}
	message := m{
		"id": a.NewID("msg_"), "type": "message", "role": "assistant", "model": a.Model, "content": blocks,
		"stop_reason": reason, "stop_sequence": nil, "usage": used,
	}
	if blocks == nil {
		message["content"] = []any{}
	}
	if a.Transformations != nil {
		message["input_transformations"] = a.Transformations
	}
	if a.Iteration != nil {
		used["iterations"] = []any{m{
			"type": "compaction", "input_tokens": a.Iteration.Input - a.Iteration.Cached - a.Iteration.Written, "cache_read_input_tokens": a.Iteration.Cached,
			"cache_creation_input_tokens": a.Iteration.Written, "output_tokens": a.Iteration.Output,
		}}
	}
	if !a.Stream {
		s.writeWhole(message)
		return
	}
	s.OpenEvents()
	start := m{}
	maps.Copy(start, used)
	start["output_tokens"] = 1
	message["content"], message["stop_reason"], message["usage"] = []any{}, nil, start
	s.Event("message_start", m{"type": "message_start", "message": message})
	s.Event("ping", m{"type": "ping"})
	for i, b := range blocks {
		s.block(i, b)
	}
	s.Event("message_delta", m{"type": "message_delta", "delta": m{"stop_reason": reason, "stop_sequence": nil}, "usage": used})
	s.Event("message_stop", m{"type": "message_stop"})
}

// block writes the events of one content block.
func (s *Stream) block(i int, b m) {
	first := m{"type": b["type"]}
	var deltas []m
	switch b["type"] {
	case "redacted_thinking", "compaction": // whole
		first = b
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
	s.Event("content_block_start", m{"type": "content_block_start", "index": i, "content_block": first})
	for _, d := range deltas {
		s.Event("content_block_delta", m{"type": "content_block_delta", "index": i, "delta": d})
	}
	s.Event("content_block_stop", m{"type": "content_block_stop", "index": i})
}
