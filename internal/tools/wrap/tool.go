package wrap

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/config/profile"
	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// Start describes the start of an agent.
type Start struct {
	Agent *profile.Agent
	// Home is the user's home folder, Project the folder that the agent starts in.
	Home, Project string
	// Untrusted is set when the agent ignores the project's settings, because the user has not trusted the folder: then its servers are not
	// started behind the gateway either.
	Untrusted bool
	// Argv is the command line; the tool's own arguments begin behind Argv[Word].
	Argv []string
	Word int
	// Env is the agent's environment, "NAME=value".
	Env []string
	// Folder is a folder for private files during the run: absolute, of mode 0700, and not below a folder that others may write to (Gemini
	// CLI checks that), so not /tmp.
	Folder string
	// Offer are servers of Plimsoll's own that the agent gets in addition to those of its files. One whose name is already used there is
	// left out, with a note.
	Offer []profile.Offered
	// Options are used to wrap the servers. Command should be absolute, as an agent may change PATH.
	Options Options
	// ReadFile reads a settings file; nil reads files of at most MaxFile bytes.
	ReadFile func(name string) ([]byte, error)
}

// Setup says how an agent is started with wrapped servers while its files stay unchanged.
type Setup struct {
	Argv []string // the whole command line
	Env  []string // variables to add, "NAME=value"
	// Files must be written, with mode 0600, before the start and removed after the end.
	Files []profile.File
	// Servers holds every server that was found, with its action.
	Servers []Server
	// Notes name the servers that are not wrapped, with the reason.
	Notes []string
	// Why is the reason why nothing was done; "" if something was.
	Why string
}

// ForTool returns the way to start a known agent with its servers wrapped for this run. If there is none, Why is the reason and the command
// is unchanged. It reads the agent's settings and executes nothing.
func ForTool(s Start) Setup {
	w := &starter{start: s, out: Setup{Argv: slices.Clone(s.Argv)}, servers: map[string]found{}}
	if w.start.ReadFile == nil {
		w.start.ReadFile = readLimited
	}
	if s.Agent.Servers == nil {
		w.out.Why = "there is no flag or variable of " + s.Agent.Name + " known that takes servers for one run: use `plimsoll mcp wrap FILE`"
		return w.out
	}
	s.Agent.Servers(w)
	if w.out.Why == "" && len(w.out.Files)+len(w.out.Env) == 0 && slices.Equal(w.out.Argv, s.Argv) {
		w.out.Why = "no server was found that can be wrapped for one run"
	}
	return w.out
}

// starter implements [profile.Servers] for one start.
type starter struct {
	start Start
	out   Setup
	// servers are the wrapped servers by name; of servers in several files the last one read.
	servers map[string]found
	order   []string
}

// found is a wrapped server as an entry in its client's own form.
type found struct {
	server Server
	object object
	data   []byte
	toml   *tomlEntry
}

// Home implements [profile.Servers]: the agent's home, working folder and environment.
func (w *starter) Home() profile.Home {
	return profile.Home{Dir: w.start.Home, Work: w.start.Project, Get: w.envValue}
}

// Project implements [profile.Servers]: the folder that the agent starts in, and whether the user trusts it.
func (w *starter) Project() (folder string, trusted bool) {
	return w.start.Project, !w.start.Untrusted
}

