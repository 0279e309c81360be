package wire

import "slices"

// Excerpt returns a new body of the same dialect with the messages at the given indices and nothing else. A Responses input that is a
// string becomes a message.
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
