package wire

import "fmt"

// Edit puts With in place of the bytes of Span. An empty span inserts.
type Edit struct {
	Span Span
	With []byte
}

// Splice returns body with the edits made, in memory of its own. The edits are sorted by
// position and do not overlap; several may insert at one place, in their order.
func Splice(body []byte, edits []Edit) ([]byte, error) {
	size, at := len(body), 0
	for i, e := range edits {
		if e.Span.Start < at || e.Span.End < e.Span.Start || e.Span.End > len(body) {
			return nil, fmt.Errorf("wire: edit %d of bytes [%d,%d): edits must be in order, apart and within %d bytes",
				i, e.Span.Start, e.Span.End, len(body))
		}
		size += len(e.With) - e.Span.Len()
		at = e.Span.End
	}
	out := make([]byte, 0, size)
	at = 0
	for _, e := range edits {
		out = append(append(out, body[at:e.Span.Start]...), e.With...)
		at = e.Span.End
	}
	return append(out, body[at:]...), nil
}
