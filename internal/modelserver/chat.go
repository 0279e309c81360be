package scripted

import "encoding/json"

// chat writes a Chat Completions answer: one object, or chunks that end in [DONE], with
// the usage in a chunk of its own when stream_options asks for it.
func (s *stream) chat(p *Provider, r *Request, reply Reply, u usage) {
	id := p.id("chatcmpl-")
	reason := "stop"
	if len(reply.Calls) > 0 {
		reason = "tool_calls"
	}
	if reply.Stop != "" {
		reason = reply.Stop
	}
	used := m{
		"prompt_tokens": u.input, "completion_tokens": u.output, "total_tokens": u.input + u.output,
		"prompt_tokens_details":     m{"cached_tokens": u.cached, "audio_tokens": 0},
		"completion_tokens_details": m{"reasoning_tokens": 0, "audio_tokens": 0, "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0},
	}
	if !r.Stream {
		message := m{"role": "assistant", "content": nil, "refusal": nil}
		if reply.Text != "" || len(reply.Calls) == 0 {
			message["content"] = reply.Text
		}
		if reply.Thinking != "" {
			message["reasoning_content"] = reply.Thinking
		}
		if len(reply.Calls) > 0 {
			var calls []any
			for _, c := range reply.Calls {
				calls = append(calls, chatCall(c))
			}
			message["tool_calls"] = calls
		}
		s.whole(m{
			"id": id, "object": "chat.completion", "created": created, "model": r.Model, "service_tier": "default", "system_fingerprint": "fp_scripted",
			"choices": []any{m{"index": 0, "message": message, "logprobs": nil, "finish_reason": reason}}, "usage": used,
		})
		return
	}
	var options struct {
		IncludeUsage bool `json:"include_usage"`
	}
	json.Unmarshal(r.top["stream_options"], &options)
	s.open("text/event-stream; charset=utf-8")
	chunk := func(choices []any, usage any) {
		c := m{"id": id, "object": "chat.completion.chunk", "created": created, "model": r.Model, "service_tier": "default", "system_fingerprint": "fp_scripted", "choices": choices}
		if options.IncludeUsage {
			c["usage"] = usage
		}
		s.event("", c)
	}
	delta := func(d m, finish any) {
		chunk([]any{m{"index": 0, "delta": d, "logprobs": nil, "finish_reason": finish}}, nil)
	}
	delta(m{"role": "assistant", "content": "", "refusal": nil}, nil)
	for _, text := range pieces(reply.Thinking) {
		delta(m{"reasoning_content": text}, nil)
	}
	for _, text := range pieces(reply.Text) {
		delta(m{"content": text}, nil)
	}
	for i, c := range reply.Calls {
		delta(m{"tool_calls": []any{m{"index": i, "id": c.ID, "type": "function", "function": m{"name": c.Tool, "arguments": ""}}}}, nil)
		for _, text := range pieces(c.arguments()) {
			delta(m{"tool_calls": []any{m{"index": i, "function": m{"arguments": text}}}}, nil)
		}
	}
	delta(m{}, reason)
	if options.IncludeUsage {
		chunk([]any{}, used)
	}
	s.event("", "[DONE]")
}

func chatCall(c Call) m {
	return m{"id": c.ID, "type": "function", "function": m{"name": c.Tool, "arguments": c.arguments()}}
}
