package wrap

import (
	"bytes"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// Start is how an agent is to be started.
type Start struct {
	Tool string // "claude", "codex", "gemini", "opencode"
	// Home is the user's, Project the folder the agent starts in.
	Home, Project string
	// Untrusted tells that the agent does not take the project's settings now, because the user has not trusted the
	// folder: then its servers are not started behind the gateway either.
	Untrusted bool
	// Argv is the command; the tool's own arguments begin behind Argv[Word].
	Argv []string
	Word int
	// Env is the agent's environment, "NAME=value".
	Env []string
	// Folder is where private files may lie for the time of the run: absolute, of mode
	// 0700, and below no folder that others may write (Gemini CLI looks), so not /tmp.
	Folder string
	// Offer are servers of Plimsoll's own that the agent gets beside those of its files. One whose name is taken there is left out, with a note.
	Offer []Offered
	// Options wrap the servers; Command should be absolute, as an agent may change PATH.
	Options Options
	// ReadFile reads a settings file; nil reads files of at most MaxFile bytes.
	ReadFile func(name string) ([]byte, error)
}

// Offered is a server that an agent gets for one run. Name is of letters, digits, "-" and "_".
type Offered struct {
	Name    string
	Command []string // at least the program
}

// Setup is what makes an agent use wrapped servers while its files stay as they are.
type Setup struct {
	Argv []string // the whole command
	Env  []string // to be set, "NAME=value"
	// Files are to be written, with mode 0600, before the start and removed after the end.
	Files []File
	// Servers tells what becomes of every server that was found.
	Servers []Server
	// Notes say what goes around Plimsoll, and why.
	Notes []string
	// Why says that nothing was done; "" when something was.
	Why string
}

// File is a private file.
type File struct {
	Path string
	Body []byte
}

// tools are the agents for which [ForTool] has a way, each tried with the version named.
var tools = map[string]func(*starter){
	"claude":   (*starter).claude,   // 2.1.197: --mcp-config wins over user, project and local servers of the same name
	"codex":    (*starter).codex,    // 0.169.0: -c mcp_servers.NAME.KEY=VALUE is merged into the server's table
	"gemini":   (*starter).gemini,   // 0.61.0: system settings win, server by server
	"opencode": (*starter).opencode, // 1.18.33: OPENCODE_CONFIG_CONTENT is merged over all files, key by key
}

// Tools lists the agents that [ForTool] knows a way for, by name.
func Tools() []string { return slices.Sorted(maps.Keys(tools)) }

// ForTool says how to start a known agent so that its servers are wrapped for this run.
// Where there is no way, Why says so and the command is as it was. It reads the agent's
// settings and executes nothing.
func ForTool(s Start) Setup {
	w := &starter{Start: s, out: Setup{Argv: slices.Clone(s.Argv)}, servers: map[string]found{}}
	if w.ReadFile == nil {
		w.ReadFile = limited
	}
	plan, known := tools[s.Tool]
	if !known {
		w.out.Why = "there is no flag or variable of " + s.Tool + " known that takes servers for one run: use `plimsoll mcp wrap FILE`"
		return w.out
	}
	plan(w)
	if w.out.Why == "" && len(w.out.Files)+len(w.out.Env) == 0 && slices.Equal(w.out.Argv, s.Argv) {
		w.out.Why = "no server was found that can be wrapped for one run"
	}
	return w.out
}

type starter struct {
	Start
	out Setup
	// servers are those to be wrapped, by name: of several files the one that counts.
	servers map[string]found
	order   []string
}

// found is a wrapped server as an entry of its client's own form.
type found struct {
	server Server
	object object
	data   []byte
	toml   *tomlEntry
}

func (w *starter) note(text string) { w.out.Notes = append(w.out.Notes, text) }

func (w *starter) get(name string) string {
	for _, kv := range slices.Backward(w.Env) {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

func (w *starter) insert(args ...string) {
	w.out.Argv = slices.Insert(w.out.Argv, w.Word+1, args...)
}

// given tells whether the tool's arguments have a flag, alone or with "=".
func (w *starter) given(flag string) bool {
	for _, arg := range w.Argv[min(w.Word+1, len(w.Argv)):] {
		if arg == "--" {
			return false
		}
		if arg == flag || strings.HasPrefix(arg, flag+"=") {
			return true
		}
	}
	return false
}

// load plans a file and takes what wrapping makes of its servers, for which take holds.
// Servers of the same name that were loaded before are replaced. It returns the plain JSON
// of the file, nil when there is none.
func (w *starter) load(path string, take func(place []string, name string) bool) []byte {
	data, err := w.ReadFile(path)
	if err != nil {
		return nil
	}
	return w.take(path, data, take)
}

func (w *starter) take(path string, data []byte, take func(place []string, name string) bool) []byte {
	change, err := Plan(path, data, w.Options)
	if err != nil {
		if e, ok := err.(*Error); ok && strings.Contains(e.Text, "valid") {
			w.note(path + " is not valid, so its servers go around Plimsoll")
		}
		return plainJSON(data)
	}
	made, err := parse(path, change.After)
	if err != nil || len(made.entries) != len(change.Servers) {
		return plainJSON(data)
	}
	for i, e := range made.entries {
		s := change.Servers[i]
		if !take(e.place(), s.Name) {
			continue
		}
		delete(w.servers, s.Name) // what counts is this one, wrapped or not
		w.out.Servers = append(slices.DeleteFunc(w.out.Servers, func(o Server) bool { return o.Name == s.Name }), s)
		if s.Action != Wrapped {
			continue
		}
		f := found{server: s, data: change.After}
		switch e := e.(type) {
		case *jsonEntry:
			f.object = e.object
		case *tomlEntry:
			f.toml = e
		}
		w.servers[s.Name] = f
		w.order = append(slices.DeleteFunc(w.order, func(o string) bool { return o == s.Name }), s.Name)
	}
	return plainJSON(data)
}

// each goes over the servers to be wrapped, in the order of their files.
func (w *starter) each(yield func(name string, f found)) {
	for _, name := range w.order {
		if f, ok := w.servers[name]; ok {
			yield(name, f)
		}
	}
}

// offers goes over the servers to be offered whose names are free.
func (w *starter) offers(yield func(o Offered)) {
	for _, o := range w.Offer {
		taken := slices.ContainsFunc(w.out.Servers, func(s Server) bool { return s.Name == o.Name })
		if taken || !bare(o.Name) || len(o.Command) == 0 {
			w.note("the server " + o.Name + " is not offered: one of this name stands in your settings")
			continue
		}
		yield(o)
	}
}

// entry is an offered server as most clients write it.
func (o Offered) entry() []byte {
	entry, _ := rawjson.Set([]byte("{}"), "command", rawjson.Quote(nil, o.Command[0]))
	entry, _ = rawjson.Set(entry, "args", jsonArray(o.Command[1:]))
	return entry
}

func jsonArray(words []string) []byte {
	out := []byte{'['}
	for i, word := range words {
		if i > 0 {
			out = append(out, ',')
		}
		out = rawjson.Quote(out, word)
	}
	return append(out, ']')
}

func always([]string, string) bool { return true }

// plainJSON is JSON without comments, nil when it is none.
func plainJSON(data []byte) []byte {
	data = bytes.TrimPrefix(data, mark)
	if tooDeep(data) > 0 {
		return nil
	}
	tree, err := treeOf(data)
	if err != nil {
		return nil
	}
	tree.Standardize()
	plain := bytes.TrimSpace(tree.Pack())
	if !json.Valid(plain) {
		return nil
	}
	return plain
}

// plain is a found server's entry as plain JSON, of these keys only (all when none are named).
func (f found) plain(keys ...string) []byte {
	object := plainJSON(f.object.span.Of(f.data))
	if object == nil {
		return nil
	}
	if len(keys) == 0 {
		return object
	}
	var drop []string
	for m, err := range rawjson.Members(object, 0) {
		if err != nil {
			return nil
		}
		if !slices.Contains(keys, string(m.Key)) {
			drop = append(drop, string(m.Key))
		}
	}
	kept, err := rawjson.Remove(object, drop...)
	if err != nil {
		return nil
	}
	return kept
}

// set puts a value under a key of an object of servers: {"mcpServers": {NAME: value}}.
func set(document []byte, section, name string, value []byte) []byte {
	object := rawjson.Get(document, section).Of(document)
	if len(object) == 0 || object[0] != '{' {
		object = []byte("{}")
	}
	object, err := rawjson.Set(object, name, value)
	if err != nil {
		return document
	}
	whole, err := rawjson.Set(document, section, object)
	if err != nil {
		return document
	}
	return whole
}

// file plans a private file and returns its path.
func (w *starter) file(name string, body []byte) string {
	path := filepath.Join(w.Folder, name)
	w.out.Files = append(w.out.Files, File{Path: path, Body: body})
	return path
}
