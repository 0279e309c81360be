package wire

import "bytes"

// Alternating returns the body of a request with consecutive messages of one role joined, if the dialect wants roles to alternate: edits
// may have brought them together. Without any it returns r.Body. A message is appended to the one before it, so what was sent of a
// conversation stays as it was sent.
func (r *Request) Alternating() []byte {
	if !r.Dialect.Rules().Alternates {
		return r.Body
	}
	var edits []Edit
	first := 0 // of a run
	for i := 1; i < len(r.Messages); i++ {
		m, into := &r.Messages[i], &r.Messages[first]
		if m.Role != into.Role || m.Content.Len() <= 2 || into.Content.Len() <= 2 {
			first = i
			continue
		}
		inner := bytes.TrimSpace(r.Body[m.Content.Start+1 : m.Content.End-1])
		at := into.Content.End - 1
		if n := len(edits); n > 1 && edits[n-2].Span.Start == at {
			edits[n-2].With = join("", edits[n-2].With, ","+string(inner))
			edits[n-1].Span.End = m.Span.End
			continue
		}
		edits = append(edits, Edit{Span: Span{Start: at, End: at}, With: join(",", inner, "")}, Edit{Span: Span{Start: r.Messages[i-1].Span.End, End: m.Span.End}})
	}
	if len(edits) == 0 {
		return r.Body
	}
	body, err := Splice(r.Body, edits)
	if err != nil { // they lie in messages and apart
		return r.Body
	}
	return body
}
