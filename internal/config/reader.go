package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/config/profile"
)

// address identifies a value: a key by its [Key.ID], for one tool or, with tool "", for all. server and of narrow it to one MCP server, and
// to one tool of that server; instance to one Argo CD; agent to one agent; model to one model.
type address struct{ key, tool, server, of, instance, agent, model string }

// entry is a value with its source.
type entry struct {
	key   *Key
	value any
	src   Source
	tool  string // the name of the tool, agent or model as written; "" for all
	name  string // the whole key as written, for messages
}

// maxEntries bounds the values of one source; further ones are a problem and not kept.
const maxEntries = 10_000

// reader turns keys and values as written into entries, for files, variables and flags alike.
type reader struct {
	entries map[address]entry
	probs   *problems
}

// assign reads the value of a whole key, such as ["tools", "codex", "memory_max"].
func (r *reader) assign(path []string, w written, src Source) {
	switch {
	case len(path) == 1:
		r.problem(src, path, "is "+string(w.form)+", not a table", "write it as a table: ["+path[0]+"]")
	case path[0] == "mcp" && path[1] == "servers":
		r.readServer(serversTable, path, w, src)
	case path[0] == a2aTable:
		r.readServer(a2aTable, path, w, src)
	case path[0] == "mcp" && path[1] == "argocd":
		r.readInstance(path, w, src)
	case path[0] == agentsTable:
		r.readAgent(path, w, src)
	case path[0] == modelsTable:
		r.readModel(path, w, src)
	case isTable(path[0]):
		r.readGeneral(path, w, src)
	default:
		r.readTool(path, w, src)
	}
}

// readGeneral reads a value of a table that counts for all tools.
func (r *reader) readGeneral(path []string, w written, src Source) {
	k, a := lookup(path[0], path[1], false)
	switch {
	case k == nil:
		r.addUnknown(path, 1, path[0], false, src)
	case len(path) == 2 && k.Type == TypeToolSizes || len(path) == 2 && k.Type == TypeToolCount && w.form == formText:
		r.readPairs(path, k, a, w, src)
	case len(path) == 2:
		r.put(path, k, a, "", w, src)
	case len(path) == 3 && k.Type == TypeToolSizes:
		of, _ := lookup(resources, k.of, true)
		// The forerunner's table holds integers, in MiB.
		r.put(path, of, Alias{Name: path[2], MiB: w.form == formInt}, path[2], w, src)
	case len(path) == 3 && k.Type == TypeToolCount:
		r.put(path, k, a, path[2], w, src)
	default:
		r.problem(src, path, "is not a table", "write "+k.Name+" = "+k.example)
	}
}

// readPairs reads a table from one line of text, "codex=4096,claude=2G", as it is written in a variable or a flag.
func (r *reader) readPairs(path []string, k *Key, a Alias, w written, src Source) {
	if k.Type == TypeToolCount && !strings.Contains(w.text, "=") {
		r.put(path, k, a, "", w, src)
		return
	}
	if w.form != formText {
		r.problem(src, path, describe(w)+", not a table", "write "+k.Name+" = "+k.example)
		return
	}
	for pair := range strings.SplitSeq(w.text, ",") {
		tool, value, ok := strings.Cut(pair, "=")
		if !ok {
			r.problem(src, path, quote(pair)+" is not TOOL=VALUE", "write "+src.String()+"=codex=4,claude=3")
			return
		}
		form := formText
		if k.Type == TypeToolSizes && strings.Trim(strings.TrimSpace(value), "0123456789") == "" {
			form = formInt
		}
		r.readGeneral(append(slices.Clone(path), strings.TrimSpace(tool)), written{form: form, text: strings.TrimSpace(value)}, src)
	}
}

// readTool reads a value of [tools.NAME] or of a table below it; path is its dotted key. Mistakes are added to the problems.
func (r *reader) readTool(path []string, w written, src Source) {
	rest, table := path[2:], resources
	if len(rest) > 1 && isTable(rest[0]) {
		rest, table = rest[1:], rest[0]
	}
	if len(rest) == 0 {
		r.problem(src, path, describe(w)+", not a table", "write ["+strings.Join(path, ".")+"] and keys below it")
		return
	}
	k, a := lookup(table, rest[0], true)
	switch {
	case k == nil && len(rest) == 1 && isTable(rest[0]):
		r.problem(src, path, describe(w)+", not a table", "write ["+strings.Join(path, ".")+"] and keys below it")
	case k != nil && len(rest) == 1:
		r.put(path, k, a, path[1], w, src)
	case k != nil:
		r.problem(src, path, "is not a table", "write "+k.Name+" = "+k.example)
	default:
		if general, _ := lookup(table, rest[0], false); general != nil {
			r.problem(src, path, "concerns all tools, not one", "write it below ["+table+"]")
			return
		}
		if of := tableOf(rest[0], true); of != "" && table == resources {
			r.problem(src, path, "is a key of table ["+of+"]", "write it below ["+strings.Join(path[:2], ".")+"."+of+"]")
			return
		}
		r.addUnknown(path, len(path)-len(rest), table, true, src)
	}
}

