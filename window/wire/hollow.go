package wire

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
