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

// shortened is the kind that tell takes for arguments that were cut because they were too long.
const shortened = "shortened"

// argument is the name of the member into which arguments go that are not an object.
const argument = "arguments"

// mendCall changes the name and the arguments of a call in message i where the provider would refuse them.
func (m *mending) mendCall(i int, p *wire.Part) {
	m.mendName(i, p)
	switch d := m.rules.dialect; {
	case d.TextArguments != "":
		if p.Type == d.TextArguments {
			m.mendArguments(i, p)
		}
	case d.ObjectArguments != "" || !p.Raw.IsZero():
		m.mendInput(i, p)
	}
}

// callObject returns the span of the JSON object with the name and the arguments of a call; zero if there is none.
func (m *mending) callObject(call *wire.Part) wire.Span {
	if member := m.rules.dialect.CallHolder; member != nil {
		return m.memberObject(call.Span, member(call))
	}
	return call.Span
}

// mendArguments changes the arguments of a call, which it has as JSON in a string, into valid JSON, no longer than the provider accepts.
func (m *mending) mendArguments(i int, p *wire.Part) {
	switch {
	case len(p.Texts) == 0 && (p.Raw.IsZero() || p.Raw == p.Span):
		if holder := m.callObject(p); !holder.IsZero() {
			m.draft().SetMember(holder, "arguments", []byte(`"{}"`))
			m.addAction(Wrapped, i, p.CallID, 0)
		}
	case len(p.Texts) == 0:
		m.draft().Replace(p.Raw, wire.Quote(nil, m.r.Raw(p.Raw)))
		m.addAction(Wrapped, i, p.CallID, 0)
	default:
		lit := p.Texts[0]
		most := m.rules.argumentBytes
		if p.Sound && (most == 0 || lit.Len() <= most) && !m.rules.objectInput {
			return
		}
		text := m.unquoted(lit)
		long := most > 0 && len(text) > most
		sound := p.Sound && (!m.rules.objectInput || bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")))
		if !long && (sound || len(text) == 0 && !m.rules.noEmptyInput) {
			return
		}
		object, kind := asObject(text)
		if long {
			kind = shortened
			if object, _ = asObject(cutText(text, most-64)); len(object) > most {
				object, _ = asObject(cutText(text, most/8)) // no JSON, and longer when it is quoted
			}
		}
		m.draft().Replace(lit, wire.Quote(nil, object))
		m.noteChange(i, p, kind, lit.Len()-2-len(object))
	}
}

// mendInput changes the arguments of a call, which it has as a JSON object, where the provider would refuse them.
func (m *mending) mendInput(i int, p *wire.Part) {
	raw := m.r.Raw(p.Raw)
	switch {
	case p.Raw.IsZero() || string(raw) == "null":
		required, holder := m.rules.dialect.ObjectArguments, m.callObject(p)
		switch {
		case required == "" || holder.IsZero():
			return
		case p.Raw.IsZero():
			m.draft().SetMember(holder, required, []byte("{}"))
		default:
			m.draft().Replace(p.Raw, []byte("{}"))
		}
		m.addAction(Wrapped, i, p.CallID, 0)
	case raw[0] == '{':
	case raw[0] == '"':
		object, kind := asObject(m.unquoted(p.Raw))
		m.draft().Replace(p.Raw, slices.Clone(object))
		m.noteChange(i, p, kind, max(0, len(raw)-2-len(object)))
	default:
		m.draft().Replace(p.Raw, wrapInObject(raw))
		m.addAction(Wrapped, i, p.CallID, 0)
	}
}

// noteChange records that the arguments of a call were changed and lost that many bytes. Unless kind is "", which means that they mean the
// same as before, it stores a line that tells the model, for the call's result.
func (m *mending) noteChange(i int, p *wire.Part, kind string, bytes int) {
	line := noJSON
	switch kind {
	case Closed:
		line = cutShort
	case shortened:
		kind, line = Closed, tooLong
	case "":
		m.addAction(Wrapped, i, p.CallID, 0) // it is what was meant, in the right form
		return
	}
	m.addAction(kind, i, p.CallID, max(0, bytes))
	if m.notes == nil {
		m.notes = map[string]string{}
	}
	m.notes[noteKey(p)] = line
}

// noteKey returns the key in notes for a call or its result: the id, or, as often in Gemini, the name if there is none.
func noteKey(p *wire.Part) string {
	if p.CallID != "" {
		return "#" + p.CallID
	}
	return p.Name
}

// takeNote removes and returns the line to put into the result p because its call was changed, "" if there is none.
func (m *mending) takeNote(p *wire.Part) string {
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

// isJSON reports whether arguments are valid JSON of any type: a provider that wants an object can say so.
func isJSON(text []byte) bool { return len(text) > 0 && json.Valid(text) }

// Arguments returns a model's arguments of a call in a form that providers accept: JSON unchanged, JSON that ends too early closed, and any
// other text wrapped in an object.
func Arguments(text string) string {
	if isJSON([]byte(text)) {
		return text
	}
	object, _ := asObject([]byte(text))
	return string(object)
}

// asObject returns arguments as a JSON object: closed if they only end too early, wrapped in an object if they are anything else; {} for an empty
// text and null. kind is Closed or Wrapped if another text was not valid JSON; else "", even if other valid JSON was wrapped.
func asObject(text []byte) (object []byte, kind string) {
	text = bytes.TrimSpace(text)
	switch {
	case len(text) == 0 || string(text) == "null":
		return []byte("{}"), ""
	case json.Valid(text):
		if text[0] == '{' {
			return text, ""
		}
		return wrapInObject(text), ""
	}
	if object, ok := closeObject(text); ok {
		return object, Closed
	}
	return wrapInObject(wire.Quote(nil, text)), Wrapped
}

// wrapInObject returns a JSON object with the JSON value raw as its one member.
func wrapInObject(raw []byte) []byte {
	out := make([]byte, 0, len(raw)+len(argument)+5)
	out = append(append(append(out, `{"`...), argument...), `":`...)
	return append(append(out, raw...), '}')
}

// mendName replaces the name of a call that its provider would refuse.
func (m *mending) mendName(i int, p *wire.Part) {
	u := &m.rules
	if u.nameBytes == 0 || p.Type == "local_shell_call" || u.dialect.NamedCalls != nil && !slices.Contains(u.dialect.NamedCalls, p.Type) || isGoodName(p.Name, u) {
		return
	}
	name := wire.Quote(nil, cleanName(p.Name, u))
	holder := m.callObject(p)
	if holder.IsZero() {
		return
	}
	m.draft().SetMember(holder, "name", name)
	m.addAction(Renamed, i, p.CallID, 0)
}

// isGoodName reports whether the provider accepts the name of a tool.
func isGoodName(name string, u *rules) bool {
	if name == "" || len(name) > u.nameBytes {
		return false
	}
	for i := 0; u.plainName && i < len(name); i++ {
		if !isNameByte(name[i]) {
			return false
		}
	}
	return true
}

// cleanName returns a name that the provider accepts, similar to the tool's; "unknown" for "".
func cleanName(name string, u *rules) string {
	if name == "" {
		return "unknown"
	}
	out := make([]byte, 0, min(len(name), u.nameBytes))
	for i := 0; i < len(name) && len(out) < u.nameBytes; i++ {
		c := name[i]
		if !isNameByte(c) && (u.plainName || c >= 0x80) {
			c = '_'
		}
		out = append(out, c)
	}
	return string(out)
}

// isNameByte reports whether c is an ASCII letter, a digit, '_' or '-'.
func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// memberObject returns the span of an object's member of that name; zero if there is none or its value is not an object.
func (m *mending) memberObject(object wire.Span, name string) wire.Span {
	v := rawjson.Get(m.r.Raw(object), name)
	if v.IsZero() || m.r.Body[object.Start+v.Start] != '{' {
		return wire.Span{}
	}
	return wire.Span{Start: object.Start + v.Start, End: object.Start + v.End}
}

// unquoted returns the text of a JSON string literal, valid until the next call.
func (m *mending) unquoted(lit wire.Span) []byte {
	raw := m.r.Raw(lit)
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	m.scratch = wire.Unquote(m.scratch[:0], raw)
	return m.scratch
}

// A list is an array of blocks in the body, such as the content of a result or the system prompt, with edits that are not made yet.
type list struct {
	m     *mending
	span  wire.Span
	at    []wire.Span // the elements
	with  map[int][]byte
	gone  map[int]bool
	first []byte // an element to insert in front of the others
}

// listOf parses the array in a span into a list without edits.
func (m *mending) listOf(span wire.Span) *list {
	l := &list{m: m, span: span}
	for v, err := range rawjson.Elements(m.r.Body[:span.End], span.Start) {
		if err != nil {
			break // Parse has been through it
		}
		l.at = append(l.at, v)
	}
	return l
}

// dropElement plans to remove element i.
func (l *list) dropElement(i int) {
	if l.gone == nil {
		l.gone = map[int]bool{}
	}
	l.gone[i] = true
}

// replaceElement plans to replace element i by a JSON value.
func (l *list) replaceElement(i int, with []byte) {
	if l.with == nil {
		l.with = map[int][]byte{}
	}
	l.with[i] = with
}

// remaining returns the number of elements that are not removed.
func (l *list) remaining() int { return len(l.at) - len(l.gone) }

// applyEdits adds the planned edits to the draft: of single elements if their number stays, else of the whole array.
func (l *list) applyEdits() {
	if len(l.gone) == 0 && l.first == nil {
		for i, with := range l.with {
			l.m.draft().Replace(l.at[i], with)
		}
		return
	}
	out := append(make([]byte, 0, l.span.Len()), '[')
	add := func(raw []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, raw...)
	}
	if l.first != nil {
		add(l.first)
	}
	for i, at := range l.at {
		switch with := l.with[i]; {
		case l.gone[i]:
		case with != nil:
			add(with)
		default:
			add(l.m.r.Raw(at))
		}
	}
	l.m.draft().Replace(l.span, append(out, ']'))
}

// maxDeclared bounds the tools that are declared for the calls of a history.
const maxDeclared = 128

// declareTools declares the tools of earlier calls, by their names alone, if the provider demands that and the request declares none.
func (m *mending) declareTools() {
	declare := m.rules.dialect.NamedTools
	if !m.o.NeedTools || declare == nil || len(m.r.Tools) > 0 {
		return
	}
	var names []string
	for i := range m.r.Messages {
		for j := range m.r.Messages[i].Parts {
			p := &m.r.Messages[i].Parts[j]
			if p.Kind == wire.Call && p.Name != "" && len(names) < maxDeclared && !slices.Contains(names, p.Name) {
				names = append(names, p.Name)
			}
		}
	}
	if len(names) == 0 {
		return
	}
	whole, err := rawjson.Only(m.r.Body)
	if err != nil {
		return
	}
	for _, member := range declare(names) {
		m.draft().SetMember(whole, member.Name, member.Value)
	}
	m.addAction(Declared, -1, "", 0)
}
