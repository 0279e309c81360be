package config

import (
	"slices"
	"strings"
)

// Prefixes of the variables that set keys: PLIMSOLL_RESOURCES_MEMORY_MAX and, for one tool,
// PLIMSOLL_TOOLS_CODEX_MEMORY_MAX or PLIMSOLL_TOOLS_CODEX_WINDOW_TRIGGER.
const (
	toolsPrefix = "PLIMSOLL_TOOLS_"
	anyPrefix   = "PLIMSOLL_"
	// agentsPrefix begins those of one agent: PLIMSOLL_AGENTS_ARGOCD_MAX_STEPS.
	agentsPrefix = "PLIMSOLL_AGENTS_"
)

// readEnviron returns the entries of the environment variables that set keys. An empty one counts as not set. Other variables that begin
// with PLIMSOLL_ only give a warning if they look like one that sets a key.
func readEnviron(environ []string, probs *problems, warn func(Problem)) map[address]entry {
	r := &reader{entries: map[address]entry{}, probs: probs}
	environ = slices.Clone(environ)
	slices.Sort(environ)
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, anyPrefix) || value == "" || isEntry(name) {
			continue
		}
		src := Source{Origin: OriginEnvironment, Name: name}
		w := written{form: formText, text: value}
		if rest, ok := strings.CutPrefix(name, toolsPrefix); ok {
			tool, key := splitTool(strings.ToLower(rest))
			r.readTool(append([]string{"tools", tool}, key...), w, src)
		} else if rest, ok := strings.CutPrefix(name, agentsPrefix); ok {
			agent, key := splitAgent(strings.ToLower(rest))
			r.readAgent([]string{agentsTable, agent, key}, w, src)
		} else if table, key, ok := splitTable(name); ok {
			r.readGeneral([]string{table, key}, w, src)
		} else {
			strayVariable(name, src, warn)
		}
	}
	r.readAliases(environ)
	return r.entries
}

// isEntry reports whether a variable sets no key because `mcp wrap` puts it into a server's entry.
func isEntry(name string) bool {
	return name == "PLIMSOLL_MCP_URL" || strings.HasPrefix(name, "PLIMSOLL_MCP_HEADER_")
}

// readAliases reads variables of other programs that set keys too. If one of Plimsoll's own variables sets the key, that one counts.
func (r *reader) readAliases(environ []string) {
	get := Getenv(environ)
	for _, k := range keys {
		for _, name := range k.Variables {
			value := get(name)
			if _, taken := r.entries[address{key: k.ID()}]; taken || value == "" {
				continue
			}
			r.put([]string{k.Table, k.Name}, k, Alias{Name: k.Name}, "", written{form: formText, text: value}, Source{Origin: OriginEnvironment, Name: name})
		}
	}
}

// splitTable splits PLIMSOLL_WINDOW_MAX_TOKENS into table and key. ok is false if the name does not begin with a table, as
// PLIMSOLL_UPSTREAM, and for PLIMSOLL_MEMORY_MAX, which means memory_max and not the table [memory].
func splitTable(name string) (table, key string, ok bool) {
	whole := strings.ToLower(strings.TrimPrefix(name, anyPrefix))
	table, key, ok = strings.Cut(whole, "_")
	return table, key, ok && isTable(table) && (slices.Contains(keyNames(table, false), key) || tableOf(whole, false) == "")
}

// splitTool splits CODEX_MEMORY_MAX, in lower case, into a tool, with - for _, and a key with its table: the longest key that the text ends in. If
// it ends in none, the part after the first _ is taken for the key, and reported as unknown.
func splitTool(text string) (tool string, key []string) {
	longest := 0
	for _, table := range toolTables() {
		for _, k := range keyNames(table, true) {
			path := []string{table, k}
			if table == resources {
				path = path[1:]
			}
			suffix := "_" + strings.Join(path, "_")
			if rest, ok := strings.CutSuffix(text, suffix); ok && len(suffix) > longest && !isTable(k) {
				tool, key, longest = rest, path, len(suffix)
			}
		}
	}
	if key == nil {
		var last string
		tool, last, _ = strings.Cut(text, "_")
		key = []string{last}
	}
	return strings.ReplaceAll(tool, "_", "-"), key
}

// strayVariable warns of a variable that lacks the name of its table and so sets nothing. It is silent about names that are no key of any table.
func strayVariable(name string, src Source, warn func(Problem)) {
	rest := strings.ToLower(strings.TrimPrefix(name, anyPrefix))
	if table := tableOf(rest, false); table != "" {
		warn(Problem{Where: src, What: "sets nothing", Fix: "did you mean " + anyPrefix + strings.ToUpper(table+"_"+rest) + "?"})
	}
}

// Flag is a value from the command line.
type Flag struct {
	Name  string // as the user wrote it: "--memory-max"
	Key   string // "memory_max", or dotted with its table: "window.mode"
	Value string
}

// readFlags returns the entries of the command line's flags. Mistakes are added to probs.
func readFlags(flags []Flag, probs *problems) map[address]entry {
	r := &reader{entries: map[address]entry{}, probs: probs}
	for _, f := range flags {
		path := strings.Split(f.Key, ".")
		if len(path) == 1 {
			path = []string{resources, f.Key}
		}
		src := Source{Origin: OriginFlag, Name: f.Name}
		if path[0] == agentsTable && len(path) > 3 { // a name may have dots
			path = []string{agentsTable, strings.Join(path[1:len(path)-1], "."), path[len(path)-1]}
		}
		if path[0] != "tools" && path[0] != agentsTable && !isTable(path[0]) {
			r.addUnknown(path, 0, resources, false, src)
			continue
		}
		r.assign(path, written{form: formText, text: f.Value}, src)
	}
	return r.entries
}
