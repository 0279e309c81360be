package wrap

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/sorting"
)

// tomlEntry is a server of Codex or (listed) of Mistral Vibe. Its assignments may be in one table, in several, in an inline table, or be
// dotted keys anywhere above.
type tomlEntry struct {
	d           *document
	key         string // its name, or its index in the array
	listed      bool
	start       int
	assignments []assignment
	headings    []heading
}

// server names an entry of Vibe's list by its key "name", and one of Codex by its table.
func (e *tomlEntry) server() Server {
	s := Server{Name: e.key, Client: "Codex", Line: lineOf(e.d.data, e.start)}
	if e.listed {
		s.Name, s.Client = "mcp", "Vibe"
		if name, _ := e.stringValue("name"); name != "" {
			s.Name = name
		}
	}
	return s
}

func (e *tomlEntry) place() []string { return []string{table, e.key} }

// text returns nil: the entry may be in several places.
func (e *tomlEntry) text() []byte { return nil }

// get returns the assignment of a key of the entry; ok is false if there is none.
func (e *tomlEntry) get(key ...string) (assignment, bool) {
	for _, a := range e.assignments {
		if slices.Equal(a.path[2:], key) {
			return a, true
		}
	}
	return assignment{}, false
}

// hasKey reports whether the entry has the key, as a value or as a table.
func (e *tomlEntry) hasKey(key string) bool {
	for _, a := range e.assignments {
		if len(a.path) > 2 && a.path[2] == key {
			return true
		}
	}
	for _, h := range e.headings {
		if len(h.path) > 2 && h.path[2] == key {
			return true
		}
	}
	return false
}

// tableStrings returns the strings of a table of the entry and their assignments, in the file's order; false for any other table.
func (e *tomlEntry) tableStrings(key string) (all []header, at []assignment, ok bool) {
	for _, a := range e.assignments {
		if len(a.path) < 3 || a.path[2] != key || len(a.path) == 3 && a.table {
			continue
		}
		value, isText := unquoteTOML(a.value.Of(e.d.data))
		if len(a.path) != 4 || !isText {
			return nil, nil, false
		}
		all, at = append(all, header{a.path[3], value}), append(at, a)
	}
	return all, at, true
}

// command implements entry.
func (e *tomlEntry) command() (string, bool) { return e.stringValue("command") }

// stringValue returns the text of a key of the entry; ok is false if it is missing or not a string.
func (e *tomlEntry) stringValue(key string) (string, bool) {
	a, ok := e.get(key)
	if !ok {
		return "", false
	}
	return unquoteTOML(a.value.Of(e.d.data))
}

// argsList returns the strings of "args" and their places. If there is no args, ok is true and the assignment has no keys; ok is false if args
// is not an array of strings.
func (e *tomlEntry) argsList() (a assignment, values []string, places []span, ok bool) {
	a, found := e.get("args")
	if !found || e.d.data[a.value.Start] != '[' {
		return a, nil, nil, !found
	}
	s := tomlScan{b: e.d.data, i: a.value.Start}
	ok = s.array(nil, func(at span) { places = append(places, at) })
	for _, at := range places {
		value, isText := unquoteTOML(at.Of(e.d.data))
		values, ok = append(values, value), ok && isText
	}
	return a, values, places, ok
}

// arguments implements entry; it returns nil if the arguments are not all strings.
func (e *tomlEntry) arguments() []string {
	_, values, _, ok := e.argsList()
	if !ok {
		return nil
	}
	return values
}

// isWrapped reports whether the entry has a command whose arguments are those that wrapping writes.
func (e *tomlEntry) isWrapped() bool {
	_, ok := e.command()
	if !ok {
		return false
	}
	_, ok = wrappedFrom(e.arguments())
	return ok
}

// wrap returns the edits that wrap the server. If it cannot be wrapped there are none, and the text says why.
func (e *tomlEntry) wrap(o Options) ([]rawjson.Edit, string) {
	if a, ok := e.get("command"); ok {
		return e.wrapCommand(o, a)
	}
	if a, ok := e.get("url"); ok {
		return e.wrapRemote(o, a)
	}
	return nil, whyNo
}

