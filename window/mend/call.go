package mend

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/window/wire"
)

// Lines at the head of a result, about its call.
const (
	cutShort = "[The arguments of this call were cut by the output limit; what was missing is not there. Call again with less at once.]"
	noJSON   = "[The arguments of this call were no JSON.]"
	tooLong  = "[The arguments of this call were longer than the provider takes; the rest of them is not there.]"
)

// shortened is the kind of what was closed because it was too long.
const shortened = "shortened"

// argument is the member that a text gets which is no object.
const argument = "arguments"

// call mends the name and the arguments of a call.
func (m *mending) call(i int, p *wire.Part) {
	m.name(i, p)
	switch d := m.rules.dialect; {
	case d.TextArguments != "":
		if p.Type == d.TextArguments {
			m.arguments(i, p)
		}
	case d.ObjectArguments != "" || !p.Raw.IsZero():
		m.input(i, p)
	}
}

// holder returns the object with the name and the arguments of a call; zero where there is none.
func (m *mending) holder(call *wire.Part) wire.Span {
	if member := m.rules.dialect.CallHolder; member != nil {
		return m.member(call.Span, member(call))
	}
	return call.Span
}

// arguments mends those that are a text with JSON in it.
func (m *mending) arguments(i int, p *wire.Part) {
	switch {
	case len(p.Texts) == 0 && (p.Raw.IsZero() || p.Raw == p.Span):
		if holder := m.holder(p); !holder.IsZero() {
			m.draft().SetMember(holder, "arguments", []byte(`"{}"`))
			m.did(Wrapped, i, p.CallID, 0)
		}
	case len(p.Texts) == 0:
		m.draft().Replace(p.Raw, wire.Quote(nil, m.r.Raw(p.Raw)))
		m.did(Wrapped, i, p.CallID, 0)
	default:
		lit := p.Texts[0]
		most := m.rules.argumentBytes
		if p.Sound && (most == 0 || lit.Len() <= most) {
			return
		}
		text := m.unquoted(lit)
		long := most > 0 && len(text) > most
		if !long && (p.Sound || len(text) == 0 && !m.rules.noEmptyInput) {
			return
		}
		object, kind := mended(text)
		if long {
			kind = shortened
			if object, _ = mended(cutText(text, most-64)); len(object) > most {
				object, _ = mended(cutText(text, most/8)) // no JSON, and longer when it is quoted
			}
		}
		m.draft().Replace(lit, wire.Quote(nil, object))
		m.tell(i, p, kind, lit.Len()-2-len(object))
	}
}

// input mends arguments that are an object.
func (m *mending) input(i int, p *wire.Part) {
	raw := m.r.Raw(p.Raw)
	switch {
	case p.Raw.IsZero() || string(raw) == "null":
		required, holder := m.rules.dialect.ObjectArguments, m.holder(p)
		switch {
		case required == "" || holder.IsZero():
			return
		case p.Raw.IsZero():
			m.draft().SetMember(holder, required, []byte("{}"))
		default:
			m.draft().Replace(p.Raw, []byte("{}"))
		}
		m.did(Wrapped, i, p.CallID, 0)
	case raw[0] == '{':
	case raw[0] == '"':
		object, kind := mended(m.unquoted(p.Raw))
		m.draft().Replace(p.Raw, slices.Clone(object))
		m.tell(i, p, kind, max(0, len(raw)-2-len(object)))
	default:
		m.draft().Replace(p.Raw, wrapped(raw))
		m.did(Wrapped, i, p.CallID, 0)
	}
}

// tell notes what was done to arguments, and what the model is to be told of it.
func (m *mending) tell(i int, p *wire.Part, kind string, bytes int) {
	line := noJSON
	switch kind {
	case Closed:
		line = cutShort
	case shortened:
		kind, line = Closed, tooLong
	case "":
		m.did(Wrapped, i, p.CallID, 0) // it is what was meant, in the right form
		return
	}
	m.did(kind, i, p.CallID, max(0, bytes))
	if m.notes == nil {
		m.notes = map[string]string{}
	}
	m.notes[noteKey(p)] = line
}

