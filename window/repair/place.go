package repair

import (
	"slices"

	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/window/wire"
)

// movedResult returns the JSON of a result for another position, with the new id of its call and the words that were joined to it.
func (p *pairing) movedResult(s *result) []byte {
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

// noteFor returns a result with the text [Note] for a call that has none, and records that; nil if the result of such a call cannot be a
// text.
func (p *pairing) noteFor(c *call) []byte {
	part := *p.partOf(c)
	if c.newID != "" {
		part.CallID = c.newID
	}
	raw := wire.ResultElement(p.r.Dialect, part, Note, true)
	if raw != nil {
		p.addAction(Synthesised, c.msg, c.id, 0)
	}
	return raw
}

// resultFor returns the result to insert for a call, and records that: its own, moved there, or if it has none a note; nil if a note is not
// possible.
func (p *pairing) resultFor(c *call) []byte {
	if c.result == none {
		return p.noteFor(c)
	}
	s := &p.results[c.result]
	p.addAction(Moved, s.msg, c.id, 0)
	return p.movedResult(s)
}

// keepResult leaves a result where it is, and gives it the new id of its call and the words that were joined to it.
func (p *pairing) keepResult(s *result) {
	if text, ok := p.joined[p.calls[s.call].result]; ok {
		p.draft.ReplaceText(s.msg, s.part, 0, text)
	}
	if id := p.calls[s.call].newID; id != "" && !p.resultPart(s).IDSpan.IsZero() {
		p.draft.ReplaceCallID(s.msg, s.part, id)
	}
}

// dropResult removes a result from its position. If it moves to its call, resultFor records that; otherwise the reason is recorded here.
func (p *pairing) dropResult(s *result) {
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
	p.addAction(kind, s.msg, part.CallID, part.Span.Len())
}

// applyIDs gives calls their new ids, and drops those that are copies.
func (p *pairing) applyIDs() {
	for k := range p.calls {
		switch c := &p.calls[k]; {
		case c.drop:
			p.draft.DropPart(c.msg, c.part)
		case c.newID != "":
			p.draft.ReplaceCallID(c.msg, c.part, c.newID)
		}
	}
}

// groups yields the calls group by group, each group made at once, without copies and without the open group.
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

// placeBehindCalls gives each call its result in a message right after the message with the calls (Chat), and drops results without a call
// and second ones.
func (p *pairing) placeBehindCalls() {
	p.applyIDs()
	for i := range p.r.Messages {
		if p.r.Messages[i].EmptyCalls() && p.draft.DropEmptyCalls(i) {
			p.addAction(Emptied, i, "", 0)
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
			if raw := p.resultFor(c); raw != nil {
				put = append(put, raw)
			}
		}
		p.draft.InsertMessages(behind, put...)
	}
	p.keepOrDrop(kept)
}

// keepOrDrop keeps the results whose index is set in kept, and drops the others, unless the provider may have their calls.
func (p *pairing) keepOrDrop(kept []bool) {
	for s := range p.results {
		switch {
		case kept[s]:
			p.keepResult(&p.results[s])
		case !p.results[s].elsewhere:
			p.dropResult(&p.results[s])
		}
	}
}

// placeFirst puts results at the beginning of the user's message after their calls (Messages). If that message has none of them, they get a
// message of their own, so that the user's words stay as they are.
func (p *pairing) placeFirst() {
	p.applyIDs()
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
				if raw := p.resultFor(c); raw != nil {
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
			p.draft.InsertMessages(host, joinMessage(`{"role":"user","content":[`, put))
		}
	}
	p.repairServed()
	p.keepOrDrop(kept)
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

// joinMessage returns the JSON of a message: head, which opens the message and its content, the elements, and the closing brackets.
func joinMessage(head string, elements [][]byte) []byte {
	out := []byte(head)
	for i, e := range elements {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, e...)
	}
	return append(out, "]}"...)
}
