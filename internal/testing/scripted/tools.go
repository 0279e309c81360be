package scripted

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/window/wire"
)

// A Tool is one that a request declares.
type Tool struct {
	Name      string
	Kind      string // "function", "custom", "local_shell", …
	Namespace string // Responses: of a tool inside a namespace
	Schema    json.RawMessage
}

// readTools finds what a request declares, in the forms of all four protocols. Newer Codex
// declares its tools in an item at the head of the input.
func (r *Request) readTools() []Tool {
	var list []json.RawMessage
	json.Unmarshal(r.top["tools"], &list)
	if r.Dialect == wire.Converse {
		var config struct{ Tools []json.RawMessage }
		json.Unmarshal(r.top["toolConfig"], &config)
		list = config.Tools
	}
	tools := appendTools(nil, list, "")
	for i, raw := range r.list {
		var item struct {
			Type  string
			Tools []json.RawMessage
		}
		if r.Dialect != wire.Responses || i >= 4 || json.Unmarshal(raw, &item) != nil || item.Type != "additional_tools" {
			continue
		}
		tools = appendTools(tools, item.Tools, "")
	}
	return tools
}

// appendTools appends the tools in a list of declarations, in the form of any protocol, to tools. namespace is that of the list.
func appendTools(tools []Tool, list []json.RawMessage, namespace string) []Tool {
	for _, raw := range list {
		var members map[string]json.RawMessage
		if json.Unmarshal(raw, &members) != nil {
			continue
		}
		t := Tool{Kind: "function", Namespace: namespace}
		json.Unmarshal(members["type"], &t.Kind)
		json.Unmarshal(members["name"], &t.Name)
		var inner []json.RawMessage
		switch {
		case members["functionDeclarations"] != nil || members["function_declarations"] != nil:
			json.Unmarshal(members["functionDeclarations"], &inner)
			json.Unmarshal(members["function_declarations"], &inner)
			tools = appendTools(tools, inner, "")
			continue
		case t.Kind == "namespace":
			json.Unmarshal(members["tools"], &inner)
			tools = appendTools(tools, inner, t.Name)
			continue
		case members["toolSpec"] != nil:
			json.Unmarshal(members["toolSpec"], &members)
			json.Unmarshal(members["name"], &t.Name)
			var schema struct{ JSON json.RawMessage }
			json.Unmarshal(members["inputSchema"], &schema)
			t.Schema = schema.JSON
		case members["function"] != nil:
			json.Unmarshal(members["function"], &members)
			json.Unmarshal(members["name"], &t.Name)
		}
		for _, name := range []string{"parameters", "input_schema", "parametersJsonSchema", "parameters_json_schema"} {
			if s := members[name]; len(s) > 0 {
				t.Schema = s
			}
		}
		if t.Kind == "local_shell" {
			t.Name = t.Kind
		}
		if t.Name != "" {
			tools = append(tools, t)
		}
	}
	return tools
}

// The clients' tools for running a command and for reading a file, in order of preference.
var (
	shellTools = []string{
		"Bash", "bash", "exec_command", "shell_command", "shell", "local_shell", "container.exec",
		"run_shell_command", "execute_command", "run_commands", "run_in_terminal", codeMode,
	}
	readingTools = []string{"Read", "read", "read_file", "view", "view_file", "read_files"}
	// members that take what the call is for
	commandMembers = []string{"command", "cmd", "commands", "script"}
	pathMembers    = []string{"file_path", "filePath", "absolute_path", "path", "file", "filename"}
)

// codeMode is Codex's tool that takes a script; its own tools are called from there.
const codeMode = "exec"

// script wraps a command line for codeMode.
func script(command string) string {
	quoted, err := json.Marshal(command)
	if err != nil {
		panic(err) // a string
	}
	return "const r = await tools.exec_command({cmd: " + string(quoted) + "});\ntext(r && r.output !== undefined ? r.output : r);\n"
}

// tool returns the first declared tool that has one of these names, in their order.
func (r *Request) tool(names ...string) (Tool, bool) {
	for _, name := range names {
		for _, t := range r.Tools {
			if t.Name == name {
				return t, true
			}
		}
	}
	return Tool{}, false
}

type schema struct {
	Type       json.RawMessage
	Properties map[string]schema
	Required   []string
	Enum       []any
	Minimum    *float64
	Items      *schema
}

// types returns the type in lower case ("STRING" is Gemini's spelling); several with null.
func (s schema) types() []string {
	var one string
	if json.Unmarshal(s.Type, &one) == nil && one != "" {
		return []string{strings.ToLower(one)}
	}
	var many []string
	json.Unmarshal(s.Type, &many)
	return many
}

// shell returns the input of a call of this tool that runs a command line.
func (t Tool) shell(command string) any {
	if t.Kind == "custom" {
		return script(command)
	}
	return t.arguments(commandMembers, command)
}

// arguments builds an argument object that fits the schema: value goes into the first of
// members that the schema has, other required members get the plainest value that is legal.
func (t Tool) arguments(members []string, value string) map[string]any {
	var s schema
	json.Unmarshal(t.Schema, &s)
	args := map[string]any{}
	for _, name := range members {
		p, ok := s.Properties[name]
		if !ok {
			continue
		}
		switch {
		case !slices.Contains(p.types(), "array"):
			args[name] = value
		case name == "commands":
			args[name] = []string{value}
		case members[0] == commandMembers[0]:
			args[name] = []string{"bash", "-lc", value} // Codex's shell takes an argv
		default:
			args[name] = []string{value}
		}
		break
	}
	if len(args) == 0 && len(s.Properties) == 0 {
		args[members[0]] = value
	}
	for _, name := range s.Required {
		if _, ok := args[name]; !ok {
			args[name] = s.Properties[name].plain(name)
		}
	}
	return args
}

// plain returns the plainest value that fits the schema. name is the name of the member, which a text gets as its value.
func (s schema) plain(name string) any {
	if len(s.Enum) > 0 {
		return s.Enum[0]
	}
	types := s.types()
	if slices.Contains(types, "null") {
		return nil
	}
	if len(types) == 0 {
		return name
	}
	switch types[0] {
	case "boolean":
		return false
	case "integer", "number":
		if s.Minimum != nil {
			return max(1, *s.Minimum)
		}
		return 1
	case "array":
		return []any{}
	case "object":
		inner := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(s.Properties)) {
			if slices.Contains(s.Required, key) {
				inner[key] = s.Properties[key].plain(key)
			}
		}
		return inner
	default:
		return "step"
	}
}
