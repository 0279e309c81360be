package modelserver

// Chat writes a Chat Completions answer: one object, or chunks that end in [DONE], with
// the usage in a chunk of its own when stream_options asks for it.
func (s *Stream) Chat(a *Answer) {
	id := a.NewID("chatcmpl-")
	reason := "stop"
	if len(a.Calls) > 0 {
		reason = "tool_calls"
	}
	if a.Stop != "" {
		reason = a.Stop
	}
	used := m{
		"prompt_tokens": a.Usage.Input, "completion_tokens": a.Usage.Output, "total_tokens": a.Usage.Input + a.Usage.Output,
		"prompt_tokens_details":     m{"cached_tokens": a.Usage.Cached, "audio_tokens": 0},
		"completion_tokens_details": m{"reasoning_tokens": 0, "audio_tokens": 0, "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0},
	}
	if !a.Stream {
		message := m{"role": "assistant", "content": nil, "refusal": orNull(a.Refusal)}
		if a.Refusal == "" && (a.Text != "" || len(a.Calls) == 0) {
			message["content"] = a.Text
		}
		if a.Thinking != "" {
			message["reasoning_content"] = a.Thinking
		}
		if len(a.Calls) > 0 {
			var calls []any
			for _, c := range a.Calls {
				calls = append(calls, chatCall(c))
			}
			message["tool_calls"] = calls
		}
		s.writeWhole(m{
			"id": id, "object": "chat.completion", "created": a.Created, "model": a.Model, "service_tier": "default", "system_fingerprint": a.Fingerprint,
			"choices": []any{m{"index": 0, "message": message, "logprobs": nil, "finish_reason": reason}}, "usage": used,
		})
		return
	}
	s.OpenEvents()
	chunk := func(choices []any, usage any) {
		c := m{"id": id, "object": "chat.completion.chunk", "created": a.Created, "model": a.Model, "service_tier": "default", "system_fingerprint": a.Fingerprint, "choices": choices}
		if a.IncludeUsage {
			c["usage"] = usage
		}
		s.Event("", c)
	}
	delta := func(d m, finish any) {
		chunk([]any{m{"index": 0, "delta": d, "logprobs": nil, "finish_reason": finish}}, nil)
	}
	delta(m{"role": "assistant", "content": "", "refusal": nil}, nil)
	for _, text := range pieces(a.Thinking) {
		delta(m{"reasoning_content": text}, nil)
	}
	for _, text := range pieces(a.Refusal) {
		delta(m{"refusal": text}, nil)
	}
	for _, text := range pieces(a.Text) {
		delta(m{"content": text}, nil)
	}
	for i, c := range a.Calls {
		delta(m{"tool_calls": []any{m{"index": i, "id": c.ID, "type": "function", "function": m{"name": c.Name, "arguments": ""}}}}, nil)
		for _, text := range pieces(c.Arguments) {
			delta(m{"tool_calls": []any{m{"index": i, "function": m{"arguments": text}}}}, nil)
		}
	}
	delta(m{}, reason)
	if a.IncludeUsage {
		chunk([]any{}, used)
	}
	s.Event("", "[DONE]")
}

func chatCall(c Call) m {
	return m{"id": c.ID, "type": "function", "function": m{"name": c.Name, "arguments": c.Arguments}}
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}
