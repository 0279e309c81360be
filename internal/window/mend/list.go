package mend

import (
	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/window/wire"
)

// A list is an array of blocks in the body and the edits of it: the content of a result, the system prompt.
type list struct {
	m     *mending
	span  wire.Span
	at    []wire.Span // the elements
	with  map[int][]byte
	gone  map[int]bool
	first []byte // an element to insert in front of the others
}

// list returns the array in a span as a list.
func (m *mending) list(span wire.Span) *list {
	l := &list{m: m, span: span}
	for v, err := range rawjson.Elements(m.r.Body[:span.End], span.Start) {
		if err != nil {
			break // Parse has been through it
		}
		l.at = append(l.at, v)
	}
	return l
}

func (l *list) drop(i int) {
	if l.gone == nil {
		l.gone = map[int]bool{}
	}
	l.gone[i] = true
}

func (l *list) replace(i int, with []byte) {
	if l.with == nil {
		l.with = map[int][]byte{}
	}
	l.with[i] = with
}

// remaining returns the number of elements that stay.
func (l *list) remaining() int { return len(l.at) - len(l.gone) }

// apply makes the edits: of single elements if their number stays, else of the whole array.
func (l *list) apply() {
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
