package gateway

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/result"
)

// Bounds of a list of tools. What a server lists beyond them is left for the client to request by the cursor.
const (
	// MaxListBytes bounds the pages of one listing held at once, in bytes.
	MaxListBytes = 4 << 20
	// MaxListPages bounds the pages that are asked for.
	MaxListPages = 128
	// MaxListTools bounds the tools that one listing shows and that are remembered.
	MaxListTools = 4096
	// maxSchema bounds an outputSchema that is read, in bytes; larger ones are not relaxed and nothing is held to them.
	maxSchema = 128 << 10
	// longDescription is the length at which the common clients cut a tool's description, in characters.
	longDescription = 2048
)

// listed is one tool of a server's list, with the bytes that the server wrote.
type listed struct {
	name string
	raw  []byte // within the page that it came on
}

// parseTools returns the tools and the next cursor ("" at the end) of one page of a list. A tool without a name has the name "".
func parseTools(result []byte) (tools []listed, next string, err error) {
	span := rawjson.Get(result, "tools")
	if span.IsZero() || result[span.Start] != '[' {
		return nil, "", fmt.Errorf("the server's answer to tools/list has no list of tools")
	}
	for v, err := range rawjson.Elements(result, span.Start) {
		if err != nil {
			return nil, "", fmt.Errorf("the server's list of tools is no JSON: %w", err)
		}
		raw := v.Of(result)
		name := ""
		if raw[0] == '{' {
			name, _ = rawjson.Text(raw, "name")
		}
		tools = append(tools, listed{name, raw})
	}
	next, _ = rawjson.Text(result, "nextCursor")
	return tools, next, nil
}

// toolsBefore returns the tools that are complete in the first part of an answer to tools/list, at most MaxListTools.
func toolsBefore(message []byte) (tools []listed) {
	s := rawjson.Scanner{Text: message}
	for _, container := range []string{`"result"`, `"tools"`} {
		s.Begin('{', "an object is missing")
		for s.Err == nil {
			if !s.More('}') {
				return nil
			}
			if name := s.Name(); s.Err == nil && string(name.Of(message)) == container {
				break
			}
			s.Skip()
		}
	}
	if s.Err != nil {
		return nil
	}
	for v, err := range rawjson.Elements(message, s.At) {
		if err != nil || len(tools) == MaxListTools {
			break
		}
		raw := v.Of(message)
		if raw[0] == '{' {
			name, _ := rawjson.Text(raw, "name")
			tools = append(tools, listed{name, raw})
		}
	}
	return tools
}

// clientList is the list of tools that the client is sent, with figures for the event.
type clientList struct {
	array  []byte // a raw JSON array
	shown  int    // tools of the server in it
	hidden int    // tools that may not be used
	long   int    // descriptions that clients will cut
	// deferred are tools that may be used and are not in it; see [Definitions].
	deferred int
}

// editList makes the client's list of tools: first those of the server that may be used and are in whole (all if whole is nil), in the server's
// order and without Settings.Unlisted, and then added. If results may be paged, the output schemas are changed so that a page is valid. Every
// other tool keeps its bytes, and with plain all do.
func editList(tools []listed, s *Settings, added [][]byte, plain bool, whole map[string]bool) clientList {
	var e clientList
	size := 2
	for _, t := range tools {
		size += len(t.raw) + 1
	}
	e.array = append(make([]byte, 0, size+2048), '[')
	for _, t := range tools {
		if s.forbids(t) {
			e.hidden++
			continue
		}
		if slices.Contains(s.Unlisted, t.name) {
			continue
		}
		if whole != nil && !whole[t.name] {
			e.deferred++
			continue
		}
		if e.shown++; e.shown > 1 {
			e.array = append(e.array, ',')
		}
		if d, ok := rawjson.Text(t.raw, "description"); ok && utf8.RuneCountInString(d) > longDescription {
			e.long++
		}
		if plain {
			e.array = append(e.array, t.raw...)
			continue
		}
		e.array = append(e.array, editTool(t, s)...)
	}
	for i, raw := range added {
		if i > 0 || e.shown > 0 {
			e.array = append(e.array, ',')
		}
		e.array = append(e.array, raw...)
	}
	e.array = append(e.array, ']')
	return e
}

