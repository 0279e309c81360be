package scripted

import "encoding/json"

// gemini writes a generateContent answer: one object, events with CRLF line ends as Google
// sends them, or (a stream without alt=sse) one JSON array that grows.
func (s *stream) gemini(p *Provider, r *Request, reply Reply, u usage) {
	id := p.id("")
	var parts []m
	if reply.Thinking != "" {
		parts = append(parts, m{"text": reply.Thinking, "thought": true})
	}
	if r.Stream {
		for _, text := range pieces(reply.Text) {
			parts = append(parts, m{"text": text})
		}
	} else if reply.Text != "" {
		parts = append(parts, m{"text": reply.Text})
	}
	for i, c := range reply.Calls {
		part := m{"functionCall": m{"id": c.ID, "name": c.Tool, "args": json.RawMessage(c.arguments())}}
		if i == 0 {
			part["thoughtSignature"] = sign(c.Tool + c.arguments())
		}
		parts = append(parts, part)
	}
	reason := "STOP"
	if reply.Stop != "" {
		reason = reply.Stop
	}
	chunk := func(parts []m, last bool) m {
		candidate := m{"content": m{"parts": parts, "role": "model"}, "index": 0}
		used := m{"promptTokenCount": u.input, "totalTokenCount": u.input, "promptTokensDetails": []any{m{"modality": "TEXT", "tokenCount": u.input}}}
		if u.cached > 0 {
			used["cachedContentTokenCount"] = u.cached
		}
		if last {
			candidate["finishReason"] = reason
			used["candidatesTokenCount"], used["totalTokenCount"] = u.output, u.input+u.output
		}
		return m{"candidates": []any{candidate}, "usageMetadata": used, "modelVersion": r.Model, "responseId": id}
	}
	if !r.Stream {
		s.whole(chunk(parts, true))
		return
	}
	if len(parts) == 0 {
		parts = []m{{"text": ""}}
	}
	if r.place.array {
		s.open("application/json; charset=UTF-8")
		for i, part := range parts {
			text, err := json.Marshal(chunk([]m{part}, i == len(parts)-1))
			if err != nil {
				s.err = err
				return
			}
			before := ",\r\n"
			if i == 0 {
				before = "["
			}
			s.write(before + string(text))
		}
		s.write("\n]\n")
		return
	}
	s.open("text/event-stream")
	s.end = "\r\n"
	for i, part := range parts {
		s.event("", chunk([]m{part}, i == len(parts)-1))
	}
}
