package wrap

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/internal/config/profile"
	"github.com/plimsoll/plimsoll/internal/lazy"
	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/tailscale/hujson"
)

var mark = []byte("\xef\xbb\xbf")

// jsonFormat is JSON, with the comments and trailing commas that most of these clients accept.
type jsonFormat struct{}

// read accepts comments and trailing commas, and keeps numbers as they are written.
func (jsonFormat) read(data []byte) (map[string]any, error) {
	tree, err := treeOf(bytes.TrimPrefix(data, mark))
	if err != nil {
		return nil, err
	}
	tree.Standardize()
	dec := json.NewDecoder(bytes.NewReader(tree.Pack()))
	dec.UseNumber()
	var value map[string]any
	return value, dec.Decode(&value)
}

// equalValues reports whether two decoded values are equal; NaN equals NaN here.
func equalValues(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			if w, ok := b[k]; !ok || !equalValues(v, w) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equalValues)
	case float64:
		b, ok := b.(float64)
		return ok && (a == b || a != a && b != b)
	}
	return reflect.DeepEqual(a, b)
}

// treeOf parses a copy of data, whose comments are blanked later, with a line end behind, as a last comment needs it.
func treeOf(data []byte) (hujson.Value, error) {
	return hujson.Parse(append(bytes.Clone(data), '\n'))
}

// errorPosition matches the position in an error of the parser.
var errorPosition = lazy.Regexp(`line (\d+), column (\d+)`)

// parseJSON finds the entries in a file of JSON, which may have comments and trailing commas. With agents it looks only for the agents of an
// editor, and finding none is no error.
func parseJSON(path string, data []byte, agents bool) (*document, error) {
	d := &document{path: path, data: data, format: jsonFormat{}, agents: agents}
	base := 0
	if bytes.HasPrefix(data, mark) {
		base = len(mark)
	}
	if line := tooDeep(data[base:]); line > 0 {
		return nil, &Error{Path: path, Line: line, Text: "values are nested deeper than 10,000 levels"}
	}
	if len(bytes.TrimSpace(data[base:])) == 0 {
		return nil, &Error{Path: path, Text: "the file is empty: there is no server to wrap"}
	}
	tree, err := treeOf(data[base:])
	if err != nil {
		e := &Error{Path: path, Text: "this is not valid JSON, not even with comments: correct it and try again"}
		if m := errorPosition().FindStringSubmatch(err.Error()); m != nil {
			e.Line, _ = strconv.Atoi(m[1])
			e.Text = "not valid JSON at column " + m[2] + ": correct it and try again"
			if last := 1 + bytes.Count(bytes.TrimSpace(data), []byte("\n")); e.Line > last {
				e.Line, e.Text = last, "not valid JSON: the file ends in the middle of a value; correct it and try again"
			}
		}
		return nil, e
	}
	root, ok := objectOf(&tree, base)
	if !ok {
		return nil, &Error{Path: path, Line: 1, Text: "the file holds no JSON object, so no servers: which file does the client read?"}
	}
	if agents {
		d.addSection(root, "an editor", plainEntry, "agent_servers") // Zed, JetBrains
		d.addSection(root, "VS Code", plainEntry, "acp.agents")
		return d, nil
	}
	d.findServers(root)
	if len(d.entries) == 0 && !d.hasServerSection(root) {
		return nil, &Error{Path: path, Text: "there are no MCP servers in this file: looked for mcpServers, projects.*.mcpServers, servers, mcp, mcp.servers and context_servers"}
	}
	return d, nil
}

// tooDeep returns the line at which values are nested too deep to be parsed, or 0. Brackets in comments and strings do not count.
func tooDeep(data []byte) int {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '[' || c == '{':
			if depth++; depth > maxDepth {
				return lineOf(data, i)
			}
		case c == ']' || c == '}':
			depth--
		case c == '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case c == '/' && i+1 < len(data) && data[i+1] == '/':
			for i < len(data) && data[i] != '\n' {
				i++
			}
		case c == '/' && i+1 < len(data) && data[i+1] == '*':
			end := bytes.Index(data[i+2:], []byte("*/"))
			if end < 0 {
				return 0
			}
			i += 2 + end + 1
		}
	}
	return 0
}

// member is a member of an object, with its places in the file.
type member struct {
	key         string
	name, value span
	node        *hujson.Value
}

// object is a JSON object in the file.
type object struct {
	span    span
	members []member
	base    int
}

// objectOf returns the members of a JSON object with their places in the file; ok is false if v is not an object. base is the length of the
// byte order mark that was cut off before parsing.
func objectOf(v *hujson.Value, base int) (object, bool) {
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		return object{}, false
	}
	all := object{span: span{Start: v.StartOffset + base, End: v.EndOffset + base}, base: base}
	for i := range o.Members {
		m := &o.Members[i]
		name, _ := m.Name.Value.(hujson.Literal)
		all.members = append(all.members, member{
			key:   name.String(),
			name:  span{Start: m.Name.StartOffset + base, End: m.Name.EndOffset + base},
			value: span{Start: m.Value.StartOffset + base, End: m.Value.EndOffset + base},
			node:  &m.Value,
		})
	}
	return all, true
}

// get returns the last member with a key, which is the one that decoders use, and how many there are; nil, 0 if there is none.
func (o object) get(key string) (found *member, times int) {
	for i := range o.members {
		if o.members[i].key == key {
			found, times = &o.members[i], times+1
		}
	}
	return found, times
}

