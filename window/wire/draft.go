package wire

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Draft gathers edits of one request. Messages and parts are named by their indices in that request, however many edits came before:
// nothing shifts. An edit inside something that is dropped or replaced as a whole has no effect. A wrong index is reported by Build.
//
// Dropping the last part of a message drops the message, and so does dropping all but its reasoning: no provider takes reasoning that led
// to nothing.
type Draft struct {
	r        *Request
	err      error
	edits    []Edit           // of values, in the order of the calls
	added    map[addition]int // index in edits of the edit that adds a member
	drops    map[int]bool
	inserts  map[int][][]byte
	messages map[int]*amendment
}

// amendment gathers the edits of the parts of one message.
type amendment struct {
	drops   map[int]bool
	inserts []insertion // in the order of the calls
	instead []byte      // an element in place of a content that is one string
}

type insertion struct {
	at  int
	raw []byte
}

// Draft returns a draft of edits of r.
func (r *Request) Draft() *Draft { return &Draft{r: r} }

// failf makes an error that [Draft.Build] returns, unless there is one.
func (d *Draft) failf(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("wire: "+format, args...)
	}
}

// DropMessages drops the messages [from,to).
func (d *Draft) DropMessages(from, to int) {
	if from < 0 || to < from || to > len(d.r.Messages) {
		d.failf("drop messages [%d,%d) of %d", from, to, len(d.r.Messages))
		return
	}
	if d.drops == nil {
		d.drops = map[int]bool{}
	}
	for i := from; i < to; i++ {
		d.drops[i] = true
	}
}

// InsertMessages inserts elements, each in the dialect's own JSON, before a message;
// len(Messages) appends. Several calls for one place insert in their order.
func (d *Draft) InsertMessages(before int, raw ...[]byte) {
	if before < 0 || before > len(d.r.Messages) {
		d.failf("insert before message %d of %d", before, len(d.r.Messages))
		return
	}
	for _, e := range raw {
		d.check(e)
	}
	if len(raw) == 0 {
		return
	}
	if d.inserts == nil {
		d.inserts = map[int][][]byte{}
	}
	d.inserts[before] = append(d.inserts[before], raw...)
}

// ReplaceMessages puts elements in place of the messages [from,to).
func (d *Draft) ReplaceMessages(from, to int, raw ...[]byte) {
	d.DropMessages(from, to)
	d.InsertMessages(from, raw...)
}

// ReplaceMessage puts an element in place of one message. In an array of messages Build then reads only that one again.
func (d *Draft) ReplaceMessage(msg int, raw []byte) {
	if msg < 0 || msg >= len(d.r.Messages) || d.r.Body[d.r.List.Start] != '[' {
		d.ReplaceMessages(msg, msg+1, raw)
		return
	}
	d.check(raw)
	d.set(d.r.Messages[msg].Span, raw)
}

// check makes an error unless raw is JSON.
func (d *Draft) check(raw []byte) {
	if !json.Valid(raw) {
		d.failf("an inserted element of %d bytes is not JSON", len(raw))
	}
}

// part returns a part. For a wrong index it returns nil, and Build will report it.
func (d *Draft) part(msg, part int) *Part {
	if msg < 0 || msg >= len(d.r.Messages) || part < 0 || part >= len(d.r.Messages[msg].Parts) {
		d.failf("no part %d in message %d of %d", part, msg, len(d.r.Messages))
		return nil
	}
	return &d.r.Messages[msg].Parts[part]
}

// amendment returns the changes of a message's parts, to add to. It is never nil: for the first change of a message an empty one is made.
func (d *Draft) amendment(msg int) *amendment {
	if d.messages == nil {
		d.messages = map[int]*amendment{}
	}
	a := d.messages[msg]
	if a == nil {
		a = &amendment{drops: map[int]bool{}}
		d.messages[msg] = a
	}
	return a
}

func (d *Draft) set(at Span, with []byte) { d.edits = append(d.edits, Edit{Span: at, With: with}) }

// DropPart drops one part, and the message if that is itself the part.
func (d *Draft) DropPart(msg, part int) {
	switch p := d.part(msg, part); {
	case p == nil:
	case p.place == placeWhole:
		d.DropMessages(msg, msg+1)
	default:
		d.amendment(msg).drops[part] = true
	}
}

// InsertPart inserts an element before a part; len(Parts) appends. In a Chat message an element of type "function" or "custom" goes into
// tool_calls, any other into the content, which becomes an array if it was a string. It is an error for a message that is itself the part
// (a Chat tool message, a Responses item).
func (d *Draft) InsertPart(msg, at int, raw []byte) {
	if msg < 0 || msg >= len(d.r.Messages) || at < 0 || at > len(d.r.Messages[msg].Parts) {
		d.failf("insert before part %d in message %d of %d", at, msg, len(d.r.Messages))
		return
	}
	if parts := d.r.Messages[msg].Parts; len(parts) > 0 && parts[0].place == placeWhole {
		d.failf("message %d has no parts to insert between", msg)
		return
	}
	d.check(raw)
	a := d.amendment(msg)
	a.inserts = append(a.inserts, insertion{at, raw})
}

// ReplacePart puts an element in place of a part; a part that is dropped too stays dropped. A content that is one string becomes an array
// of that element; where the message is itself the part, the element replaces the message.
func (d *Draft) ReplacePart(msg, part int, raw []byte) {
	p := d.part(msg, part)
	if p == nil {
		return
	}
	d.check(raw)
	if p.place == placePlain {
		d.amendment(msg).instead = raw
		return
	}
	d.set(p.Span, raw)
}

