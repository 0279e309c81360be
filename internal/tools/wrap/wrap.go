// Package wrap puts Plimsoll in front of the MCP servers in a client's configuration file: `plimsoll wrap` and the agents' own flags use it.
//
//	change, err := wrap.Apply("/home/me/.cursor/mcp.json", wrap.Options{Command: self})
//	change, err = wrap.Undo("/home/me/.cursor/mcp.json", false)
//
// A server that is started becomes `plimsoll mcp --name NAME -- COMMAND ARGS…`, a remote one `plimsoll mcp --name NAME --url URL`. The servers are
// found by the form of the file (JSON with comments, TOML, YAML), so that a client that nobody here knows is served too. Everything else in an entry
// stays. Arguments can be read by every user, so secrets of remote servers become variables of the entry's own environment. A server that its client
// may have logged in to by itself is left alone.
//
// Files are edited in ranges of bytes: comments, order, indentation, mode and links stay. Before anything is written the outcome is parsed and
// compared: all but the wrapped entries must be what it was. Nothing that a file names is ever executed or followed. All functions may be called
// from any goroutine; two programs that write one file at once are told so, where that is seen.
package wrap

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// Bounds. Sizes are in bytes.
const (
	// MaxFile is the size of the largest file that is read: Claude Code keeps its history in the same file as
	// its servers, which grows to megabytes.
	MaxFile = 16 << 20
	// maxDepth bounds the nesting of a file's values: the limit of encoding/json.
	maxDepth = 10_000
)

// Environment variables that a wrapped remote server's entry sets, since arguments can be
// read by every user of the machine.
const (
	// URLVariable is the name of the variable for an address with a query, a user or a placeholder.
	URLVariable = "PLIMSOLL_MCP_URL"
	// HeaderVariable, followed by a number from 1 on, is the name of a variable for one header, "Name: value".
	HeaderVariable = "PLIMSOLL_MCP_HEADER_"
)

// Options configure the wrapping of servers.
type Options struct {
	// Command starts Plimsoll; "" means "plimsoll", which the client finds in PATH.
	Command string
	// Remote also wraps remote servers without headers: they may need a login that only the client can do.
	Remote bool
	// InRun is a file that a gateway started within a run reads first (--in-run), because some clients start their servers with a nearly
	// empty environment. It is "" for files that stay.
	InRun string
	// Agents wraps the agents that an editor starts by the Agent Client Protocol, not MCP servers: they are put behind `plimsoll run`.
	Agents bool
}

func (o Options) command() string {
	if o.Command == "" {
		return "plimsoll"
	}
	return o.Command
}

// Action says what is done with a server.
type Action string

// The actions.
const (
	Wrapped Action = "wrapped"
	Left    Action = "left"      // unchanged; Why is the reason
	Already Action = "already"   // it was wrapped before
	Undone  Action = "unwrapped" // by Unplan
)

// Server is one server in a file.
type Server struct {
	Name   string `json:"name"`
	Client string `json:"client"` // "Codex"
	Line   int    `json:"line"`   // of its entry, from 1
	Action Action `json:"action"`
	Why    string `json:"why,omitempty"`
}

// Change is the result of wrapping or unwrapping a file.
type Change struct {
	Servers []Server
	After   []byte // the file's bytes
	// Exact is set by Unplan if After is the backup, byte for byte.
	Exact bool
}

// Changed reports whether the change alters before, the file's bytes.
func (c Change) Changed(before []byte) bool { return !bytes.Equal(before, c.After) }

// Error is an error in a file, with its place.
type Error struct {
	Path string
	Line int // 0 if the error has no line
	Text string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Path + ": " + e.Text
	}
	return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Text)
}

// Plan returns the change that wraps the servers in a file with these bytes. The path shows the client; nothing is read or executed. A file
// that cannot be understood is an *Error.
func Plan(path string, data []byte, o Options) (Change, error) {
	return planEdit(path, data, o.Agents, func(d *document) {
		for _, e := range d.entries {
			d.planWrap(e, o)
		}
	})
}

// planUnwrapAll returns the change that unwraps the servers in a file. If wrapping the backup gives exactly this file, the result is the backup
// and Exact is set. backup is nil if there is none.
func planUnwrapAll(path string, data, backup []byte, agents bool) (Change, error) {
	change, err := planEdit(path, data, agents, func(d *document) {
		was := d.originals(backup)
		for _, e := range d.entries {
			d.planUnwrap(e, was)
		}
	})
	if err != nil || backup == nil {
		return change, err
	}
	for _, o := range guessOptions(path, data, agents) {
		if again, err := Plan(path, backup, o); err == nil && bytes.Equal(again.After, data) {
			change.After, change.Exact = bytes.Clone(backup), true
			break
		}
	}
	return change, nil
}

// guessOptions returns the options with which the wrapped entries of a file may have been made, at most 17, from the commands that they name.
func guessOptions(path string, data []byte, agents bool) []Options {
	d, err := parse(path, data, agents)
	if err != nil {
		return nil
	}
	var all []Options
	seen := map[string]bool{}
	for _, e := range d.entries {
		command, _ := e.command()
		if !e.isWrapped() || seen[command] || len(all) >= 16 {
			continue
		}
		seen[command] = true
		all = append(all, Options{Command: command, Agents: agents})
		if !agents {
			all = append(all, Options{Command: command, Remote: true})
		}
	}
	return all
}

// planEdit parses a file, lets collect add its edits, applies them to a copy, and checks that nothing but the edited entries has changed.
func planEdit(path string, data []byte, agents bool, collect func(*document)) (Change, error) {
	d, err := parse(path, data, agents)
	if err != nil {
		return Change{}, err
	}
	collect(d)
	after, err := d.splice()
	if err != nil {
		return Change{}, err
	}
	if err := d.checkOnlyEntriesChanged(after); err != nil {
		return Change{}, err
	}
	return Change{Servers: d.servers, After: after}, nil
}

