package wrap

import (
	"bytes"
	"slices"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/tailscale/hujson"
)

// jsonEntry is a server in a JSON file.
type jsonEntry struct {
	d            *document
	name, client string
	object       object
	path         []string
	start        int
	argv         bool // opencode's form
}

func (e *jsonEntry) server() Server {
	return Server{Name: e.name, Client: e.client, Line: lineOf(e.d.data, e.start)}
}

func (e *jsonEntry) place() []string { return e.path }

func (e *jsonEntry) text() []byte { return e.object.span.Of(e.d.data) }

// stringList returns the strings of an array, their places, and the array's member. If the key is missing, ok is true and the member nil; ok is
// false if the value is not an array of strings, or the key occurs twice.
func (e *jsonEntry) stringList(key string) (at *member, values []string, places []span, ok bool) {
	m, times := e.object.get(key)
	if m == nil {
		return nil, nil, nil, true
	}
	array, isArray := m.node.Value.(*hujson.Array)
	if !isArray || times > 1 {
		return m, nil, nil, false
	}
	for i := range array.Elements {
		v := &array.Elements[i]
		s, isString := stringOf(v)
		if !isString {
			return m, nil, nil, false
		}
		values = append(values, s)
		places = append(places, span{Start: v.StartOffset + e.object.base, End: v.EndOffset + e.object.base})
	}
	return m, values, places, true
}

// command returns the first element of an array, or the string, under "command".
func (e *jsonEntry) command() (string, bool) {
	if e.argv {
		_, values, _, ok := e.stringList("command")
		if !ok || len(values) == 0 {
			return "", false
		}
		return values[0], true
	}
	m, times := e.object.get("command")
	if m == nil || times > 1 {
		return "", false
	}
	return stringOf(m.node)
}

// arguments returns the elements after the command in its array, or those of "args"; nil if they are not all strings.
func (e *jsonEntry) arguments() []string {
	if e.argv {
		_, values, _, ok := e.stringList("command")
		if !ok || len(values) == 0 {
			return nil
		}
		return values[1:]
	}
	_, values, _, _ := e.stringList("args")
	return values
}

// isWrapped reports whether the entry has a command whose arguments are those that wrapping writes.
func (e *jsonEntry) isWrapped() bool {
	_, ok := e.command()
	if !ok {
		return false
	}
	_, ok = e.wrappedFrom()
	return ok
}

// wrappedFrom reports whether the entry is wrapped, and the index in its arguments at which the original command begins: -1 for a remote server.
func (e *jsonEntry) wrappedFrom() (from int, ok bool) {
	if e.d.agents {
		command, _ := e.command()
		from, ok = agentCommand(e.arguments())
		return from, ok && isPlimsoll(command)
	}
	return wrappedFrom(e.arguments())
}

// variables returns the key of a server's environment variables.
func (e *jsonEntry) variables() string {
	if e.argv {
		return "environment"
	}
	return "env"
}

// wrap returns the edits that wrap the entry. An entry with a key that occurs twice, or without command and address, is left: then there
// are no edits, and the text says why.
func (e *jsonEntry) wrap(o Options) ([]rawjson.Edit, string) {
	for _, key := range []string{"command", "args", "type", "url", "httpUrl", "serverUrl", "headers", e.variables()} {
		if _, times := e.object.get(key); times > 1 {
			return nil, whyTwice
		}
	}
	if m, _ := e.object.get("command"); m != nil {
		return e.wrapCommand(o)
	}
	if o.Agents {
		return nil, FromRegistry
	}
	for _, key := range []string{"url", "httpUrl", "serverUrl"} {
		if m, _ := e.object.get(key); m != nil {
			return e.wrapRemote(o, m)
		}
	}
	return nil, whyNo
}

// wrapCommand returns the edits that put Plimsoll and its arguments before the command of the entry; nil and the reason if it must be left.
func (e *jsonEntry) wrapCommand(o Options) ([]rawjson.Edit, string) {
	command, ok := e.command()
	if !ok {
		return nil, whyForm
	}
	if command == "" {
		return nil, whyNo
	}
	front := append(o.argsBefore(e.name), "--")
	if e.argv {
		m, _, _, _ := e.stringList("command")
		return []rawjson.Edit{e.insert(m, append([]string{o.command()}, front...))}, ""
	}
	m, _ := e.object.get("command")
	front = append(front, command)
	edits := []rawjson.Edit{{Span: m.value, With: quote(o.command())}}
	args, _, _, ok := e.stringList("args")
	switch {
	case !ok:
		return nil, whyForm
	case args != nil:
		return append(edits, e.insert(args, front)), ""
	}
	edits[0].With = append(edits[0].With, ',')
	edits[0].With = append(append(edits[0].With, e.spaceBefore(m)...), `"args": `...)
	edits[0].With = appendArray(edits[0].With, front)
	return edits, ""
}

