package client

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// Bounds of the tools whose parameters are mirrored into headers.
const (
	maxMirrored = 1024     // tools
	maxBindings = 32       // of one tool
	maxListed   = 16 << 20 // bytes of a tools/list that is read
	maxMirror   = 8 << 10  // bytes of a value
	maxNesting  = 16       // levels of properties
)

// mirrors maps the name of a tool to the arguments that are repeated in headers.
type mirrors map[string][]binding

// A binding names a header and the path of the argument that it repeats.
type binding struct {
	header string
	path   []string
}

// setMirrorHeaders sets the headers that repeat parts of a message of 2026-07-28, so that intermediaries can route it without reading it.
func (r *Remote) setMirrorHeaders(h http.Header, m *transport.Message) {
	h.Set(headerMethod, m.Head.Method)
	params := m.Head.Params.Of(m.Raw)
	switch m.Head.Method {
	case "tools/call", "prompts/get":
		if name, ok := rawjson.Text(params, "name"); ok {
			h.Set(headerName, headerValue(name))
		}
	case "resources/read":
		if uri, ok := rawjson.Text(params, "uri"); ok {
			h.Set(headerName, headerValue(uri))
		}
	}
	if m.Head.Method != "tools/call" {
		return
	}
	name, _ := rawjson.Text(params, "name")
	r.mu.Lock()
	bindings := r.mirrors[name]
	r.mu.Unlock()
	for _, b := range bindings {
		at := rawjson.Get(params, append([]string{"arguments"}, b.path...)...)
		if value, ok := primitive(at.Of(params)); ok && at.Len() <= maxMirror {
			h.Set("Mcp-Param-"+b.header, headerValue(value))
		}
	}
}

// primitive returns the text of a string, number or boolean; ok is false for any other value.
func primitive(raw []byte) (string, bool) {
	switch {
	case len(raw) == 0 || raw[0] == '{' || raw[0] == '[' || string(raw) == "null":
		return "", false
	case raw[0] == '"':
		return string(rawjson.Unquote(nil, raw)), true
	}
	return string(raw), true
}

// headerValue returns text as the value of a header: unchanged if every server reads it alike, else in the specification's base64 form.
func headerValue(text string) string {
	const open, closing = "=?base64?", "?="
	plain := strings.Trim(text, " \t") == text && !(strings.HasPrefix(text, open) && strings.HasSuffix(text, closing))
	for i := 0; plain && i < len(text); i++ {
		plain = text[i] == '\t' || text[i] >= ' ' && text[i] < 0x7f
	}
	if plain {
		return text
	}
	return open + base64.StdEncoding.EncodeToString([]byte(text)) + closing
}

// learnMirrors records which headers the tools in an answer to tools/list ask for, in place of those recorded for these tools before.
func (r *Remote) learnMirrors(answer []byte) {
	tools := rawjson.Get(answer, "result", "tools")
	if tools.IsZero() || answer[tools.Start] != '[' {
		return
	}
	for v, err := range rawjson.Elements(answer, tools.Start) {
		if err != nil {
			return
		}
		tool := v.Of(answer)
		name, ok := rawjson.Text(tool, "name")
		if !ok {
			continue
		}
		schema := rawjson.Get(tool, "inputSchema")
		bindings := collectBindings(schema.Of(tool), nil, nil)
		r.mu.Lock()
		if r.mirrors == nil {
			r.mirrors = mirrors{}
		}
		if delete(r.mirrors, name); len(bindings) > 0 && len(r.mirrors) < maxMirrored {
			r.mirrors[name] = bindings
		}
		r.mu.Unlock()
	}
}

// collectBindings appends the bindings in a schema to found, at most maxBindings. It only follows properties; path leads to this schema.
func collectBindings(schema []byte, path []string, found []binding) []binding {
	properties := rawjson.Get(schema, "properties")
	if len(path) >= maxNesting || properties.IsZero() || schema[properties.Start] != '{' {
		return found
	}
	for m, err := range rawjson.Members(schema, properties.Start) {
		if err != nil || len(found) >= maxBindings {
			return found
		}
		property := m.Value.Of(schema)
		if property[0] != '{' {
			continue
		}
		here := append(path[:len(path):len(path)], string(m.Key))
		if name, ok := rawjson.Text(property, "x-mcp-header"); ok && isToken(name) {
			found = append(found, binding{name, here})
		}
		found = collectBindings(property, here, found)
	}
	return found
}

// isToken reports whether text may be, or be part of, a header's name (RFC 9110, 5.6.2).
func isToken(text string) bool {
	for i := range len(text) {
		c := text[i]
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return text != ""
}

// toolListReader is the receiver of an answer to tools/list for a client without HTTP: it learns which headers the tools ask for.
type toolListReader struct {
	transport.Receiver
	r *Remote
}

// Receive passes the list on, after it has learned the headers.
func (l *toolListReader) Receive(f *transport.Frame) {
	// The tools of a list that is too large only lose their mirrored headers.
	if f.ReadAll(maxListed) == nil {
		l.r.learnMirrors(f.Head)
	}
	l.Receiver.Receive(f)
}
