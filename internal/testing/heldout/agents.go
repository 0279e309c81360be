package heldout

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/plimsoll/plimsoll/window/wire"
)

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// An agent forms tool calls the way one of the agents does.
type agent struct {
	read  func(path string) call
	edit  func(path, before, after string) call
	run   func(command string) call
	plan  func(items []item) call
	ended func(output string, code int) string // what a command's result looks like
	wrote func(path string) string
}

// An item stands on the list of what is to do.
type item struct {
	text  string
	state state
}

// state tells how far an item is.
type state int

const (
	open state = iota
	done
	atHand
)

// word returns the agent's word for the state.
func (i item) word(open, done, atHand string) string { return []string{open, done, atHand}[i.state] }

// A call of a tool: with arguments, or with a text where the tool takes one.
type call struct {
	name      string
	arguments any
	text      string
}

type turn struct {
	user   string // or
	say    string
	call   call // without a name it is only said
	result string
	failed bool
}

type writer struct {
	agent
	turns []turn
}

func (a agent) writer() *writer { return &writer{agent: a} }

func (w *writer) user(text string) { w.turns = append(w.turns, turn{user: text}) }

func (w *writer) read(say, path, text string) {
	w.turns = append(w.turns, turn{say: say, call: w.agent.read(path), result: text})
}

func (w *writer) edit(say, path, before, after string) {
	w.turns = append(w.turns, turn{say: say, call: w.agent.edit(path, before, after), result: w.wrote(path)})
}

func (w *writer) run(say, command, output string, code int) {
	w.turns = append(w.turns, turn{say: say, call: w.agent.run(command), result: w.ended(output, code), failed: code != 0})
}

// writePlan adds a turn in which the agent writes its list of tasks. The first through of them are done; if all are, the first of todo is in
// progress.
func (w *writer) writePlan(say string, tasks []string, through int, todo []string) {
	var items []item
	for i, text := range tasks {
		items = append(items, item{text, open})
		if i < through {
			items[i].state = done
		}
	}
	for i, text := range todo {
		items = append(items, item{text, open})
		if i == 0 && through == len(tasks) {
			items[len(items)-1].state = atHand
		}
	}
	w.turns = append(w.turns, turn{say: say, call: w.agent.plan(items), result: "OK"})
}

func (w *writer) say(text string) { w.turns = append(w.turns, turn{say: text}) }

type object = map[string]any

// encode returns the session as a request of a dialect.
func (w *writer) encode(d wire.Dialect) []byte {
	var list []any
	for i, t := range w.turns {
		id := fmt.Sprintf("call_%d", i)
		arguments, err := json.Marshal(t.call.arguments)
		if err != nil {
			panic(err) // they are maps of texts
		}
		switch d {
		case wire.Messages:
			if t.user != "" {
				list = append(list, object{"role": "user", "content": t.user})
				continue
			}
			var content []any
			if t.say != "" {
				content = append(content, object{"type": "text", "text": t.say})
			}
			if t.call.name == "" {
				list = append(list, object{"role": "assistant", "content": content})
				continue
			}
			content = append(content, object{"type": "tool_use", "id": id, "name": t.call.name, "input": json.RawMessage(arguments)})
			result := object{"type": "tool_result", "tool_use_id": id, "content": t.result}
			if t.failed {
				result["is_error"] = true
			}
			list = append(list, object{"role": "assistant", "content": content}, object{"role": "user", "content": []any{result}})
		case wire.Chat:
			if t.user != "" {
				list = append(list, object{"role": "user", "content": t.user})
				continue
			}
			if t.call.name == "" {
				list = append(list, object{"role": "assistant", "content": t.say})
				continue
			}
			list = append(list, object{"role": "assistant", "content": t.say, "tool_calls": []any{object{"id": id, "type": "function", "function": object{"name": t.call.name, "arguments": string(arguments)}}}},
				object{"role": "tool", "tool_call_id": id, "content": t.result})
		case wire.Responses:
			if t.user != "" {
				list = append(list, object{"type": "message", "role": "user", "content": []any{object{"type": "input_text", "text": t.user}}})
				continue
			}
			if t.say != "" {
				list = append(list, object{"type": "message", "role": "assistant", "content": []any{object{"type": "output_text", "text": t.say}}})
			}
			if t.call.name == "" {
				continue
			}
			if t.call.text != "" {
				list = append(list, object{"type": "custom_tool_call", "call_id": id, "name": t.call.name, "input": t.call.text}, object{"type": "custom_tool_call_output", "call_id": id, "output": t.result})
				continue
			}
			list = append(list, object{"type": "function_call", "call_id": id, "name": t.call.name, "arguments": string(arguments)}, object{"type": "function_call_output", "call_id": id, "output": t.result})
		case wire.Gemini:
			if t.user != "" {
				list = append(list, object{"role": "user", "parts": []any{object{"text": t.user}}})
				continue
			}
			var parts []any
			if t.say != "" {
				parts = append(parts, object{"text": t.say})
			}
			if t.call.name == "" {
				list = append(list, object{"role": "model", "parts": parts})
				continue
			}
			parts = append(parts, object{"functionCall": object{"name": t.call.name, "args": json.RawMessage(arguments)}})
			list = append(list, object{"role": "model", "parts": parts}, object{"role": "user", "parts": []any{object{"functionResponse": object{"name": t.call.name, "response": object{"output": t.result}}}}})
		}
	}
	var body any
	switch d {
	case wire.Messages:
		body = object{"model": "claude-sonnet-5", "max_tokens": 8000, "system": "You are a coding agent.", "messages": list}
	case wire.Chat:
		body = object{"model": "gpt-4o", "messages": append([]any{object{"role": "system", "content": "You are a coding agent."}}, list...)}
	case wire.Responses:
		body = object{"model": "gpt-5", "instructions": "You are a coding agent.", "input": list}
	case wire.Gemini:
		body = object{"systemInstruction": object{"parts": []any{object{"text": "You are a coding agent."}}}, "contents": list}
	}
	out, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return out
}