// insert returns the edit that inserts strings at the beginning of an array.
func (e *jsonEntry) insert(m *member, values []string) rawjson.Edit {
	return insertFront(e.d.data, m.value.Start+1, len(m.node.Value.(*hujson.Array).Elements), values, quote)
}

// spaceBefore returns the white space that separates a member from the one before it: the line end and the indentation, or one space.
func (e *jsonEntry) spaceBefore(m *member) []byte {
	i := m.name.Start
	for i > 0 && (e.d.data[i-1] == ' ' || e.d.data[i-1] == '\t') {
		i--
	}
	switch {
	case i > 1 && e.d.data[i-1] == '\n' && e.d.data[i-2] == '\r':
		i -= 2
	case i > 0 && e.d.data[i-1] == '\n':
		i--
	default:
		return []byte{' '}
	}
	return e.d.data[i:m.name.Start]
}

func appendArray(b []byte, values []string) []byte {
	b = append(b, '[')
	for i, v := range values {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, quote(v)...)
	}
	return append(b, ']')
}

func appendObject(b []byte, values []header) []byte {
	b = append(b, '{')
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, ' '), quote(v.name)...), ": "...)
		b = append(b, quote(v.value)...)
	}
	return append(b, " }"...)
}

// remoteServer returns the address and headers of a remote server, and the member "headers" (nil if there is none). why is the reason if the
// entry must be left, such as a login that only the client can do; it is "" otherwise.
func (e *jsonEntry) remoteServer(o Options, url *member) (r remote, headers *member, why string) {
	var ok bool
	if r.url, ok = stringOf(url.node); !ok || r.url == "" {
		return r, nil, whyNoText
	}
	// Settings of some clients beside headers, each for a way to log in.
	for _, key := range []string{"oauth", "auth", "authProviderType", "targetAudience", "targetServiceAccount", "headersHelper"} {
		if m, _ := e.object.get(key); m != nil && string(m.value.Of(e.d.data)) != "false" {
			return r, nil, whyOAuth
		}
	}
	switch typeField(e.object) {
	case "", "http", "remote", "streamable-http", "streamableHttp", "streamable_http", "sse":
	default:
		return r, nil, whyForm
	}
	headers, _ = e.object.get("headers")
	if headers != nil {
		all, ok := objectOf(headers.node, e.object.base)
		if !ok {
			return r, nil, whyForm
		}
		for _, m := range all.members {
			value, ok := stringOf(m.node)
			if !ok {
				return r, nil, whyNoText
			}
			r.headers = append(r.headers, header{m.key, value})
		}
	}
	oauth, _ := e.object.get("oauth") // "oauth": false says that there is no login
	if len(r.headers) == 0 && oauth == nil && !o.Remote {
		return r, nil, whyLogin
	}
	return r, headers, ""
}

