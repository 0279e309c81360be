package heldout

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/window/wire"
)

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// An agent is how one of them calls its tools.
type agent struct {
	read  func(path string) call
	edit  func(path, before, after string) call
	run   func(command string) call
	plan  func(done []string, through int, todo []string) call
	ended func(output string, code int) string // what a command's result looks like
	wrote func(path string) string
}

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

func (w *writer) plan(say string, done []string, through int, todo []string) {
	w.turns = append(w.turns, turn{say: say, call: w.agent.plan(done, through, todo), result: "OK"})
}

func (w *writer) say(text string) { w.turns = append(w.turns, turn{say: text}) }

type object = map[string]any

// body writes the session as a request.
func (w *writer) body(d wire.Dialect) []byte {
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

// claudeCode, codex and geminiCLI are as those call their tools; harbour is an agent that nobody has.
var claudeCode = agent{
	read: func(path string) call { return call{name: "Read", arguments: object{"file_path": "/srv/app/" + path}} },
	edit: func(path, before, after string) call {
		return call{name: "Edit", arguments: object{"file_path": "/srv/app/" + path, "old_string": before, "new_string": after}}
	},
	run: func(command string) call {
		return call{name: "Bash", arguments: object{"command": command, "description": "Runs it"}}
	},
	plan: func(done []string, through int, todo []string) call {
		var list []any
		for i, item := range done {
			status := "pending"
			if i < through {
				status = "completed"
			}
			list = append(list, object{"content": item, "status": status, "activeForm": "Working"})
		}
		for i, item := range todo {
			status := "pending"
			if i == 0 && through == len(done) {
				status = "in_progress"
			}
			list = append(list, object{"content": item, "status": status, "activeForm": "Working"})
		}
		return call{name: "TodoWrite", arguments: object{"todos": list}}
	},
	ended: func(output string, code int) string {
		if code != 0 {
			return fmt.Sprintf("Exit code %d\n%s", code, output)
		}
		return output
	},
	wrote: func(path string) string { return "The file /srv/app/" + path + " has been updated successfully." },
}

var codex = agent{
	read: func(path string) call {
		return call{name: "shell", arguments: object{"command": []string{"bash", "-lc", "sed -n '1,200p' " + path}, "workdir": "/workspace"}}
	},
	edit: func(path, before, after string) call {
		var b strings.Builder
		b.WriteString("*** Begin Patch\n*** Update File: " + path + "\n@@\n")
		for line := range strings.Lines(before) {
			b.WriteString("-" + line)
		}
		for line := range strings.Lines(after) {
			b.WriteString("+" + line)
		}
		b.WriteString("*** End Patch\n")
		return call{name: "apply_patch", text: b.String()}
	},
	run: func(command string) call {
		return call{name: "shell", arguments: object{"command": []string{"bash", "-lc", command}, "workdir": "/workspace"}}
	},
	plan: func(done []string, through int, todo []string) call {
		var list []any
		for i, item := range done {
			status := "pending"
			if i < through {
				status = "completed"
			}
			list = append(list, object{"step": item, "status": status})
		}
		for _, item := range todo {
			list = append(list, object{"step": item, "status": "pending"})
		}
		return call{name: "update_plan", arguments: object{"explanation": "", "plan": list}}
	},
	ended: func(output string, code int) string {
		text, err := json.Marshal(object{"output": output, "metadata": object{"exit_code": code, "duration_seconds": 1.2}})
		if err != nil {
			panic(err)
		}
		return string(text)
	},
	wrote: func(path string) string { return "Success. Updated the following files:\nM " + path },
}

var geminiCLI = agent{
	read: func(path string) call {
		return call{name: "read_file", arguments: object{"absolute_path": "/home/mika/shop/" + path}}
	},
	edit: func(path, before, after string) call {
		return call{name: "replace", arguments: object{"file_path": "/home/mika/shop/" + path, "old_string": before, "new_string": after, "instruction": "as planned"}}
	},
	run: func(command string) call {
		return call{name: "run_shell_command", arguments: object{"command": command}}
	},
	plan: func(done []string, through int, todo []string) call {
		var list []any
		for i, item := range done {
			status := "pending"
			if i < through {
				status = "completed"
			}
			list = append(list, object{"description": item, "status": status})
		}
		for _, item := range todo {
			list = append(list, object{"description": item, "status": "pending"})
		}
		return call{name: "write_todos", arguments: object{"todos": list}}
	},
	ended: func(output string, code int) string {
		return fmt.Sprintf("Command: (as given)\nDirectory: (root)\nOutput: %s\nError: (none)\nExit Code: %d\nSignal: (none)", output, code)
	},
	wrote: func(path string) string {
		return "Successfully modified file: /home/mika/shop/" + path + " (1 replacements)."
	},
}

var harbour = agent{
	read: func(path string) call {
		return call{name: "fs.open", arguments: object{"target": path, "lines": "1-120"}}
	},
	edit: func(path, before, after string) call {
		return call{name: "fs.patch", arguments: object{"target": path, "hunks": []any{object{"remove": before, "insert": after}}}}
	},
	run: func(command string) call { return call{name: "terminal.exec", arguments: object{"line": command}} },
	plan: func(done []string, through int, todo []string) call {
		var b strings.Builder
		for i, item := range done {
			mark := " "
			if i < through {
				mark = "x"
			}
			fmt.Fprintf(&b, "- [%s] %s\n", mark, item)
		}
		for _, item := range todo {
			fmt.Fprintf(&b, "- [ ] %s\n", item)
		}
		return call{name: "checklist.set", arguments: object{"markdown": b.String()}}
	},
	ended: func(output string, code int) string { return fmt.Sprintf("%s\n[process exited with %d]", output, code) },
	wrote: func(path string) string { return "patched " + path },
}