// forbids reports whether the settings forbid a tool.
func (s *Settings) forbids(t listed) bool {
	return s.restrictsTools() && (t.name == "" || !s.allows(t.name) || s.ReadOnly && !declaresReadOnly(t.raw))
}

// editTool returns the raw tool, with an outputSchema that a page of its result satisfies, or without any if there is no such schema. If the tool
// cannot be edited it is returned unchanged.
func editTool(t listed, s *Settings) []byte {
	raw := t.raw
	if len(raw) == 0 || raw[0] != '{' {
		return raw
	}
	l := s.limitsOf(t.name)
	if span := rawjson.Get(raw, "outputSchema"); !span.IsZero() && l.paged() {
		var out []byte
		var err error
		if schema := contractOf(span.Of(raw), l); schema == nil {
			out, err = rawjson.Remove(raw, "outputSchema")
		} else if !bytes.Equal(schema.text, span.Of(raw)) {
			out, err = rawjson.Set(raw, "outputSchema", schema.text)
		}
		if out != nil && err == nil {
			raw = out
		}
	}
	return raw
}

// paged reports whether a result under these limits may be paged. The defaults are already filled in.
func (l Limits) paged() bool { return l.Cap >= 0 || l.MaxItems > 0 }

// declaresReadOnly reports whether a tool's definition says that it changes nothing (annotations.readOnlyHint).
func declaresReadOnly(tool []byte) bool {
	v := rawjson.Get(tool, "annotations", "readOnlyHint")
	return !v.IsZero() && string(v.Of(tool)) == "true"
}

// toolTraits holds the properties of a listed tool that its calls need.
type toolTraits struct {
	readOnly bool
	schema   []byte // outputSchema, when clients are told one
}

// traitsOf returns, by name, what calls need to know of the listed tools, at most MaxListTools.
func traitsOf(tools []listed, s *Settings) map[string]toolTraits {
	traits := make(map[string]toolTraits, min(len(tools), MaxListTools))
	for _, t := range tools {
		if t.name == "" || len(traits) == MaxListTools {
			continue
		}
		l := s.limitsOf(t.name)
		v := toolTraits{readOnly: declaresReadOnly(t.raw)}
		if span := rawjson.Get(t.raw, "outputSchema"); !span.IsZero() && l.paged() {
			v.schema = bytes.Clone(span.Of(t.raw))
		}
		traits[strings.Clone(t.name)] = v
	}
	return traits
}

// listResponse returns response, the server's answer with the first page, with the list of tools array and this cursor; "" removes the cursor. at
// is the span of the result in response. With modern, the members that MCP 2026-07-28 requires are added.
func listResponse(response []byte, at rawjson.Span, array []byte, cursor string, modern bool) ([]byte, error) {
	body, err := rawjson.Set(at.Of(response), "tools", array)
	if err != nil {
		return nil, err
	}
	if cursor == "" {
		body, err = rawjson.Remove(body, "nextCursor")
	} else {
		body, err = rawjson.Set(body, "nextCursor", rawjson.Quote(nil, cursor))
	}
	for _, m := range modernMembers {
		if err == nil && modern && rawjson.Get(body, m.key).IsZero() {
			body, err = rawjson.Set(body, m.key, []byte(m.value))
		}
	}
	if err != nil {
		return nil, err
	}
	return rawjson.Splice(response, []rawjson.Edit{{Span: at, With: body}})
}

// modernMembers are the members that a list must have since MCP 2026-07-28, with the values for a
// server that gave none: nothing may be cached.
var modernMembers = []struct{ key, value string }{
	{"resultType", `"complete"`}, {"ttlMs", "0"}, {"cacheScope", `"private"`},
}

// emptyList returns the result of tools/list when a server has no tools at all.
func emptyList(n result.Names, modern bool) []byte {
	b := append([]byte(`{"tools":[`), bytes.Join(addedTools(n), []byte{','})...)
	b = append(b, ']')
	if modern {
		b = append(b, `,"resultType":"complete","ttlMs":3600000,"cacheScope":"public"`...)
	}
	return append(b, '}')
}
