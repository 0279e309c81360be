package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/sorting"
)

// MCPServer is one server of [mcp.servers], or one agent of [a2a], with the values of [mcp] in force for it.
type MCPServer struct {
	Name    string   `json:"name"`
	Command []string `json:"command,omitempty"` // program and arguments, or
	URL     string   `json:"url,omitempty"`     // the address, or
	A2A     string   `json:"a2a,omitempty"`     // that of an agent over A2A; exactly one of them is set
	Token   string   `json:"token,omitempty"`   // name of an environment variable
	Headers []string `json:"headers,omitempty"` // NAME=VARIABLE
	Env     []string `json:"env,omitempty"`     // NAME=VALUE
	Dir     string   `json:"dir,omitempty"`
	Merge   bool     `json:"merge"`

	MCP   MCPSettings            `json:"mcp"`
	Tools map[string]MCPSettings `json:"tools,omitempty"` // of tools with a table of their own
}

// readServer reads a value of [mcp.servers.NAME] or [mcp.servers.NAME.tools.TOOL], or of the same below [a2a]; table says which of the two,
// and path is the dotted key. Mistakes are added to the problems.
func (r *reader) readServer(table string, path []string, w written, src Source) {
	at := strings.Count(table, ".") + 1 // the place of the name
	switch {
	case len(path) == at:
		r.problem(src, path, describe(w)+", not a table", "write ["+table+".NAME] and keys below it")
		return
	case len(path) == at+1:
		r.problem(src, path, describe(w)+", not a table", "write ["+strings.Join(path, ".")+"] and keys below it")
		return
	}
	name, rest, tool := path[at], path[at+1:], ""
	if SafeName(name) != name {
		r.problem(src, path[:at+1], quote(name)+" is not the name of a server", "write letters, digits, . _ and -, at most 64, a letter or digit first")
		return
	}
	if table == a2aTable && (strings.Contains(name, ".") || len(name) > maxAgentPrefix) {
		r.problem(src, path[:at+1], quote(name)+" stands in the names of tools", fmt.Sprintf("write letters, digits, _ and -, at most %d", maxAgentPrefix))
		return
	}
	if rest[0] == "tools" {
		if len(rest) < 3 {
			r.problem(src, path, describe(w)+", not a table", "write ["+table+"."+name+".tools.TOOL] and keys below it")
			return
		}
		tool, rest = rest[1], rest[2:]
		if tool == "" || len(tool) > maxToolText {
			r.problem(src, path, quote(tool)+" is not the name of a tool", "write the name as the server has it")
			return
		}
	}
	k, a := lookupServer(table, rest[0], tool != "")
	switch {
	case k == nil:
		fix := "plimsoll config init writes a file with every key"
		if near := closest(rest[0], serverKeyNames(table, tool != "")); near != "" {
			fix = fmt.Sprintf("did you mean %q?", near)
		} else if general, _ := lookup("mcp", rest[0], false); general != nil {
			fix = "it concerns all servers: write it below [mcp]"
			if general.perServer {
				fix = "it concerns the whole server: write it below [" + table + "." + name + "]"
			}
		}
		r.problem(src, path, "unknown key", fix)
	case len(rest) > 1:
		r.problem(src, path, "is not a table", "write "+k.Name+" = "+k.example)
	default:
		r.addEntry(address{key: k.ID(), server: name, of: tool}, path, k, a, "", w, src)
	}
}

// maxAgentPrefix bounds the name of an agent of [a2a], in bytes: providers of models take names of tools of up to 64, and the skill's name
// follows it.
const maxAgentPrefix = 32

// maxToolText bounds the name of a server's tool, in bytes: clients take 128 at most.
const maxToolText = 256

// lookupServer returns the key of a name, and the name that matched, that may be set for one server of the table, or with tool for one tool
// of it; nil if there is none.
func lookupServer(table, name string, tool bool) (*Key, Alias) {
	for _, k := range serverKeys {
		if k.Name == name && k.Table == table && !tool {
			return k, Alias{Name: name}
		}
	}
	k, a := lookup("mcp", name, false)
	if k == nil || tool && !k.perMCPTool || !k.perServer {
		return nil, Alias{}
	}
	return k, a
}

