package modelserver

import (
	"encoding/base64"
	"encoding/json"
	"maps"
)

// Responses writes a Responses answer: one object, or the events from response.created to response.completed (response.incomplete if a has a reason
// to stop), numbered.
func (s *Stream) Responses(a *Answer) {
	response := m{
		"id": a.NewID("resp_"), "object": "response", "created_at": a.Created, "status": "in_progress", "background": false,
		"error": nil, "incomplete_details": nil, "instructions": nil, "max_output_tokens": nil, "model": a.Model, "output": []any{},
		"parallel_tool_calls": true, "previous_response_id": nil, "reasoning": m{"effort": nil, "summary": nil}, "store": false,
		"temperature": 1, "text": m{"format": m{"type": "text"}}, "tool_choice": "auto", "tools": []any{}, "top_p": 1,
		"truncation": "disabled", "usage": nil, "user": nil, "metadata": m{},
	}
	if a.Transformations != nil {
		response["input_transformations"] = a.Transformations
	}
	items := a.outputItems()
	done := func() m {
		full := m{}
		maps.Copy(full, response)
		full["status"], full["output"] = "completed", items
		if a.Stop != "" {
			full["status"], full["incomplete_details"] = "incomplete", m{"reason": a.Stop}
		}
		full["usage"] = m{
			"input_tokens": a.Usage.Input, "input_tokens_details": m{"cached_tokens": a.Usage.Cached},
			"output_tokens": a.Usage.Output, "output_tokens_details": m{"reasoning_tokens": 0}, "total_tokens": a.Usage.Input + a.Usage.Output,
		}
		return full
	}
	if !a.Stream {
		s.writeWhole(done())
		return
	}
	s.OpenEvents()
	n := s.Numbered()
	n.Send("response.created", m{"response": response})
	n.Send("response.in_progress", m{"response": response})
	for i, item := range items {
		n.sendItem(i, item.(m))
	}
	last := "response.completed"
	if a.Stop != "" {
		last = "response.incomplete"
	}
	n.Send(last, m{"response": done()})
}

// outputItems returns the output items of a: only one, of a compaction, if a is one; else there is a message if a has a text or no calls.
func (a *Answer) outputItems() []any {
	list := []any{}
	if a.Compaction {
		content := a.Signature
		if content == "" {
			content = base64.StdEncoding.EncodeToString([]byte(a.Text))
		}
		return append(list, m{"id": a.NewID("cmp_"), "type": "compaction", "encrypted_content": content})
	}
	if a.Compacted != "" {
		list = append(list, m{"id": a.NewID("cmp_"), "type": "compaction", "encrypted_content": a.Compacted})
	}
	if a.Thinking != "" {
		encrypted := a.Signature
		if encrypted == "" {
			encrypted = base64.StdEncoding.EncodeToString([]byte(Sign(a.Thinking) + a.Thinking))
		}
		list = append(list, m{
			"id": a.NewID("rs_"), "type": "reasoning", "summary": []any{m{"type": "summary_text", "text": a.Thinking}},
			"encrypted_content": encrypted,
		})
	}
	if a.Text != "" || len(a.Calls) == 0 {
		list = append(list, m{
			"id": a.NewID("msg_"), "type": "message", "status": "completed", "role": "assistant",
			"content": []any{m{"type": "output_text", "annotations": []any{}, "logprobs": []any{}, "text": a.Text}},
		})
	}
	for _, c := range a.Calls {
		list = append(list, a.outputItem(c))
	}
	return list
}