// headers returns the key of the headers for a remote server.
func (e *tomlEntry) headers() string {
	if e.listed {
		return "headers"
	}
	return "http_headers"
}

const whyVibeKey = "Vibe hands the key of its api_key_env to no server that it starts: write it as a header, or put `plimsoll mcp --name NAME --url URL --bearer-env VARIABLE` with the variable in env in its place by hand"

// wrapCommand returns the edits that put Plimsoll and its arguments before the command, whose assignment is at; nil and the reason if the entry
// must be left.
func (e *tomlEntry) wrapCommand(o Options, at assignment) ([]rawjson.Edit, string) {
	command, ok := e.command()
	if !ok {
		return nil, whyNoText
	}
	if command == "" {
		return nil, whyNo
	}
	front := append(o.argsBefore(e.server().Name), "--", command)
	a, _, places, ok := e.argsList()
	if !ok {
		return nil, whyForm
	}
	with := quoteTOML(o.command())
	if a.keys == nil {
		with = append(with, e.assignmentAfter(at, "args", tomlArray(front))...)
		return []rawjson.Edit{{Span: at.value, With: with}}, ""
	}
	return []rawjson.Edit{
		{Span: at.value, With: with},
		insertFront(e.d.data, a.value.Start+1, len(places), front, quoteTOML),
	}, ""
}

// wrapRemote returns the edits that replace an address and its headers by a command that starts Plimsoll with them; nil and the reason if the
// entry must be left. The names of variables that Codex reads headers from are passed on as arguments.
func (e *tomlEntry) wrapRemote(o Options, url assignment) ([]rawjson.Edit, string) {
	var r remote
	var ok bool
	if r.url, ok = unquoteTOML(url.value.Of(e.d.data)); !ok || r.url == "" {
		return nil, whyNoText
	}
	if e.hasKey("oauth") || e.hasKey("oauth_resource") || e.hasKey("scopes") {
		return nil, whyOAuth
	}
	transport, hasTransport := e.get("transport")
	if e.listed {
		if e.hasKey("auth") {
			return nil, whyOAuth
		}
		if set, _ := e.stringValue("api_key_env"); set != "" {
			return nil, whyVibeKey
		}
		if !hasTransport || transport.table {
			return nil, whyForm // Vibe itself refuses it
		}
	}
	if e.hasKey("args") || e.hasKey("env") || e.hasKey("env_vars") || e.hasKey("bearer_token") {
		return nil, whyForm // Codex itself refuses it
	}
	headers, leaves, ok1 := e.tableStrings(e.headers())
	fromEnv, _, ok2 := e.tableStrings("env_http_headers")
	if !ok1 || !ok2 {
		return nil, whyForm
	}
	r.headers, r.fromEnv = headers, fromEnv
	var inherited []string
	if a, has := e.get("bearer_token_env_var"); has {
		if r.bearer, ok = unquoteTOML(a.value.Of(e.d.data)); !ok {
			return nil, whyNoText
		}
		inherited = append(inherited, r.bearer)
	}
	for _, h := range fromEnv {
		if !slices.Contains(inherited, h.value) {
			inherited = append(inherited, h.value)
		}
	}
	if len(headers)+len(inherited) == 0 && !o.Remote {
		return nil, whyLogin
	}
	args, env := r.arguments(o, e.server().Name)
	with := quoteTOML(o.command())
	with = append(with, e.assignmentAfter(url, "args", tomlArray(args))...)
	if len(inherited) > 0 {
		// Codex passes only the variables named here to a server that it starts.
		with = append(with, e.assignmentAfter(url, "env_vars", tomlArray(inherited))...)
	}
	var beside []byte // text behind the first header
	if hidden := len(env) - len(headers); hidden > 0 {
		if len(headers) == 0 {
			with = append(with, e.assignmentAfter(url, "env", tomlTable(env))...)
		} else {
			beside = bytes.Replace(e.assignmentAfter(leaves[0], URLVariable, quoteTOML(r.url)), []byte(e.headers()), []byte("env"), 1)
		}
	}
	edits := []rawjson.Edit{e.rename(url.keys[len(url.keys)-1], "command"), {Span: url.value, With: with}}
	if e.listed {
		edits = append(edits, rawjson.Edit{Span: transport.value, With: quoteTOML("stdio")})
	}
	edits = append(edits, e.renameTable(e.headers(), "env")...)
	for i, a := range leaves {
		edits = append(edits,
			e.rename(a.keys[len(a.keys)-1], fmt.Sprintf("%s%d", HeaderVariable, i+1)),
			rawjson.Edit{Span: a.value, With: append(quoteTOML(headers[i].name+": "+headers[i].value), beside...)})
		beside = nil
	}
	return append(edits, e.removeKeys("bearer_token_env_var", "env_http_headers")...), ""
}