// wrapRemote returns the edits that replace an address and its headers by a command that starts Plimsoll with them; nil and the reason if the
// entry must be left. url is the member with the address.
func (e *jsonEntry) wrapRemote(o Options, url *member) ([]rawjson.Edit, string) {
	r, headers, why := e.remoteServer(o, url)
	if why != "" {
		return nil, why
	}
	for _, key := range []string{"args", e.variables()} {
		if m, _ := e.object.get(key); m != nil {
			return nil, whyForm // it has parts of a server that is started, too
		}
	}
	args, env := r.arguments(o, e.name)
	var with []byte
	if e.argv {
		with = append(with, `"command": `...)
		with = appendArray(with, append([]string{o.command()}, args...))
	} else {
		with = append(append(with, `"command": `...), quote(o.command())...)
		with = append(append(append(with, ','), e.spaceBefore(url)...), `"args": `...)
		with = appendArray(with, args)
	}
	if headers == nil && len(env) > 0 {
		with = append(append(append(with, ','), e.spaceBefore(url)...), append(quote(e.variables()), ": "...)...)
		with = appendObject(with, env)
	}
	edits := []rawjson.Edit{{Span: span{Start: url.name.Start, End: url.value.End}, With: with}}
	if headers != nil {
		with := append(quote(e.variables()), ": "...)
		edits = append(edits, rawjson.Edit{Span: span{Start: headers.name.Start, End: headers.value.End}, With: appendObject(with, env)})
	}
	if m, _ := e.object.get("type"); m != nil {
		switch {
		case e.argv:
			edits = append(edits, rawjson.Edit{Span: m.value, With: quote("local")})
		case e.client == "Gemini CLI" || e.client == "Qwen Code":
			// These only have a type for remote servers: the command replaces it.
			edits[0].With = edits[0].With[bytes.Index(edits[0].With, []byte(`"args"`)):]
			edits = append(edits, rawjson.Edit{
				Span: span{Start: m.name.Start, End: m.value.End},
				With: append([]byte(`"command": `), quote(o.command())...),
			})
		default:
			edits = append(edits, rawjson.Edit{Span: m.value, With: quote("stdio")})
		}
	}
	sorting.By(edits, func(a, b rawjson.Edit) int { return a.Span.Start - b.Span.Start })
	return edits, ""
}

// unwrap returns the edits that restore the entry: its original text if was has it, else without what wrapping inserts. If that cannot be
// done there are none, and the text says why.
func (e *jsonEntry) unwrap(was []byte) ([]rawjson.Edit, string) {
	if was != nil {
		return []rawjson.Edit{{Span: e.object.span, With: was}}, ""
	}
	from, _ := e.wrappedFrom()
	if from < 0 {
		return e.unwrapRemote()
	}
	if e.argv {
		m, _, places, _ := e.stringList("command")
		return []rawjson.Edit{removeFront(e.d.data, m.value.Start+1, places, from+1)}, ""
	}
	command, _ := e.object.get("command")
	args, values, places, _ := e.stringList("args")
	return []rawjson.Edit{
		{Span: command.value, With: quote(values[from])},
		removeFront(e.d.data, args.value.Start+1, places, from+1),
	}, ""
}

// unwrapRemote returns the edits that restore the entry of a remote server, in the usual form of its client.
func (e *jsonEntry) unwrapRemote() ([]rawjson.Edit, string) {
	variables, _ := e.object.get(e.variables())
	env := map[string]string{}
	if variables != nil {
		all, _ := objectOf(variables.node, e.object.base)
		for _, m := range all.members {
			env[m.key], _ = stringOf(m.node)
		}
	}
	r, ok := parseRemote(e.arguments(), env)
	if !ok {
		return nil, whyForm
	}
	name := "url"
	switch e.client {
	case "Gemini CLI", "Qwen Code":
		name = "httpUrl"
	case "Windsurf":
		name = "serverUrl"
	}
	// The address takes the place of what stands first of the command and its arguments.
	at, _ := e.object.get("command")
	args, _ := e.object.get("args")
	if args != nil && args.name.Start < at.name.Start {
		at, args = args, at
	}
	edits := []rawjson.Edit{{
		Span: span{Start: at.name.Start, End: at.value.End},
		With: append(append(quote(name), ": "...), quote(r.url)...),
	}}
	drop := func(m *member) { // with the comma before it
		i := slices.IndexFunc(e.object.members, func(o member) bool { return o.name == m.name })
		before := e.object.members[i-1]
		edits = append(edits, rawjson.Edit{Span: span{Start: before.value.End + len(before.node.AfterExtra), End: m.value.End}})
	}
	if args != nil {
		drop(args)
	}
	if variables != nil {
		if len(r.headers) > 0 {
			edits = append(edits, rawjson.Edit{
				Span: span{Start: variables.name.Start, End: variables.value.End},
				With: appendObject(append(quote("headers"), ": "...), r.headers),
			})
		} else if variables.name.Start > at.value.End {
			drop(variables)
		}
	}
	if m, _ := e.object.get("type"); m != nil {
		kind := "http"
		if e.argv {
			kind = "remote"
		}
		edits = append(edits, rawjson.Edit{Span: m.value, With: quote(kind)})
	}
	sorting.By(edits, func(a, b rawjson.Edit) int { return a.Span.Start - b.Span.Start })
	return edits, ""
}