// serverKeyNames returns the names of the keys that may be set for one server of the table, or with tool for one tool of it.
func serverKeyNames(table string, tool bool) []string {
	var out []string
	for _, k := range slices.Concat(serverKeys, mcpKeys) {
		if found, _ := lookupServer(table, k.Name, tool); found != nil {
			out = append(out, k.Name)
		}
	}
	return out
}

// Servers returns the servers of [mcp.servers] and the agents of [a2a], sorted by name, for a run of tool ("" for none in particular). The error
// is an *[Error] about those that are left out, such as a server without a command and a URL, or with both.
func (l *Loaded) Servers(tool string) ([]MCPServer, error) {
	names, tables, tools := map[string]Source{}, map[string]string{}, map[string]map[string]bool{}
	for _, o := range origins {
		for at, e := range l.byOrigin[o.rank()] {
			if at.server == "" {
				continue
			}
			if table := tableOfServer(e.name); tables[at.server] == "" || table == a2aTable {
				tables[at.server] = table
			}
			if _, ok := names[at.server]; !ok || e.src.Line < names[at.server].Line {
				names[at.server] = e.src
			}
			if at.of != "" {
				if tools[at.server] == nil {
					tools[at.server] = map[string]bool{}
				}
				tools[at.server][at.of] = true
			}
		}
	}
	var out []MCPServer
	var probs problems
	for name, src := range names {
		s := MCPServer{Name: name}
		for _, k := range serverKeys {
			if k.Default != "" {
				v, err := k.parse(written{form: formText, text: k.Default}, Alias{Name: k.Name})
				if err != nil {
					panic("config: default of " + k.Name + ": " + err.Error()) // a test loads the defaults
				}
				k.setServer(&s, v)
			}
			for _, c := range l.appendCandidates(nil, k, []address{{key: k.ID(), server: name}}) {
				if c.ignored == "" {
					k.setServer(&s, c.value)
				}
			}
		}
		switch {
		case s.A2A != "" && (s.URL != "" || len(s.Command) > 0):
			probs.add(Problem{Where: src, Key: a2aTable + "." + name, What: "is the name of a server of [" + serversTable + "] too", Fix: "give one of them another name"})
			continue
		case s.A2A == "" && s.URL == "" && len(s.Command) == 0:
			if src.Origin == OriginProject {
				continue // what a project's file says of a server that the user does not have
			}
			where := Problem{Where: src, Key: serversTable + "." + name, What: "has neither command nor url", Fix: "write one of them"}
			if tables[name] == a2aTable {
				where.Key, where.What, where.Fix = a2aTable+"."+name, "has no url", `write url = "https://agent.example.com"`
			}
			probs.add(where)
			continue
		case s.URL != "" && len(s.Command) > 0:
			probs.add(Problem{Where: src, Key: "mcp.servers." + name, What: "has both command and url", Fix: "remove one of them"})
			continue
		}
		s.MCP = l.mcpFor(tool, address{server: name})
		for of := range tools[name] {
			if s.Tools == nil {
				s.Tools = map[string]MCPSettings{}
			}
			s.Tools[of] = l.mcpFor(tool, address{server: name}, address{server: name, of: of})
		}
		out = append(out, s)
	}
	sorting.By(out, func(a, b MCPServer) int { return strings.Compare(a.Name, b.Name) })
	return out, probs.err()
}

// tableOfServer returns serversTable or a2aTable, by a key as it was written.
func tableOfServer(name string) string {
	if strings.HasPrefix(name, a2aTable+".") {
		return a2aTable
	}
	return serversTable
}

// mcpFor returns the values of [mcp] in force for a tool, within the scopes given, the weakest first.
func (l *Loaded) mcpFor(tool string, scopes ...address) MCPSettings {
	var s Settings
	for _, k := range mcpKeys {
		in := []address{{key: k.ID()}}
		if tool != "" {
			in = append(in, address{key: k.ID(), tool: foldTool(tool)})
		}
		for _, scope := range scopes {
			scope.key = k.ID()
			in = append(in, scope)
		}
		for _, c := range l.appendCandidates(nil, k, in) {
			if c.ignored == "" {
				k.set(&s, c.value)
			}
		}
	}
	return s.MCP
}