// unwrap ignores the original text, as the keys of an entry may be spread over the file. It removes what wrapping inserts.
func (e *tomlEntry) unwrap([]byte) ([]rawjson.Edit, string) {
	at, _ := e.get("command")
	a, values, places, _ := e.argsList()
	from, _ := wrappedFrom(values)
	if from < 0 {
		return e.unwrapRemote(at, a, values)
	}
	command := rawjson.Edit{Span: at.value, With: quoteTOML(values[from])}
	if len(values) == from+1 && e.isAdjacent(at, a) {
		command.Span.End = a.value.End // wrapping has added args
		return []rawjson.Edit{command}, ""
	}
	return []rawjson.Edit{command, removeFront(e.d.data, a.value.Start+1, places, from+1)}, ""
}

// isAdjacent reports whether b is directly behind a, as assignmentAfter puts it.
func (e *tomlEntry) isAdjacent(a, b assignment) bool {
	if b.whole().Start < a.value.End {
		return false
	}
	between := string(e.d.data[a.value.End:b.whole().Start])
	return strings.Trim(between, " \t\r\n,") == "" && strings.Count(between, "\n") <= 1
}

// unwrapRemote returns the edits that undo wrapRemote; nil and the reason if the entry does not look as wrapRemote leaves it. at is the
// assignment of command; args and values are those of its arguments.
func (e *tomlEntry) unwrapRemote(at, args assignment, values []string) ([]rawjson.Edit, string) {
	env, leaves, ok := e.tableStrings("env")
	if !ok {
		return nil, whyForm
	}
	variables := map[string]string{}
	for _, v := range env {
		variables[v.name] = v.value
	}
	r, ok := parseRemote(values, variables)
	if !ok {
		return nil, whyForm
	}
	with := quoteTOML(r.url)
	if r.bearer != "" {
		with = append(with, e.assignmentAfter(at, "bearer_token_env_var", quoteTOML(r.bearer))...)
	}
	if len(r.fromEnv) > 0 {
		with = append(with, e.assignmentAfter(at, "env_http_headers", tomlTable(r.fromEnv))...)
	}
	edits := []rawjson.Edit{e.rename(at.keys[len(at.keys)-1], "url"), {Span: at.value, With: with}}
	if e.listed {
		transport, ok := e.get("transport")
		if !ok || r.bearer != "" || len(r.fromEnv) > 0 {
			return nil, whyForm
		}
		edits = append(edits, rawjson.Edit{Span: transport.value, With: quoteTOML("streamable-http")})
	}
	if e.isAdjacent(at, args) {
		end := args
		if vars, ok := e.get("env_vars"); ok && e.isAdjacent(args, vars) {
			end = vars
		} else {
			edits = append(edits, e.removeKeys("env_vars")...)
		}
		edits[1].Span.End = end.value.End
	} else {
		edits = append(edits, e.removeKeys("args", "env_vars")...)
	}
	if len(r.headers) == 0 {
		return append(edits, e.removeKeys("env")...), ""
	}
	edits = append(edits, e.renameTable("env", e.headers())...)
	for i, a := range leaves {
		name, value, ok := strings.Cut(env[i].value, ": ")
		switch {
		case env[i].name == URLVariable:
			edits = append(edits, e.removeAssignment(a))
		case !ok || !strings.HasPrefix(env[i].name, HeaderVariable):
			return nil, whyForm
		default:
			edits = append(edits, rawjson.Edit{Span: a.keys[len(a.keys)-1], With: tomlKey(name)}, rawjson.Edit{Span: a.value, With: quoteTOML(value)})
		}
	}
	sorting.By(edits, func(a, b rawjson.Edit) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	return edits, ""
}
