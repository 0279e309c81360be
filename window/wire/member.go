package wire

import (
	"bytes"
	"slices"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// member is one member of an object.
type member struct {
	name  string
	span  Span // key and value
	value Span
}

// membersOf returns the members of the object in a span of a body that was parsed; nil if it is not an object.
func membersOf(body []byte, object Span) (all []member) {
	s := scanner{Scanner: rawjson.Scanner{Text: body[:object.End], At: object.Start}}
	if !s.Begin('{', "not an object") {
		return nil
	}
	for s.More('}') {
		s.Peek()
		at := s.At
		name := string(s.readKey())
		value := s.Skip()
		all = append(all, member{name, Span{Start: at, End: s.At}, value})
	}
	if s.Err != nil {
		return nil
	}
	return all
}

// editMembers removes the members named gone from an object, and appends others.
func (b *builder) editMembers(object Span, gone []string, added [][]byte) {
	all := membersOf(b.r.Body, object)
	spans := make([]Span, len(all))
	for i, m := range all {
		spans[i] = m.span
	}
	b.arrange(object, spans,
		func(i int) bool { return !slices.Contains(gone, all[i].name) },
		func(i int) [][]byte {
			if i < len(all) {
				return nil
			}
			return added
		})
}

// dropResponseParts drops the media of a functionResponse, which are in a member beside its response; not if there is no other member.
func (d *Draft) dropResponseParts(p *Part) {
	if len(p.Media) == 0 {
		return
	}
	for _, f := range membersOf(d.r.Body, p.Span) {
		if f.name != "functionResponse" && f.name != "function_response" {
			continue
		}
		all := membersOf(d.r.Body, f.value)
		for i, m := range all {
			switch {
			case m.name != "parts":
			case i > 0:
				d.set(Span{Start: all[i-1].span.End, End: m.span.End}, nil)
			case len(all) > 1:
				d.set(Span{Start: m.span.Start, End: all[1].span.Start}, nil)
			}
		}
	}
}

// setMember sets a member of an object to a value, or appends it. A second call for a member replaces the value of the first.
func (d *Draft) setMember(object Span, name string, value []byte) {
	all := membersOf(d.r.Body, object)
	for _, m := range all {
		if m.name == name {
			d.set(m.value, value)
			return
		}
	}
	at := addition{object, name}
	end := Span{Start: object.Start + 1, End: object.Start + 1}
	with := join(`"`+name+`":`, value, "")
	if len(all) > 0 {
		last := all[len(all)-1].span.End
		end = Span{Start: last, End: last}
	}
	others := false // are added to the same object
	for a := range d.added {
		others = others || a.object == object && a.name != name
	}
	if i, again := d.added[at]; again {
		if bytes.HasPrefix(d.edits[i].With, comma) {
			with = join(",", with, "")
		}
		d.edits[i].With = with
		return
	}
	if len(all) > 0 || others {
		with = join(",", with, "")
	}
	if d.added == nil {
		d.added = map[addition]int{}
	}
	d.added[at] = len(d.edits)
	d.set(end, with)
}

// addition is a member that an edit adds to an object.
type addition struct {
	object Span
	name   string
}