// memberObject returns the object that is the value of a key; false if there is none.
func (o object) memberObject(key string) (object, bool) {
	m, _ := o.get(key)
	if m == nil {
		return object{}, false
	}
	return objectOf(m.node, o.base)
}

// stringOf returns the text of a JSON string; false for any other value.
func stringOf(v *hujson.Value) (string, bool) {
	l, ok := v.Value.(hujson.Literal)
	if !ok || l.Kind() != '"' {
		return "", false
	}
	return l.String(), true
}

// clientOf returns the name of the program that reads a file, by the file's path; "" if it is not known. The form of an entry decides how
// it is read; the name is for people, and for the peculiarities of a client.
func clientOf(path string) string {
	slashed := "/" + strings.ToLower(filepath.ToSlash(path))
	for _, a := range profile.All() {
		if slices.ContainsFunc(a.ServerNames, func(end string) bool { return strings.HasSuffix(slashed, end) }) {
			return a.Title
		}
	}
	for _, c := range []struct{ end, name string }{
		{"/claude_desktop_config.json", "Claude Desktop"},
		{"/.cursor/mcp.json", "Cursor"},
		{"/.vscode/mcp.json", "VS Code"},
		{"/code/user/mcp.json", "VS Code"},
		{"/.vscode/settings.json", "VS Code"},
		{"/code/user/settings.json", "VS Code"},
		{"/windsurf/mcp_config.json", "Windsurf"},
		{"/zed/settings.json", "Zed"},
		{"/.zed/settings.json", "Zed"},
	} {
		if strings.HasSuffix(slashed, c.end) {
			return c.name
		}
	}
	return ""
}

// findServers adds the servers in all places of a JSON file where clients keep them.
func (d *document) findServers(root object) {
	name := clientOf(d.path)
	named := func(fallback string) string {
		if name != "" {
			return name
		}
		return fallback
	}
	for _, key := range []string{"mcpServers", "amp.mcpServers"} {
		d.addSection(root, named("an MCP client"), plainEntry, key)
	}
	d.addSection(root, named("Zed"), plainEntry, "context_servers")
	for _, project := range root.keysIn("projects") {
		d.addSection(root, named("Claude Code"), plainEntry, "projects", project, "mcpServers")
	}
	d.addSection(root, named("VS Code"), plainEntry, "servers")
	d.addSection(root, named("VS Code"), plainEntry, "mcp.servers")
	// `mcp` is opencode's and Crush's; VS Code's settings have `mcp.servers`, opencode 2 as well.
	mcp, ok := root.memberObject("mcp")
	if !ok {
		return
	}
	d.addSection(root, named("opencode"), argvEntry, "mcp")
	if _, ok := mcp.memberObject("servers"); ok {
		d.addSection(root, named("VS Code"), anyEntry, "mcp", "servers")
	}
}

// keysIn returns the keys of the object that is the value of a key.
func (o object) keysIn(key string) (keys []string) {
	below, _ := o.memberObject(key)
	for _, m := range below.members {
		keys = append(keys, m.key)
	}
	return keys
}

// hasServerSection reports whether the file has one of the keys below which clients keep servers, even if no server is there.
func (d *document) hasServerSection(root object) bool {
	for _, key := range []string{"mcpServers", "amp.mcpServers", "context_servers", "projects", "servers", "mcp.servers", "mcp"} {
		if m, _ := root.get(key); m != nil {
			return true
		}
	}
	return false
}

// kind is the form of the entries in a section.
type kind uint8

const (
	plainEntry kind = iota // command, args, env; url, headers
	argvEntry              // opencode: type, command as an array, environment; Crush: as plainEntry
	anyEntry               // either, as the entry shows
)

// addSection adds an entry for each server in the object at place. It adds nothing if there is no such object, or if a key on the way to it
// occurs twice. Members that occur twice, or are not servers, are passed over.
func (d *document) addSection(root object, client string, k kind, place ...string) {
	at := root
	for _, key := range place {
		m, times := at.get(key)
		if m == nil {
			return
		}
		if times > 1 {
			return // clients differ in which one they use
		}
		next, ok := objectOf(m.node, root.base)
		if !ok {
			return
		}
		at = next
	}
	for _, m := range at.members {
		o, ok := objectOf(m.node, root.base)
		if !ok {
			continue
		}
		if _, times := at.get(m.key); times > 1 {
			continue
		}
		e := &jsonEntry{
			d: d, name: m.key, client: client, object: o,
			path: append(append([]string(nil), place...), m.key), start: m.name.Start,
		}
		switch command, _ := o.get("command"); {
		case k == plainEntry:
		case command != nil && isArray(command.node), typeField(o) == "local", typeField(o) == "remote":
			e.argv, e.client = true, "opencode"
		case k == argvEntry && (command != nil && isString(command.node) || slices.Contains([]string{"stdio", "http", "sse"}, typeField(o))):
			e.client = crush
		case k == argvEntry:
			continue // a setting that is not a server
		}
		d.entries = append(d.entries, e)
	}
}

// typeField returns the string in the member "type"; "" if there is none.
func typeField(o object) string {
	m, _ := o.get("type")
	if m == nil {
		return ""
	}
	s, _ := stringOf(m.node)
	return s
}

// crush is the name of the client whose values are words of a shell: it replaces $NAME and $(COMMAND) in them.
const crush = "Crush"

func isString(v *hujson.Value) bool {
	_, ok := stringOf(v)
	return ok
}

func isArray(v *hujson.Value) bool {
	_, ok := v.Value.(*hujson.Array)
	return ok
}

// quote returns a text as a JSON string.
func quote(s string) []byte { return rawjson.Quote(nil, s) }
