package repair

import (
	"slices"

	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/window/wire"
)

// raw returns a result to be put elsewhere: with the id of its call and the words that were joined to it.
func (p *pairing) raw(s *result) []byte {
	part := p.resultPart(s)
	var edits []wire.Edit
	edit := func(at wire.Span, text string) {
		at.Start, at.End = at.Start-part.Span.Start, at.End-part.Span.Start
		edits = append(edits, wire.Edit{Span: at, With: wire.Quote(nil, text)})
	}
	if id := p.calls[s.call].newID; id != "" && !part.IDSpan.IsZero() {
		edit(part.IDSpan, id)
	}
	if text, ok := p.joined[p.calls[s.call].result]; ok {
		edit(part.Texts[0], text)
	}
	sorting.By(edits, func(a, b wire.Edit) int { return a.Span.Start - b.Span.Start })
	moved, err := wire.Splice(p.r.Raw(part.Span), edits)
	if err != nil { // the spans lie in the part and apart from each other
		return slices.Clone(p.r.Raw(part.Span))
	}
	return moved
}

// note returns a result with a [Note] for a call that has none; nil for a call whose result cannot be a text.
func (p *pairing) note(c *call) []byte {
	part := *p.partOf(c)
	if c.newID != "" {
		part.CallID = c.newID
	}
	raw := wire.ResultElement(p.r.Dialect, part, Note, true)
	if raw != nil {
		p.did(Synthesised, c.msg, c.id, 0)
	}
	return raw
}

// brought returns the result that has to be put in for a call: the one that is moved there, or a note; nil where there is no form for one.
func (p *pairing) brought(c *call) []byte {
	if c.result == none {
		return p.note(c)
	}
	s := &p.results[c.result]
	p.did(Moved, s.msg, c.id, 0)
	return p.raw(s)
}

// stays keeps a result where it is, with the id of its call and the words that were joined to it.
func (p *pairing) stays(s *result) {
	if text, ok := p.joined[p.calls[s.call].result]; ok {
		p.draft.ReplaceText(s.msg, s.part, 0, text)
	}
	if id := p.calls[s.call].newID; id != "" && !p.resultPart(s).IDSpan.IsZero() {
		p.draft.ReplaceCallID(s.msg, s.part, id)
	}
}

// leaves drops a result from its place. The action of a result that moves to its call is recorded by brought.
func (p *pairing) leaves(s *result) {
	p.draft.DropPart(s.msg, s.part)
	if s.call != none {
		return
	}
	kind := Dropped
	switch {
	case s.added:
		kind = Joined
	case s.second != none:
		kind = Duplicate
	}
	part := p.resultPart(s)
	p.did(kind, s.msg, part.CallID, part.Span.Len())
}

// rename gives calls their new ids, and drops those that are copies.
func (p *pairing) rename() {
	for k := range p.calls {
		switch c := &p.calls[k]; {
		case c.drop:
			p.draft.DropPart(c.msg, c.part)
		case c.newID != "":
			p.draft.ReplaceCallID(c.msg, c.part, c.newID)
		}
	}
}

// groups yields the calls of each group that has to be answered, without copies.
func (p *pairing) groups(yield func([]*call) bool) {
	var list []*call
	for k := range p.calls {
		c := &p.calls[k]
		if c.group == p.open || c.drop {
			continue
		}
		if len(list) > 0 && list[0].group != c.group {
			if !yield(list) {
				return
			}
			list = nil
		}
		list = append(list, c)
	}
	if len(list) > 0 {
		yield(list)
	}
}

// behindCalls gives each call its result in a message right behind the message with the calls, and drops results of no call and second
// ones.
func (p *pairing) behindCalls() {
	p.rename()
	for i := range p.r.Messages {
		if p.r.Messages[i].EmptyCalls() && p.draft.DropEmptyCalls(i) {
			p.did(Emptied, i, "", 0)
		}
	}
	kept := make([]bool, len(p.results))
	for calls := range p.groups {
		first := calls[0].msg + 1
		behind := first
		for behind < len(p.r.Messages) && p.r.Messages[behind].Role == wire.RoleTool {
			behind++
		}
		var put [][]byte
		for _, c := range calls {
			if c.result != none && p.results[c.result].msg >= first && p.results[c.result].msg < behind {
				kept[c.result] = true
				continue
			}
			if raw := p.brought(c); raw != nil {
				put = append(put, raw)
			}
		}
		p.draft.InsertMessages(behind, put...)
	}
	p.settle(kept)
}

// settle keeps the results for which kept is true where they are, and drops the others.
func (p *pairing) settle(kept []bool) {
	for s := range p.results {
		switch {
		case kept[s]:
			p.stays(&p.results[s])
		case !p.results[s].elsewhere:
			p.leaves(&p.results[s])
		}
	}
}

// first puts results at the front of the user's message behind their calls; if that has none of them, in a message of their own, so that
// the user's words stay as they are.
func (p *pairing) first() {
	p.rename()
	kept := make([]bool, len(p.results))
	for calls := range p.groups {
		host := calls[0].msg + 1
		lead := p.leadingResults(host)
		here := false
		for _, c := range calls {
			if s := c.result; s != none && p.results[s].msg == host && p.r.Messages[host].Role == wire.RoleUser {
				here = true
				kept[s] = p.results[s].part < lead
			}
		}
		var put [][]byte
		for _, c := range calls {
			if c.result == none || !kept[c.result] {
				if raw := p.brought(c); raw != nil {
					put = append(put, raw)
				}
			}
		}
		switch {
		case len(put) == 0:
		case here:
			for _, raw := range put {
				p.draft.InsertPart(host, lead, raw)
			}
		default:
			p.draft.InsertMessages(host, joinElements(`{"role":"user","content":[`, put))
		}
	}
	p.serve()
	p.settle(kept)
}

// leadingResults returns the number of results at the beginning of a message.
func (p *pairing) leadingResults(msg int) int {
	if msg >= len(p.r.Messages) {
		return 0
	}
	parts := p.r.Messages[msg].Parts
	n := 0
	for n < len(parts) && parts[n].Kind == wire.Result {
		n++
	}
	return n
}

// joinElements returns a message made of head, which opens it and its content, and elements.
func joinElements(head string, elements [][]byte) []byte {
	out := []byte(head)
	for i, e := range elements {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, e...)
	}
	return append(out, "]}"...)
}
