package gateway

import (
	"bytes"
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/internal/tools/result"
	"github.com/plimsoll/plimsoll/limit"
)

// Many servers send the same content twice: as text, and again as structuredContent for clients that know the tool's
// outputSchema. A text that fits must not be paged because of its copy. Where clients were told no schema, none needs
// the copy and it is taken out; else both pass as they are, and count once: clients give a model one of the two.

// textBound returns the bound for the text of the frame f, so that a result that is there twice, as text and as structuredContent, counts once.
// If clients were given no schema, it removes the copy from f. Otherwise, if only both together exceed o.MaxText, the bound is their sum.
func (c *call) textBound(f *transport.Frame, o result.Options) limit.Bytes {
	if c.known != nil && o.Contract == nil {
		dropDuplicateContent(f, int64(o.MaxText))
	} else if _, both := duplicateContent(f, int64(o.MaxText)); both > 0 {
		return limit.Bytes(both)
	}
	return o.MaxText
}

// dropDuplicateContent removes structuredContent from a result that exceeds maxBytes only because of it, if it repeats the only text block. Any
// other frame stays unchanged, and so does one that is not complete in memory: this function does not wait for the rest.
func dropDuplicateContent(f *transport.Frame, maxBytes int64) {
	result, both := duplicateContent(f, maxBytes)
	if both == 0 {
		return
	}
	out, err := rawjson.Remove(result.Of(f.Head), "structuredContent")
	if err != nil {
		return
	}
	if frame, err := rawjson.Splice(f.Head, []rawjson.Edit{{Span: result, With: out}}); err == nil {
		f.Head = frame
	}
}

// duplicateContent returns the span of the result in a frame that exceeds maxBytes only because its structuredContent repeats its text, and
// the size of both in bytes; both is 0 for any other frame.
func duplicateContent(f *transport.Frame, maxBytes int64) (result rawjson.Span, both int64) {
	if maxBytes <= 0 || !f.Whole() {
		return
	}
	frame := f.Head
	result = rawjson.Get(frame, "result")
	if int64(len(frame)) <= maxBytes || result.IsZero() || frame[result.Start] != '{' {
		return
	}
	raw := result.Of(frame)
	structured, content := rawjson.Get(raw, "structuredContent"), rawjson.Get(raw, "content")
	if structured.IsZero() || content.IsZero() || raw[content.Start] != '[' {
		return
	}
	var block []byte
	for v, err := range rawjson.Elements(raw, content.Start) {
		if err != nil || block != nil {
			return // several blocks are not one text
		}
		block = v.Of(raw)
	}
	if len(block) == 0 || block[0] != '{' {
		return
	}
	text, ok := rawjson.Text(block, "text")
	if n := int64(len(text) + structured.Len()); ok && int64(len(text)) <= maxBytes && n > maxBytes && sameContent(structured.Of(raw), text) {
		both = n
	}
	return result, both
}

// sameContent reports whether value is the text itself, the JSON in the text, or an object whose only member is one of these.
func sameContent(value []byte, text string) bool {
	if sameValue(value, text) {
		return true
	}
	if value[0] != '{' {
		return false
	}
	n, same := 0, false
	for m, err := range rawjson.Members(value, 0) {
		if n++; err != nil || n > 1 {
			return false
		}
		same = sameValue(m.Value.Of(value), text)
	}
	return same
}

// sameValue reports whether value is a JSON string with this text, or equals the JSON in the text.
func sameValue(value []byte, text string) bool {
	if value[0] == '"' {
		return string(rawjson.Unquote(nil, value)) == text
	}
	if _, err := rawjson.Only([]byte(text)); err != nil {
		return false
	}
	a, ok := canonical(nil, value, 0)
	b, fine := canonical(nil, []byte(text), 0)
	return ok && fine && bytes.Equal(a, b)
}

// maxComparedDepth bounds the nesting of values that are compared; a value nested deeper is equal to nothing.
const maxComparedDepth = 64

// canonical appends the canonical form of a raw JSON value: no white space, members sorted by name. ok is false for invalid JSON, for
// nesting beyond maxComparedDepth, and for an object with two members of one name, which decoders understand differently.
func canonical(dst, raw []byte, depth int) ([]byte, bool) {
	raw = bytes.TrimSpace(raw)
	if depth > maxComparedDepth || len(raw) == 0 {
		return dst, false
	}
	switch raw[0] {
	case '"':
		return rawjson.Quote(dst, rawjson.Unquote(nil, raw)), true
	case '[':
		dst = append(dst, '[')
		for v, err := range rawjson.Elements(raw, 0) {
			if err != nil {
				return dst, false
			}
			var ok bool
			if dst, ok = canonical(dst, v.Of(raw), depth+1); !ok {
				return dst, false
			}
			dst = append(dst, ',')
		}
		return append(dst, ']'), true
	case '{':
		return canonicalObject(dst, raw, depth)
	}
	return append(dst, raw...), true
}

// canonicalObject works like canonical, for an object.
func canonicalObject(dst, raw []byte, depth int) ([]byte, bool) {
	type member struct {
		key   string
		value []byte
	}
	var members []member
	for m, err := range rawjson.Members(raw, 0) {
		if err != nil {
			return dst, false
		}
		members = append(members, member{string(m.Key), m.Value.Of(raw)})
	}
	sorting.By(members, func(a, b member) int { return strings.Compare(a.key, b.key) })
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 && members[i-1].key == m.key {
			return dst, false
		}
		dst = append(rawjson.Quote(dst, m.key), ':')
		var ok bool
		if dst, ok = canonical(dst, m.value, depth+1); !ok {
			return dst, false
		}
		dst = append(dst, ',')
	}
	return append(dst, '}'), true
}
