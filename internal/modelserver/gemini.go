package modelserver

import "encoding/json"

// Gemini writes a generateContent answer: one object, events with CRLF line ends as Google
// sends them, or (a stream without alt=sse) one JSON array that grows.
func (s *Stream) Gemini(a *Answer) {
	id := a.NewID("")
	var parts []m
	if a.Thinking != "" {
		parts = append(parts, m{"text": a.Thinking, "thought": true})
	}
	if a.Stream {
		for _, text := range pieces(a.Text) {
			parts = append(parts, m{"text": text})
		}
	} else if a.Text != "" {
		parts = append(parts, m{"text": a.Text})
	}
	for i, c := range a.Calls {
		part := m{"functionCall": m{"id": c.ID, "name": c.Name, "args": c.arguments()}}
		if i == 0 {
			part["thoughtSignature"] = Sign(c.Name + c.Arguments)
		}
		parts = append(parts, part)
	}
	reason := "STOP"
	if a.Stop != "" {
		reason = a.Stop
	}
	chunk := func(parts []m, last bool) m {
		candidate := m{"content": m{"parts": parts, "role": "model"}, "index": 0}
		used := m{"promptTokenCount": a.Usage.Input, "totalTokenCount": a.Usage.Input, "promptTokensDetails": []any{m{"modality": "TEXT", "tokenCount": a.Usage.Input}}}
		if a.Usage.Cached > 0 {
			used["cachedContentTokenCount"] = a.Usage.Cached
		}
		if last {
			candidate["finishReason"] = reason
			used["candidatesTokenCount"], used["totalTokenCount"] = a.Usage.Output, a.Usage.Input+a.Usage.Output
		}
		return m{"candidates": []any{candidate}, "usageMetadata": used, "modelVersion": a.Model, "responseId": id}
	}
	if !a.Stream {
		s.writeWhole(chunk(parts, true))
		return
	}
	if len(parts) == 0 {
		parts = []m{{"text": ""}}
	}
	if a.Array {
		s.Open("application/json; charset=UTF-8")
		for i, part := range parts {
			text, err := json.Marshal(chunk([]m{part}, i == len(parts)-1))
			if err != nil {
				s.Err = err
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
	s.Open("text/event-stream")
	s.end = "\r\n"
	for i, part := range parts {
		s.Event("", chunk([]m{part}, i == len(parts)-1))
	}
}
