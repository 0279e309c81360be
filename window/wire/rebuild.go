package wire

// rebuilt returns what [Parse] would return for body, which is r.Body after edits that are sorted and do not overlap. Only the edited
// messages are parsed and the others shifted: a line added to a prompt costs no second parse of a long conversation. It returns nil if an
// edit lies outside the messages or an edited message does not end where expected; the caller then parses all of body.
//
// A message is read the same way wherever it stands, so one that ends where it should leaves what follows as it was.
func (r *Request) rebuilt(body []byte, edits []Edit) *Request {
	element := r.Dialect.Rules().element
	if len(edits) == 0 || r.Body[r.List.Start] != '[' || element == nil {
		return nil
	}
	next := *r
	next.Body, next.Messages, next.Marks = body, make([]Message, 0, len(r.Messages)), nil
	next.view, next.before, next.same = nil, nil, 0 // they speak of what came
	p := &parser{r: &next, nparts: r.nparts, ntexts: r.ntexts}
	p.Text = body
	by, marks := 0, r.Marks // how far what follows moves, and the marks that were not passed yet
	for i := range r.Messages {
		m := &r.Messages[i]
		if len(edits) == 0 || edits[0].Span.Start >= m.Span.End {
			next.Messages = append(next.Messages, p.movedMessage(m, by))
			continue
		}
		for len(marks) > 0 && marks[0].Start < m.Span.Start {
			next.Marks, marks = append(next.Marks, moved(marks[0], by)), marks[1:]
		}
		for len(marks) > 0 && marks[0].Start < m.Span.End { // they are read again
			marks = marks[1:]
		}
		p.At = m.Span.Start + by
		for ; len(edits) > 0 && edits[0].Span.Start < m.Span.End; edits = edits[1:] {
			if at := edits[0].Span; at != m.Span && (at.Start <= m.Span.Start || at.End >= m.Span.End) {
				return nil
			}
			by += len(edits[0].With) - edits[0].Span.Len()
		}
		element(p)
		if p.Err != nil || p.At != m.Span.End+by || len(next.Messages) != i+1 {
			return nil
		}
	}
	if len(edits) > 0 {
		return nil
	}
	for _, m := range marks {
		next.Marks = append(next.Marks, moved(m, by))
	}
	// What stands before the messages stays where it is, what stands behind them moves.
	behind := func(s Span) int {
		if s.Start > r.List.Start {
			return by
		}
		return 0
	}
	next.List.End += by
	next.ModelSpan = moved(r.ModelSpan, behind(r.ModelSpan))
	next.MaxOutputSpan = moved(r.MaxOutputSpan, behind(r.MaxOutputSpan))
	next.ThinkingSpan = moved(r.ThinkingSpan, behind(r.ThinkingSpan))
	next.System = p.movedParts(r.System, behind(r.SystemSpan))
	next.SystemSpan, next.systemLone = moved(r.SystemSpan, behind(r.SystemSpan)), moved(r.systemLone, behind(r.SystemSpan))
	if behind(r.ToolsSpan) != 0 {
		next.Tools = append([]Tool(nil), r.Tools...)
		for i := range next.Tools {
			next.Tools[i].Span = moved(next.Tools[i].Span, by)
		}
	}
	next.Clears = moved(r.Clears, behind(r.Clears))
	next.ToolsSpan = moved(r.ToolsSpan, behind(r.ToolsSpan))
	next.Extra = nil
	for _, s := range r.Extra {
		next.Extra = append(next.Extra, moved(s, behind(s)))
	}
	next.nparts, next.ntexts = p.nparts, p.ntexts
	next.Bypass = next.reasons()
	return &next
}

// moved returns a span shifted by some bytes; a zero span stays zero.
func moved(s Span, by int) Span {
	if s.IsZero() {
		return s
	}
	return Span{Start: s.Start + by, End: s.End + by}
}

// movedMessage returns a message shifted by some bytes. With 0 it shares the parts of m.
func (p *parser) movedMessage(m *Message, by int) Message {
	out := *m
	out.Span, out.lone, out.calls, out.Content = moved(m.Span, by), moved(m.lone, by), moved(m.calls, by), moved(m.Content, by)
	out.Parts = p.movedParts(m.Parts, by)
	return out
}

// movedParts returns copies of parts with all spans moved by so many bytes; parts itself for 0.
func (p *parser) movedParts(parts []Part, by int) []Part {
	if by == 0 {
		return parts
	}
	out := carve(&p.partSlab, parts)
	for i := range out {
		one := &out[i]
		one.Span, one.Raw, one.Content = moved(one.Span, by), moved(one.Raw, by), moved(one.Content, by)
		one.Sealed, one.IDSpan = moved(one.Sealed, by), moved(one.IDSpan, by)
		one.Texts, one.Media = carve(&p.textSlab, one.Texts), carve(&p.mediaSlab, one.Media)
		for j := range one.Texts {
			one.Texts[j] = moved(one.Texts[j], by)
		}
		for j := range one.Media {
			one.Media[j].Head, one.Media[j].Span = moved(one.Media[j].Head, by), moved(one.Media[j].Span, by)
		}
	}
	return out
}
