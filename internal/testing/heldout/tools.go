package heldout

import (
	"encoding/json"
	"fmt"
	"strings"
)

// agents are by the names that the files of sessions have for them.
var agents = map[string]agent{
	"claude-code": claudeCode, "codex": codex, "gemini-cli": geminiCLI, "harbour": harbour, "sidebar": sidebar, "symbols": symbols, "one-editor": oneEditor,
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
	plan: func(items []item) call {
		var list []any
		for _, one := range items {
			list = append(list, object{"content": one.text, "status": one.word("pending", "completed", "in_progress"), "activeForm": "Working"})
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
	plan: func(items []item) call {
		var list []any
		for _, one := range items {
			list = append(list, object{"step": one.text, "status": one.word("pending", "completed", "pending")})
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
	plan: func(items []item) call {
		var list []any
		for _, one := range items {
			list = append(list, object{"description": one.text, "status": one.word("pending", "completed", "pending")})
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
	plan: func(items []item) call {
		var b strings.Builder
		for _, one := range items {
			fmt.Fprintf(&b, "- [%s] %s\n", one.word(" ", "x", " "), one.text)
		}
		return call{name: "checklist.set", arguments: object{"markdown": b.String()}}
	},
	ended: func(output string, code int) string { return fmt.Sprintf("%s\n[process exited with %d]", output, code) },
	wrote: func(path string) string { return "patched " + path },
}

// sidebar is an extension of an editor: it writes whole files or diffs, and its list is Markdown.
var sidebar = agent{
	read: func(path string) call {
		return call{name: "read_file", arguments: object{"files": []any{object{"path": path, "line_ranges": []any{"1-200"}}}}}
	},
	edit: func(path, before, after string) call {
		if len(path)%3 == 0 {
			return call{name: "write_to_file", arguments: object{"path": path, "content": after, "line_count": strings.Count(after, "\n")}}
		}
		diff := "<<<<<<< SEARCH\n:start_line:12\n-------\n" + before + "=======\n" + after + ">>>>>>> REPLACE\n"
		return call{name: "apply_diff", arguments: object{"path": path, "diff": diff}}
	},
	run: func(command string) call {
		return call{name: "execute_command", arguments: object{"command": command, "cwd": "."}}
	},
	plan: func(items []item) call {
		var b strings.Builder
		for _, one := range items {
			fmt.Fprintf(&b, "[%s] %s\n", one.word(" ", "x", "-"), one.text)
		}
		return call{name: "update_todo_list", arguments: object{"todos": b.String()}}
	},
	ended: func(output string, code int) string {
		if code != 0 {
			return fmt.Sprintf("Command execution was not successful, inspect the cause and adjust as needed.\nExit code: %d\nOutput:\n%s", code, output)
		}
		return "Command executed in terminal within working directory '.'. Exit code: 0\nOutput:\n" + output
	},
	wrote: func(path string) string {
		return `{"path":"` + path + `","operation":"modified","notice":"You do not need to re-read the file"}`
	},
}

// symbols is an agent that reads and edits by the names of functions.
var symbols = agent{
	read: func(path string) call {
		return call{name: "find_symbol", arguments: object{"name_path": "poll", "relative_path": path, "include_body": true}}
	},
	edit: func(path, before, after string) call {
		name := []string{"replace_symbol_body", "insert_after_symbol", "replace_regex"}[len(path)%3]
		if name == "replace_regex" {
			return call{name: name, arguments: object{"relative_path": path, "regex": before, "repl": after}}
		}
		return call{name: name, arguments: object{"name_path": "Bus/poll", "relative_path": path, "body": after}}
	},
	run: func(command string) call {
		return call{name: "execute_shell_command", arguments: object{"command": command, "capture_stderr": true}}
	},
	plan: func(items []item) call {
		var list []any
		for i, one := range items {
			list = append(list, object{"id": fmt.Sprint(i + 1), "title": one.text, "done": one.state == done})
		}
		return call{name: "set_tasks", arguments: object{"tasks": list}}
	},
	ended: func(output string, code int) string {
		return fmt.Sprintf(`{"stdout":%q,"return_code":%d,"cwd":"/home/vera/lab"}`, output, code)
	},
	wrote: func(string) string { return "OK" },
}

// oneEditor is an agent with one tool for files and a shell that is a session.
var oneEditor = agent{
	read: func(path string) call {
		return call{name: "str_replace_editor", arguments: object{"command": "view", "path": "/home/ece/festival/" + path}}
	},
	edit: func(path, before, after string) call {
		switch len(path) % 3 {
		case 0:
			return call{name: "str_replace_editor", arguments: object{"command": "create", "path": "/home/ece/festival/" + path, "file_text": after}}
		case 1:
			return call{name: "str_replace_editor", arguments: object{"command": "insert", "path": "/home/ece/festival/" + path, "insert_line": 12, "new_str": after}}
		}
		return call{name: "str_replace_editor", arguments: object{"command": "str_replace", "path": "/home/ece/festival/" + path, "old_str": before, "new_str": after}}
	},
	run: func(command string) call {
		return call{name: "execute_bash", arguments: object{"command": command, "is_input": "false"}}
	},
	plan: func(items []item) call {
		var list []any
		for i, one := range items {
			list = append(list, object{"id": fmt.Sprint(i), "title": one.text, "status": one.word("todo", "done", "todo"), "notes": ""})
		}
		return call{name: "task_tracker", arguments: object{"command": "plan", "task_list": list}}
	},
	ended: func(output string, code int) string {
		return fmt.Sprintf("%s\n[The command completed with exit code %d.]\n[Current working directory: /home/ece/festival]\n[Python interpreter: /usr/bin/python3]\n[Command finished with exit code %d]", output, code, code)
	},
	wrote: func(path string) string {
		return "The file /home/ece/festival/" + path + " has been edited. Here's the result of running `cat -n` on a snippet of it. Review the changes and make sure they are as expected."
	},
}
