package config

import (
	"slices"
	"strings"
)

// Prefixes of the variables that set keys: PLIMSOLL_RESOURCES_MEMORY_MAX and, for one tool,
// PLIMSOLL_TOOLS_CODEX_MEMORY_MAX.
const (
	resourcesPrefix = "PLIMSOLL_RESOURCES_"
	toolsPrefix     = "PLIMSOLL_TOOLS_"
	anyPrefix       = "PLIMSOLL_"
)

// readEnviron reads the variables that set keys. An empty one counts as not set. Variables
// of Plimsoll that set no key here only give a warning when they look like one that would.
func readEnviron(environ []string, probs *problems, warn func(Problem)) map[address]entry {
	r := &reader{entries: map[address]entry{}, probs: probs}
	environ = slices.Clone(environ)
	slices.Sort(environ)
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, anyPrefix) || value == "" {
			continue
		}
		src := Source{Origin: OriginEnvironment, Name: name}
		w := written{form: formText, text: value}
		if rest, ok := strings.CutPrefix(name, resourcesPrefix); ok {
			r.resources([]string{"resources", strings.ToLower(rest)}, w, src)
		} else if rest, ok := strings.CutPrefix(name, toolsPrefix); ok {
			tool, key := splitTool(strings.ToLower(rest))
			r.tool([]string{"tools", tool, key}, w, src)
		} else {
			strayVariable(name, src, warn)
		}
	}
	return r.entries
}

// splitTool takes CODEX_MEMORY_MAX apart: the longest key that the text ends in is the key.
// Without one the last word is taken for it, and reported as unknown.
func splitTool(text string) (tool, key string) {
	for _, k := range names(true) {
		if rest, ok := strings.CutSuffix(text, "_"+k); ok && len(k) > len(key) && k != "resources" {
			tool, key = rest, k
		}
	}
	if key == "" {
		tool, key, _ = strings.Cut(text, "_")
	}
	return strings.ReplaceAll(tool, "_", "-"), key
}

func strayVariable(name string, src Source, warn func(Problem)) {
	rest := strings.ToLower(strings.TrimPrefix(name, anyPrefix))
	if k, _ := lookup(rest, false); k != nil {
		warn(Problem{Where: src, What: "sets nothing", Fix: "did you mean " + resourcesPrefix + strings.ToUpper(rest) + "?"})
		return
	}
	table, _, _ := strings.Cut(rest, "_")
	if what, ok := laterTables[table]; ok {
		warn(Problem{Where: src, What: "sets nothing: " + what + " is not in this version yet", Fix: "unset it"})
	}
}

// Flag is a value from the command line.
type Flag struct {
	Name  string // as the user wrote it: "--memory-max"
	Key   string // "memory_max", or dotted with its table
	Value string
}

func readFlags(flags []Flag, probs *problems) map[address]entry {
	r := &reader{entries: map[address]entry{}, probs: probs}
	for _, f := range flags {
		path := strings.Split(f.Key, ".")
		if len(path) == 1 {
			path = []string{"resources", f.Key}
		}
		src := Source{Origin: OriginFlag, Name: f.Name}
		if path[0] != "resources" && path[0] != "tools" {
			r.unknown(path, 0, false, src)
			continue
		}
		r.assign(path, written{form: formText, text: f.Value}, src)
	}
	return r.entries
}
