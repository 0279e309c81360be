package main

import (
	"encoding/json"
	"fmt"

	"github.com/plimsoll/plimsoll/window/wire"
)

// A body is a request that is written step by step, in any dialect.
type body struct {
	d        wire.Dialect
	messages []any
	id       int
}

type fields = map[string]any

func (b *body) user(text string) {
	switch b.d {
	case wire.Gemini:
		b.messages = append(b.messages, fields{"role": "user", "parts": []any{fields{"text": text}}})
	case wire.Responses:
		b.messages = append(b.messages, fields{"type": "message", "role": "user", "content": []any{fields{"type": "input_text", "text": text}}})
	default:
		b.messages = append(b.messages, fields{"role": "user", "content": text})
	}
}

// call adds what the agent says, one call and its result.
func (b *body) call(words, tool string, arguments any, result string, failed bool) {
	b.id++
	id := fmt.Sprintf("call_%d", b.id)
	literal, _ := json.Marshal(arguments)
	switch b.d {
	case wire.Messages:
		content := []any{fields{"type": "tool_use", "id": id, "name": tool, "input": arguments}}
		if words != "" {
			content = append([]any{fields{"type": "text", "text": words}}, content...)
		}
		answer := fields{"type": "tool_result", "tool_use_id": id, "content": result}
		if failed {
			answer["is_error"] = true
		}
		b.messages = append(b.messages, fields{"role": "assistant", "content": content}, fields{"role": "user", "content": []any{answer}})
	case wire.Gemini:
		parts := []any{fields{"functionCall": fields{"name": tool, "args": arguments}}}
		if words != "" {
			parts = append([]any{fields{"text": words}}, parts...)
		}
		b.messages = append(b.messages, fields{"role": "model", "parts": parts},
			fields{"role": "user", "parts": []any{fields{"functionResponse": fields{"name": tool, "response": fields{"output": result}}}}})
	case wire.Responses:
		b.says(words)
		b.messages = append(b.messages, fields{"type": "function_call", "call_id": id, "name": tool, "arguments": string(literal)},
			fields{"type": "function_call_output", "call_id": id, "output": result})
	default:
		b.messages = append(b.messages, fields{"role": "assistant", "content": words, "tool_calls": []any{fields{"id": id, "type": "function", "function": fields{"name": tool, "arguments": string(literal)}}}},
			fields{"role": "tool", "tool_call_id": id, "content": result})
	}
}

// custom adds a call whose input is no JSON, as Codex patches files.
func (b *body) custom(words, tool, input, result string) {
	b.id++
	id := fmt.Sprintf("call_%d", b.id)
	b.says(words)
	b.messages = append(b.messages, fields{"type": "custom_tool_call", "call_id": id, "name": tool, "input": input},
		fields{"type": "custom_tool_call_output", "call_id": id, "output": result})
}

func (b *body) says(words string) {
	if words != "" {
		b.messages = append(b.messages, fields{"type": "message", "role": "assistant", "content": []any{fields{"type": "output_text", "text": words}}})
	}
}

func (b *body) bytes() []byte {
	request := fields{"model": "planted", "messages": b.messages}
	switch b.d {
	case wire.Messages:
		request["max_tokens"] = 4096
	case wire.Gemini:
		request = fields{"contents": b.messages}
	case wire.Responses:
		request = fields{"model": "planted", "input": b.messages}
	}
	data, _ := json.Marshal(request)
	return data
}
