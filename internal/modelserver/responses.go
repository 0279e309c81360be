package scripted

import (
	"encoding/base64"
	"encoding/json"
	"maps"
)

// responses writes a Responses answer: one object, or the events from response.created to
// response.completed, numbered.
func (s *stream) responses(p *Provider, r *Request, reply Reply, u usage) {
	response := m{
		"id": p.id("resp_"), "object": "response", "created_at": created, "status": "in_progress", "background": false,
		"error": nil, "incomplete_details": nil, "instructions": nil, "max_output_tokens": nil, "model": r.Model, "output": []any{},
		"parallel_tool_calls": true, "previous_response_id": nil, "reasoning": m{"effort": nil, "summary": nil}, "store": false,
		"temperature": 1, "text": m{"format": m{"type": "text"}}, "tool_choice": "auto", "tools": []any{}, "top_p": 1,
		"truncation": "disabled", "usage": nil, "user": nil, "metadata": m{},
	}
	items := p.items(r, reply)
	done := func() m {
		full := m{}
		maps.Copy(full, response)
		full["status"], full["output"] = "completed", items
		if reply.Stop != "" {
			full["status"], full["incomplete_details"] = "incomplete", m{"reason": reply.Stop}
		}
		full["usage"] = m{
			"input_tokens": u.input, "input_tokens_details": m{"cached_tokens": u.cached},
			"output_tokens": u.output, "output_tokens_details": m{"reasoning_tokens": 0}, "total_tokens": u.input + u.output,
		}
		return full
	}
	if !r.Stream {
		s.whole(done())
		return
	}
	s.open("text/event-stream; charset=utf-8")
	n := &numbered{stream: s}
	n.send("response.created", m{"response": response})
	n.send("response.in_progress", m{"response": response})
	for i, item := range items {
		n.item(i, item.(m))
	}
	last := "response.completed"
	if reply.Stop != "" {
		last = "response.incomplete"
	}
	n.send(last, m{"response": done()})
}

// items are the output items of a reply.
func (p *Provider) items(r *Request, reply Reply) []any {
	list := []any{}
	if r.compactionItem() {
		content := base64.StdEncoding.EncodeToString([]byte(reply.Text))
		return append(list, m{"id": p.id("cmp_"), "type": "compaction", "encrypted_content": content})
	}
	if reply.Thinking != "" {
		list = append(list, m{
			"id": p.id("rs_"), "type": "reasoning", "summary": []any{m{"type": "summary_text", "text": reply.Thinking}},
			"encrypted_content": base64.StdEncoding.EncodeToString([]byte(sign(reply.Thinking) + reply.Thinking)),
		})
	}
	if reply.Text != "" || len(reply.Calls) == 0 {
		list = append(list, m{
			"id": p.id("msg_"), "type": "message", "status": "completed", "role": "assistant",
			"content": []any{m{"type": "output_text", "annotations": []any{}, "logprobs": []any{}, "text": reply.Text}},
		})
	}
	for _, c := range reply.Calls {
		list = append(list, p.callItem(c))
	}
	return list
}

func (p *Provider) callItem(c Call) m {
	switch c.Kind {
	case "custom":
		input, ok := c.Args.(string)
		if !ok {
			input = c.arguments()
		}
		item := m{"id": p.id("ctc_"), "type": "custom_tool_call", "status": "completed", "call_id": c.ID, "name": c.Tool, "input": input}
		if c.Namespace != "" {
			item["namespace"] = c.Namespace
		}
		return item
	case "local_shell":
		var args struct{ Command any }
		json.Unmarshal([]byte(c.arguments()), &args)
		command := args.Command
		if line, ok := command.(string); ok {
			command = []string{"bash", "-lc", line}
		}
		action := m{"type": "exec", "command": command, "env": m{}, "timeout_ms": nil, "user": nil, "working_directory": nil}
		return m{"id": p.id("lsh_"), "type": "local_shell_call", "status": "completed", "call_id": c.ID, "action": action}
	}
	item := m{"id": p.id("fc_"), "type": "function_call", "status": "completed", "call_id": c.ID, "name": c.Tool, "arguments": c.arguments()}
	if c.Namespace != "" {
		item["namespace"] = c.Namespace
	}
	return item
}

// numbered puts type and sequence number into events.
type numbered struct {
	*stream
	sequence int
}

func (n *numbered) send(kind string, v m) {
	v["type"], v["sequence_number"] = kind, n.sequence
	n.sequence++
	n.event(kind, v)
}

// item writes the events of one output item.
func (n *numbered) item(i int, item m) {
	begun := m{}
	maps.Copy(begun, item)
	id := item["id"]
	add := func() {
		if _, ok := item["status"]; ok {
			begun["status"] = "in_progress"
		}
		n.send("response.output_item.added", m{"output_index": i, "item": begun})
	}
	switch item["type"] {
	case "message":
		part := item["content"].([]any)[0].(m)
		begun["content"] = []any{}
		add()
		empty := m{"type": "output_text", "annotations": []any{}, "logprobs": []any{}, "text": ""}
		n.send("response.content_part.added", m{"item_id": id, "output_index": i, "content_index": 0, "part": empty})
		for _, text := range pieces(part["text"].(string)) {
			n.send("response.output_text.delta", m{"item_id": id, "output_index": i, "content_index": 0, "delta": text, "logprobs": []any{}})
		}
		n.send("response.output_text.done", m{"item_id": id, "output_index": i, "content_index": 0, "text": part["text"], "logprobs": []any{}})
		n.send("response.content_part.done", m{"item_id": id, "output_index": i, "content_index": 0, "part": part})
	case "reasoning":
		part := item["summary"].([]any)[0].(m)
		begun["summary"] = []any{}
		add()
		n.send("response.reasoning_summary_part.added", m{"item_id": id, "output_index": i, "summary_index": 0, "part": m{"type": "summary_text", "text": ""}})
		for _, text := range pieces(part["text"].(string)) {
			n.send("response.reasoning_summary_text.delta", m{"item_id": id, "output_index": i, "summary_index": 0, "delta": text})
		}
		n.send("response.reasoning_summary_text.done", m{"item_id": id, "output_index": i, "summary_index": 0, "text": part["text"]})
		n.send("response.reasoning_summary_part.done", m{"item_id": id, "output_index": i, "summary_index": 0, "part": part})
	case "function_call":
		n.input(i, item, begun, "arguments", "response.function_call_arguments", add)
	case "custom_tool_call":
		n.input(i, item, begun, "input", "response.custom_tool_call_input", add)
	default:
		add()
	}
	n.send("response.output_item.done", m{"output_index": i, "item": item})
}

// input writes what a call is called with: the member, as deltas of an event.
func (n *numbered) input(i int, item, begun m, member, event string, add func()) {
	begun[member] = ""
	add()
	text := item[member].(string)
	for _, piece := range pieces(text) {
		n.send(event+".delta", m{"item_id": item["id"], "output_index": i, "delta": piece})
	}
	n.send(event+".done", m{"item_id": item["id"], "output_index": i, member: text})
}