// noteKey names a call to its result. Calls of Gemini often have no ids.
func noteKey(p *wire.Part) string {
	if p.CallID != "" {
		return "#" + p.CallID
	}
	return p.Name
}

// note takes the line for a result, "" when there is none.
func (m *mending) note(p *wire.Part) string {
	if len(m.notes) == 0 {
		return ""
	}
	key := noteKey(p)
	if _, ok := m.notes[key]; !ok {
		key = p.Name // Gemini's results may have ids that no call has
	}
	line := m.notes[key]
	delete(m.notes, key)
	return line
}

// isJSON reports whether arguments are JSON. The type is not checked: a provider that wants an object can say so.
func isJSON(text []byte) bool { return len(text) > 0 && json.Valid(text) }

// Arguments returns a model's arguments of a call in a form that providers accept: closed where they only end too early. JSON is returned
// unchanged.
func Arguments(text string) string {
	if isJSON([]byte(text)) {
		return text
	}
	object, _ := mended([]byte(text))
	return string(object)
}

// mended returns arguments as an object: closed where they only end too early, in an object of their own where they are something else.
// kind is Closed or Wrapped where the text was no valid JSON, and "" otherwise, also where other valid JSON was wrapped.
func mended(text []byte) (object []byte, kind string) {
	text = bytes.TrimSpace(text)
	switch {
	case len(text) == 0 || string(text) == "null":
		return []byte("{}"), ""
	case json.Valid(text):
		if text[0] == '{' {
			return text, ""
		}
		return wrapped(text), ""
	}
	if object, ok := closed(text); ok {
		return object, Closed
	}
	return wrapped(wire.Quote(nil, text)), Wrapped
}

// wrapped puts JSON into an object.
func wrapped(raw []byte) []byte {
	out := make([]byte, 0, len(raw)+len(argument)+5)
	out = append(append(append(out, `{"`...), argument...), `":`...)
	return append(append(out, raw...), '}')
}

// name gives a call a name that its provider takes.
func (m *mending) name(i int, p *wire.Part) {
	u := &m.rules
	if u.nameBytes == 0 || p.Type == "local_shell_call" || u.dialect.NamedCalls != nil && !slices.Contains(u.dialect.NamedCalls, p.Type) || goodName(p.Name, u) {
		return
	}
	name := wire.Quote(nil, cleanName(p.Name, u))
	holder := m.holder(p)
	if holder.IsZero() {
		return
	}
	m.draft().SetMember(holder, "name", name)
	m.did(Renamed, i, p.CallID, 0)
}

func goodName(name string, u *rules) bool {
	if name == "" || len(name) > u.nameBytes {
		return false
	}
	for i := 0; u.plainName && i < len(name); i++ {
		if !plain(name[i]) {
			return false
		}
	}
	return true
}

func cleanName(name string, u *rules) string {
	if name == "" {
		return "unknown"
	}
	out := make([]byte, 0, min(len(name), u.nameBytes))
	for i := 0; i < len(name) && len(out) < u.nameBytes; i++ {
		c := name[i]
		if !plain(c) && (u.plainName || c >= 0x80) {
			c = '_'
		}
		out = append(out, c)
	}
	return string(out)
}

func plain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// member returns the span of the object that is a member of another one, or a zero span.
func (m *mending) member(object wire.Span, name string) wire.Span {
	v := rawjson.Get(m.r.Raw(object), name)
	if v.IsZero() || m.r.Body[object.Start+v.Start] != '{' {
		return wire.Span{}
	}
	return wire.Span{Start: object.Start + v.Start, End: object.Start + v.End}
}

// unquoted returns the text of a literal, in memory that the next call uses again where it had to be decoded.
func (m *mending) unquoted(lit wire.Span) []byte {
	raw := m.r.Raw(lit)
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	m.scratch = wire.Unquote(m.scratch[:0], raw)
	return m.scratch
}