// outputItem returns the output item of a call, in the form of its kind.
func (a *Answer) outputItem(c Call) m {
	switch c.Kind {
	case "custom":
		item := m{"id": a.NewID("ctc_"), "type": "custom_tool_call", "status": "completed", "call_id": c.ID, "name": c.Name, "input": c.Arguments}
		if c.Namespace != "" {
			item["namespace"] = c.Namespace
		}
		return item
	case "local_shell":
		var args struct{ Command any }
		_ = json.Unmarshal([]byte(c.Arguments), &args) // without a command there is none
		command := args.Command
		if line, ok := command.(string); ok {
			command = []string{"bash", "-lc", line}
		}
		action := m{"type": "exec", "command": command, "env": m{}, "timeout_ms": nil, "user": nil, "working_directory": nil}
		return m{"id": a.NewID("lsh_"), "type": "local_shell_call", "status": "completed", "call_id": c.ID, "action": action}
	}
	item := m{"id": a.NewID("fc_"), "type": "function_call", "status": "completed", "call_id": c.ID, "name": c.Name, "arguments": c.Arguments}
	if c.Namespace != "" {
		item["namespace"] = c.Namespace
	}
	return item
}

// Numbered puts type and sequence number into events, as Responses has them.
type Numbered struct {
	*Stream
	sequence int
}

// Numbered begins to count events.
func (s *Stream) Numbered() *Numbered { return &Numbered{Stream: s} }

// Send writes one event of a kind.
func (n *Numbered) Send(kind string, v m) {
	v["type"], v["sequence_number"] = kind, n.sequence
	n.sequence++
	n.Event(kind, v)
}

// sendItem writes the events of one output item.
func (n *Numbered) sendItem(i int, item m) {
	begun := m{}
	maps.Copy(begun, item)
	id := item["id"]
	add := func() {
		if _, ok := item["status"]; ok {
			begun["status"] = "in_progress"
		}
		n.Send("response.output_item.added", m{"output_index": i, "item": begun})
	}
	switch item["type"] {
	case "message":
		part := item["content"].([]any)[0].(m)
		begun["content"] = []any{}
		add()
		empty := m{"type": "output_text", "annotations": []any{}, "logprobs": []any{}, "text": ""}
		n.Send("response.content_part.added", m{"item_id": id, "output_index": i, "content_index": 0, "part": empty})
		for _, text := range pieces(part["text"].(string)) {
			n.Send("response.output_text.delta", m{"item_id": id, "output_index": i, "content_index": 0, "delta": text, "logprobs": []any{}})
		}
		n.Send("response.output_text.done", m{"item_id": id, "output_index": i, "content_index": 0, "text": part["text"], "logprobs": []any{}})
		n.Send("response.content_part.done", m{"item_id": id, "output_index": i, "content_index": 0, "part": part})
	case "reasoning":
		part := item["summary"].([]any)[0].(m)
		begun["summary"] = []any{}
		add()
		n.Send("response.reasoning_summary_part.added", m{"item_id": id, "output_index": i, "summary_index": 0, "part": m{"type": "summary_text", "text": ""}})
		for _, text := range pieces(part["text"].(string)) {
			n.Send("response.reasoning_summary_text.delta", m{"item_id": id, "output_index": i, "summary_index": 0, "delta": text})
		}
		n.Send("response.reasoning_summary_text.done", m{"item_id": id, "output_index": i, "summary_index": 0, "text": part["text"]})
		n.Send("response.reasoning_summary_part.done", m{"item_id": id, "output_index": i, "summary_index": 0, "part": part})
	case "function_call":
		n.sendInput(i, item, begun, "arguments", "response.function_call_arguments", add)
	case "custom_tool_call":
		n.sendInput(i, item, begun, "input", "response.custom_tool_call_input", add)
	default:
		add()
	}
	n.Send("response.output_item.done", m{"output_index": i, "item": item})
}

// sendInput writes the input of a call, which is in a member of its item, as deltas of an event. add writes the event that adds the item.
func (n *Numbered) sendInput(i int, item, begun m, member, event string, add func()) {
	begun[member] = ""
	add()
	text := item[member].(string)
	for _, piece := range pieces(text) {
		n.Send(event+".delta", m{"item_id": item["id"], "output_index": i, "delta": piece})
	}
	n.Send(event+".done", m{"item_id": item["id"], "output_index": i, member: text})
}