// Diff returns the change as a unified diff; "" if there is none.
func Diff(path string, before, after []byte) string {
	return string(diff.Diff(path, before, path+" (new)", after))
}

// isPlimsoll reports whether a command is Plimsoll, by its file name.
func isPlimsoll(command string) bool {
	base := filepath.Base(strings.ReplaceAll(command, `\`, "/"))
	return strings.TrimSuffix(strings.ToLower(base), ".exe") == "plimsoll"
}

// wrappedFrom reports whether args are Plimsoll's arguments for a wrapped server, and the index after "--" at which the server's own command
// begins: -1 for a remote server.
func wrappedFrom(args []string) (from int, ok bool) {
	if len(args) < 4 || args[0] != "mcp" || args[1] != "--name" {
		return 0, false
	}
	at := 3
	if args[at] == inRun && len(args) > at+2 {
		at += 2
	}
	switch args[at] {
	case "--":
		return at + 1, len(args) > at+1
	case "--url", "--url-env":
		return -1, len(args) > at+1
	}
	return 0, false
}

// agentCommand reports whether arguments are those of a wrapped agent, and the index at which the agent's command begins, behind "run --".
func agentCommand(args []string) (from int, ok bool) {
	return 2, len(args) > 2 && args[0] == "run" && args[1] == "--"
}

// inRun is the flag for Options.InRun.
const inRun = "--in-run"

// argsBefore returns the arguments of Plimsoll that come before those of the server with this name.
func (o Options) argsBefore(name string) []string {
	if o.Agents {
		return []string{"run"}
	}
	args := []string{"mcp", "--name", name}
	if o.InRun != "" {
		args = append(args, inRun, o.InRun)
	}
	return args
}

// Before returns Plimsoll's command and the arguments to put in front of a server's own command, for a server that another protocol names.
// gateway is "" if the server is wrapped already or is Plimsoll itself.
func (o Options) Before(name, command string, args []string) (gateway string, front []string) {
	if _, ok := wrappedFrom(args); ok || isPlimsoll(command) {
		return "", nil
	}
	return o.command(), append(o.argsBefore(name), "--")
}

// header is one header of a remote server.
type header struct{ name, value string }

// remote is the address of a server and the headers that are sent to it.
type remote struct {
	url     string
	headers []header // with the values from the file
	// bearer is, and the values of fromEnv are, names of variables in the client's environment (Codex).
	bearer  string
	fromEnv []header
}

// arguments returns Plimsoll's arguments for a remote server, and the variables with what other users must not see.
func (r remote) arguments(o Options, name string) (args []string, env []header) {
	args = o.argsBefore(name)
	if isDisplayable(r.url) {
		args = append(args, "--url", r.url)
	} else {
		args = append(args, "--url-env", URLVariable)
		env = append(env, header{URLVariable, r.url})
	}
	if r.bearer != "" {
		args = append(args, "--bearer-env", r.bearer)
	}
	for _, h := range r.fromEnv {
		args = append(args, "--header", h.name+"="+h.value)
	}
	for i, h := range r.headers {
		env = append(env, header{fmt.Sprintf("%s%d", HeaderVariable, i+1), h.name + ": " + h.value})
	}
	return args, env
}

// isDisplayable reports whether an address may be shown: it has no user, no query, no fragment and no placeholder.
func isDisplayable(url string) bool { return !strings.ContainsAny(url, "@?#${}") }

// flagValues returns the values of a flag in args, each the word behind key.
func flagValues(args []string, key string) (values []string) {
	for i := 0; i+1 < len(args); i++ {
		if args[i] == key {
			values = append(values, args[i+1])
			i++
		}
	}
	return values
}

// parseRemote is the inverse of remote.arguments: it returns the server that arguments and variables describe; ok is false if they are not of
// that form.
func parseRemote(args []string, env map[string]string) (remote, bool) {
	var r remote
	if urls := flagValues(args, "--url"); len(urls) > 0 {
		r.url = urls[0]
	} else {
		r.url = env[URLVariable]
	}
	if tokens := flagValues(args, "--bearer-env"); len(tokens) > 0 {
		r.bearer = tokens[0]
	}
	for _, pair := range flagValues(args, "--header") {
		name, variable, ok := strings.Cut(pair, "=")
		if !ok {
			return remote{}, false
		}
		r.fromEnv = append(r.fromEnv, header{name, variable})
	}
	for i := 1; ; i++ {
		text, ok := env[fmt.Sprintf("%s%d", HeaderVariable, i)]
		if !ok {
			return r, r.url != ""
		}
		name, value, ok := strings.Cut(text, ": ")
		if !ok {
			return remote{}, false
		}
		r.headers = append(r.headers, header{name, value})
	}
}

const (
	whyLogin = "it has no headers, so the client may log in to it by itself (OAuth), which nobody can do for it: if it needs no login, wrap it with --remote"
	whyOAuth = "the client logs in to it by itself (OAuth), which nobody can do for it"
	whyOwn   = "it is a server of Plimsoll, which bounds its results itself"
	whyOurs  = "it is started by Plimsoll already"
	// FromRegistry is the reason for an agent that has no command in its file.
	FromRegistry = "the editor starts it from its registry: make it an entry of your own (\"type\": \"custom\") with a command"
	whyNo        = "it has neither a command nor an address"
	whyForm      = "its entry is not in a form that is known"
	whyTwice     = "its entry has a key twice"
	whyNoText    = "a value of it is not a text"
)
