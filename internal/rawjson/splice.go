package rawjson

import (
	"fmt"
	"strings"
	"unsafe"
)

// Edit replaces the bytes of Span with With. An empty span inserts.
type Edit struct {
	Span Span
	With []byte
}

// Splice returns text with the edits made, in memory of its own. Edits that are not sorted by position, overlap or lie outside are an
// error; several may insert at one place, in their order.
func Splice(text []byte, edits []Edit) ([]byte, error) {
	size, at := len(text), 0
	for i, e := range edits {
		if e.Span.Start < at || e.Span.End < e.Span.Start || e.Span.End > len(text) {
			return nil, fmt.Errorf("rawjson: edit %d of bytes [%d,%d): edits must be in order, apart and within %d bytes",
				i, e.Span.Start, e.Span.End, len(text))
		}
		size += len(e.With) - e.Span.Len()
		at = e.Span.End
	}
	var out strings.Builder // unlike make it takes memory that was not cleared: all of it is written
	out.Grow(size)
	at = 0
	for _, e := range edits {
		out.Write(text[at:e.Span.Start])
		out.Write(e.With)
		at = e.Span.End
	}
	out.Write(text[at:])
	made := out.String()
	return unsafe.Slice(unsafe.StringData(made), len(made)), nil // nobody else has the string
}

// Set returns object, which begins with its brace, with key set to value: in the place of the last member with that key, else as a new last
// member.
func Set(object []byte, key string, value []byte) ([]byte, error) {
	last, found := -1, Span{}
	for m, err := range Members(object, 0) {
		if err != nil {
			return nil, err
		}
		last = m.Value.End
		if string(m.Key) == key {
			found = m.Value
		}
	}
	if !found.IsZero() {
		return Splice(object, []Edit{{found, value}})
	}
	if last < 0 { // right behind the brace
		at := Span{1, 1}
		whole, err := Value(object, 0)
		if err != nil {
			return nil, err
		}
		at.Start += whole.Start
		at.End = at.Start
		return Splice(object, []Edit{{at, member(nil, key, value)}})
	}
	return Splice(object, []Edit{{Span{last, last}, member([]byte{','}, key, value)}})
}

func member(dst []byte, key string, value []byte) []byte {
	return append(append(Quote(dst, key), ':'), value...)
}

// Remove returns object without the members of these keys, each with one of its commas.
func Remove(object []byte, keys ...string) ([]byte, error) {
	var (
		edits []Edit
		kept  = -1 // where the last member that stays ends
		from  = -1 // where a leading run of removed members began
	)
	for m, err := range Members(object, 0) {
		if err != nil {
			return nil, err
		}
		gone := false
		for _, key := range keys {
			gone = gone || string(m.Key) == key
		}
		switch {
		case gone && kept >= 0: // with everything since the end of the last that stays
			edits = append(edits, Edit{Span: Span{kept, m.Value.End}})
			kept = m.Value.End
		case gone:
			if from < 0 {
				from = m.Name.Start
			}
			// With the comma that follows, if one does: seen at the next member.
			edits = append(edits[:0], Edit{Span: Span{from, m.Value.End}})
		default:
			if from >= 0 && kept < 0 {
				edits = append(edits[:0], Edit{Span: Span{from, m.Name.Start}})
			}
			kept = m.Value.End
		}
	}
	return Splice(object, edits)
}