// ReplaceText replaces one of the Texts of a part.
func (d *Draft) ReplaceText(msg, part, text int, with string) {
	p := d.part(msg, part)
	if p == nil {
		return
	}
	if text < 0 || text >= len(p.Texts) {
		d.failf("no text %d in part %d of message %d", text, part, msg)
		return
	}
	d.set(p.Texts[text], Quote(nil, with))
}

// TakesText reports whether the whole content of a result may be replaced by one text. It may not
// if the result's type has no form for text: a computer's screen, a search for tools, items of
// unknown type.
func (r *Request) TakesText(p *Part) bool {
	return p.Kind == Result && r.Dialect.Rules().takesText(p)
}

// ReplaceResult replaces everything in a result, blocks and media too, by one text. It returns false, and does nothing, if [Request.TakesText] is
// false; and for a wrong index, which Build will report.
func (d *Draft) ReplaceResult(msg, part int, with string) bool {
	p := d.part(msg, part)
	if p == nil || !d.r.TakesText(p) {
		return false
	}
	name, lit := d.r.Dialect.Rules().putResult(d, p, Quote(nil, with))
	if p.Content.IsZero() {
		d.setMember(d.resultHolder(p), name, lit)
		return true
	}
	d.set(p.Content, lit)
	return true
}

// ReplaceCallID gives a call or result another id. It is an error if it has none.
func (d *Draft) ReplaceCallID(msg, part int, id string) {
	p := d.part(msg, part)
	if p == nil {
		return
	}
	if p.IDSpan.IsZero() {
		d.failf("part %d of message %d has no id", part, msg)
		return
	}
	d.set(p.IDSpan, Quote(nil, id))
}

// SetMaxOutput changes the requested output, in tokens, to n, which must be above 0. It is an error for a request without one: see
// [Request.MaxOutputSpan].
func (d *Draft) SetMaxOutput(n int) {
	if d.r.MaxOutputSpan.IsZero() || n <= 0 {
		d.failf("the requested output cannot be set to %d: it is absent, or must stay above 0", n)
		return
	}
	d.set(d.r.MaxOutputSpan, fmt.Append(nil, n))
}

// join returns the three pieces joined.
func join(before string, raw []byte, after string) []byte {
	out := make([]byte, 0, len(before)+len(raw)+len(after))
	return append(append(append(out, before...), raw...), after...)
}

// resultHolder returns the span of the object that has the content of a result: the part itself, or in some dialects a member of it.
func (d *Draft) resultHolder(p *Part) Span {
	if name := d.r.Dialect.Rules().resultHolder; name != "" {
		for _, m := range membersOf(d.r.Body, p.Span) {
			if m.name == name {
				return m.value
			}
		}
	}
	return p.Span
}

// Replace puts other JSON in place of the value in a span of the body: a literal, an object, an element of an array. With an empty with it
// removes the bytes; the caller sees to it that the rest is JSON. Inside a part or message that is dropped or replaced it has no effect.
func (d *Draft) Replace(at Span, with []byte) {
	if at.Start < 0 || at.End < at.Start || at.End > len(d.r.Body) {
		d.failf("replace bytes [%d,%d) of %d", at.Start, at.End, len(d.r.Body))
		return
	}
	if len(with) > 0 {
		d.check(with)
	}
	d.set(at, with)
}

// SetMember sets a member of the object in a span to a value, or adds it behind the others.
func (d *Draft) SetMember(object Span, name string, value []byte) {
	d.check(value)
	d.setMember(object, name, value)
}

// DropMark removes the cache mark with that index in [Request.Marks].
func (d *Draft) DropMark(n int) {
	if n < 0 || n >= len(d.r.Marks) {
		d.failf("no mark %d of %d", n, len(d.r.Marks))
		return
	}
	d.set(d.r.Marks[n], nil)
}

// Excerpt returns a new body of the same dialect with the messages at the given indices, which must exist, and nothing else. A Responses input that
// is a string becomes a message.
func (r *Request) Excerpt(messages []int) []byte {
	size := 32
	for _, i := range messages {
		size += r.Messages[i].Span.Len() + 1
	}
	out := slices.Grow([]byte(nil), size)
	out = append(append(append(out, `{"`...), r.Dialect.Rules().list...), `":[`...)
	for n, i := range messages {
		if n > 0 {
			out = append(out, ',')
		}
		raw := r.Raw(r.Messages[i].Span)
		if len(raw) > 0 && raw[0] == '"' {
			raw = TextMessage(r.Dialect, RoleUser, string(Unquote(nil, raw)))
		}
		out = append(out, raw...)
	}
	return append(out, `]}`...)
}

// EmptyCalls reports whether a Chat message has an empty tool_calls array, which the provider
// refuses.
func (m *Message) EmptyCalls() bool {
	if m.calls.IsZero() {
		return false
	}
	for i := range m.Parts {
		if m.Parts[i].place == placeCall {
			return false
		}
	}
	return true
}

// DropEmptyCalls removes an empty tool_calls array from a message. It returns false, and does nothing, when there is none.
func (d *Draft) DropEmptyCalls(msg int) bool {
	if msg < 0 || msg >= len(d.r.Messages) {
		d.failf("no message %d of %d", msg, len(d.r.Messages))
		return false
	}
	m := &d.r.Messages[msg]
	if !m.EmptyCalls() {
		return false
	}
	all := membersOf(d.r.Body, m.Span)
	for i := range all {
		if all[i].value != m.calls {
			continue
		}
		switch {
		case i+1 < len(all): // with the comma behind it
			d.set(Span{Start: all[i].span.Start, End: all[i+1].span.Start}, nil)
		case i > 0:
			d.set(Span{Start: all[i-1].span.End, End: all[i].span.End}, nil)
		default:
			d.set(all[i].span, nil)
		}
		return true
	}
	return false
}