// envValue returns the value of a variable in the agent's environment; "" if it is not set. Of several, the last counts.
func (w *starter) envValue(name string) string {
	for _, kv := range slices.Backward(w.start.Env) {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

// Note adds a note for the user.
func (w *starter) Note(text string) { w.out.Notes = append(w.out.Notes, text) }

// Refuse records why nothing can be done.
func (w *starter) Refuse(why string) { w.out.Why = why }

// Insert adds arguments in front of the agent's own.
func (w *starter) Insert(args ...string) {
	w.out.Argv = slices.Insert(w.out.Argv, w.start.Word+1, args...)
}

// Set adds a variable to the agent's environment.
func (w *starter) Set(variable, value string) { w.out.Env = append(w.out.Env, variable+"="+value) }

// File plans a private file for the run and returns its path.
func (w *starter) File(name string, body []byte) string {
	path := filepath.Join(w.start.Folder, name)
	w.out.Files = append(w.out.Files, profile.File{Path: path, Body: body})
	return path
}

// Given reports whether the agent's command has this flag, as "flag" or "flag=value", before any "--".
func (w *starter) Given(flag string) bool {
	for _, arg := range w.start.Argv[min(w.start.Word+1, len(w.start.Argv)):] {
		if arg == "--" {
			return false
		}
		if arg == flag || strings.HasPrefix(arg, flag+"=") {
			return true
		}
	}
	return false
}

// Around records that a server cannot be wrapped for this run: it adds a note with the reason, and marks the server as Left.
func (w *starter) Around(name, why string) {
	w.Note("the server " + name + " goes around Plimsoll: " + why + "; `plimsoll mcp wrap` can rewrite its file")
	for i := range w.out.Servers {
		if s := &w.out.Servers[i]; s.Name == name {
			s.Action, s.Why = Left, why
		}
	}
}

// Read returns the bytes of a settings file; nil if it cannot be read.
func (w *starter) Read(file string) []byte {
	data, err := w.start.ReadFile(file)
	if err != nil {
		return nil
	}
	return data
}

// Load is Take for a file that it reads; without the file it does nothing.
func (w *starter) Load(file string, take func(place []string, name string) bool) {
	if data := w.Read(file); data != nil {
		w.Take(file, data, take)
	}
}

// Take reads the servers in a file's bytes and keeps those for which take returns true, in place of a server of the same name that was
// taken before. Invalid bytes are noted, and no server is kept. It returns the bytes as plain JSON; nil if they are not valid.
func (w *starter) Take(path string, data []byte, take func(place []string, name string) bool) []byte {
	change, err := Plan(path, data, w.start.Options)
	if err != nil {
		if e, ok := err.(*Error); ok && strings.Contains(e.Text, "valid") {
			w.Note(path + " is not valid, so its servers go around Plimsoll")
		}
		return w.Plain(data)
	}
	made, err := parse(path, change.After, false)
	if err != nil || len(made.entries) != len(change.Servers) {
		return w.Plain(data)
	}
	for i, e := range made.entries {
		s := change.Servers[i]
		if !take(e.place(), s.Name) {
			continue
		}
		delete(w.servers, s.Name) // this one replaces it, wrapped or not
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
	return w.Plain(data)
}

// Wrapped calls yield for each wrapped server, in the order of the files.
func (w *starter) Wrapped(yield func(profile.Server)) {
	for _, name := range w.order {
		f, ok := w.servers[name]
		if !ok {
			continue
		}
		s := profile.Server{Name: name, Command: w.start.Options.command(), Entry: func(keys ...string) []byte { return w.entry(f, keys) }}
		if f.toml != nil {
			s.Args = f.toml.arguments()
			from, _ := wrappedFrom(s.Args)
			s.Remote = from < 0
		} else {
			variables, _ := f.object.memberObject("environment")
			for _, m := range variables.members {
				if value, ok := stringOf(m.node); ok && strings.HasPrefix(m.key, "PLIMSOLL_MCP_") {
					s.Hidden = append(s.Hidden, profile.Variable{Name: m.key, Value: value})
				}
			}
			s.NamesFile = bytes.Contains(variables.span.Of(f.data), []byte("{file:"))
		}
		yield(s)
	}
}

// Offered calls yield for each server on offer that has a command and a usable name that no other server has. For the others it notes the reason.
func (w *starter) Offered(yield func(profile.Offered)) {
	for _, o := range w.start.Offer {
		taken := slices.ContainsFunc(w.out.Servers, func(s Server) bool { return s.Name == o.Name })
		why := ""
		switch {
		case taken:
			why = "one of this name stands in your settings"
		case !isBareName(o.Name):
			why = "its name is not one of A-Z, a-z, 0-9, _ and - alone"
		case len(o.Command) == 0:
			why = "it has no command"
		}
		if why != "" {
			w.Note("the server " + o.Name + " is not offered: " + why)
			continue
		}
		yield(o)
	}
}

// isBareName reports whether a name needs no quotes as a key of TOML.
func isBareName(name string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool { return r > 127 || !isBareKeyByte(byte(r)) }) < 0
}

// Plain returns JSON without comments and trailing commas; nil if data is not valid.
func (w *starter) Plain(data []byte) []byte {
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

// entry returns a found server's entry as plain JSON, with only these keys (none means all); nil for TOML or an invalid entry.
func (w *starter) entry(f found, keys []string) []byte {
	if f.toml != nil {
		return nil
	}
	object := w.Plain(f.object.span.Of(f.data))
	if object == nil || len(keys) == 0 {
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
