package gateway

import (
	"bytes"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/tools/mcp/transport"
)

// Many servers say everything twice: as text, and again as structuredContent, for clients
// that know the tool's outputSchema. Where schemas are taken out of the list of tools
// nobody needs the second; a text that fits must not be paged because of its twin.

// withoutTwin takes structuredContent out of a result that is within cap without it and
// over it with it, when it says the same as the only text. Every other frame stays as it is,
// and so does one that is not whole in memory: nothing waits for the rest of it here.
func withoutTwin(f *transport.Frame, most int64) {
	if most <= 0 || !f.Whole() {
		return
	}
	frame := f.Head
	result := rawjson.Get(frame, "result")
	if int64(len(frame)) <= most || result.IsZero() || frame[result.Start] != '{' {
		return
	}
	raw := result.Of(frame)
	twin, content := rawjson.Get(raw, "structuredContent"), rawjson.Get(raw, "content")
	if twin.IsZero() || content.IsZero() || raw[content.Start] != '[' {
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
	if !ok || int64(len(text)) > most || int64(len(text)+twin.Len()) <= most || !says(twin.Of(raw), text) {
		return
	}
	out, err := rawjson.Remove(raw, "structuredContent")
	if err != nil {
		return
	}
	if frame, err = rawjson.Splice(frame, []rawjson.Edit{{Span: result, With: out}}); err == nil {
		f.Head = frame
	}
}

// says tells that a value is the text, or the JSON that the text is, or an object with one
// member that is.
func says(value []byte, text string) bool {
	if is(value, text) {
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
		same = is(m.Value.Of(value), text)
	}
	return same
}

func is(value []byte, text string) bool {
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