// put checks the name of the tool and adds the value as an entry for it, or for all tools if the key is of none.
func (r *reader) put(path []string, k *Key, a Alias, tool string, w written, src Source) {
	at := address{key: k.ID()}
	if tool != "" || len(path) > 2 {
		tool = CanonicalTool(tool)
		at.tool = foldTool(tool)
		if tool == "" || SafeName(tool) != tool {
			r.problem(src, path, quote(tool)+" is not the name of a tool", "write letters, digits, . _ and -, at most 64, a letter or digit first")
			return
		}
	}
	r.addEntry(at, path, k, a, tool, w, src)
}

// addEntry parses a value and adds it as the entry of an address. A wrong value, a second one for the same address, or one too many is a problem.
func (r *reader) addEntry(at address, path []string, k *Key, a Alias, tool string, w written, src Source) {
	v, err := k.parse(w, a)
	if err != nil {
		m := &misfit{what: err.Error(), fix: "write " + k.example}
		if e, ok := errors.AsType[*misfit](err); ok {
			m = e
		}
		r.problem(src, path, m.what, m.fix)
		return
	}
	if first, ok := r.entries[at]; ok {
		r.problem(src, path, fmt.Sprintf("is set twice, first as %s at %s", first.name, first.src), "remove one of the two")
		return
	}
	if len(r.entries) == maxEntries {
		r.problem(src, path, fmt.Sprintf("is one value too many, more than %d", maxEntries), "remove some tools")
		return
	}
	r.entries[at] = entry{key: k, value: v, src: src, tool: tool, name: strings.Join(path, ".")}
}

// addUnknown adds the problem that part i of the path is no key of the table, with the nearest key as a suggestion.
func (r *reader) addUnknown(path []string, i int, table string, tool bool, src Source) {
	if r.probs.full() {
		r.probs.more++ // suggestions are dear: not for what nobody will see
		return
	}
	fix := "plimsoll config init writes a file with every key"
	if near := closest(path[i], keyNames(table, tool)); near != "" {
		fix = fmt.Sprintf("did you mean %q?", near)
	}
	r.problem(src, path[:i+1], "unknown key", fix)
}

// problem adds a problem about the key at path, of which at most six parts are shown.
func (r *reader) problem(src Source, path []string, what, fix string) {
	shown := make([]string, 0, min(len(path), 6))
	for _, p := range path[:min(len(path), 6)] {
		shown = append(shown, clip(p))
	}
	r.probs.add(Problem{Where: src, Key: strings.Join(shown, "."), What: what, Fix: adviceFor(src, fix)})
}

// defaults returns the entries of the default values, and of the built-in profiles of tools.
func defaults() (base, agents map[address]entry) {
	base, agents = make(map[address]entry, len(keys)+len(agentKeys)), map[address]entry{}
	for _, k := range slices.Concat(keys, agentKeys) {
		if k.set == nil && k.setAgent == nil {
			continue
		}
		v := k.zero()
		if k.Default != "" {
			var err error
			if v, err = k.parse(written{form: formText, text: k.Default}, Alias{Name: k.Name}); err != nil {
				panic("config: default of " + k.Name + ": " + err.Error()) // a test loads the defaults
			}
		}
		base[address{key: k.ID()}] = entry{key: k, value: v, src: Source{Origin: OriginDefault}, name: k.ID()}
	}
	for _, p := range profile.All() {
		src := Source{Origin: OriginProfile, Name: p.Name}
		for key, v := range map[string]any{"initial_estimate": p.InitialEstimate, "max_concurrent": p.MaxConcurrent} {
			k, _ := lookup(resources, key, true)
			agents[address{key: key, tool: p.Name}] = entry{key: k, value: v, src: src, name: key}
		}
	}
	return base, agents
}

// adviceFor returns the advice "write KEY = VALUE", which is for a file, in the form for the source of the mistake: --memory-max=4G, or a
// variable. Other advice is returned as it is.
func adviceFor(src Source, fix string) string {
	assignment, ok := strings.CutPrefix(fix, "write ")
	_, value, isKey := strings.Cut(assignment, " = ")
	if !ok || !isKey || src.Origin != OriginFlag && src.Origin != OriginEnvironment {
		return fix
	}
	return "write " + src.Name + "=" + strings.ReplaceAll(value, `"`, "")
}
