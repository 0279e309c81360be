// Package rawjson reads and edits JSON as the bytes it came in: a relay that decodes a message and encodes it again changes it. A value is a
// range of bytes. [Members] and [Elements] walk one object or array, [Get] follows a path of keys, a [Scanner] reads a whole format in one
// pass, [Splice] puts other bytes in the place of some, [Quote] and [Unquote] change between a text and its literal. JSON that is still
// arriving is for package jsonstream.
//
// Everything is linear and does not recurse. What is stepped over is only held to its brackets and strings, so a value that is wrong inside
// goes to its receiver as it is; values nested deeper than [MaxDepth] are a [SyntaxError]. Keys with escapes are decoded before they are
// compared; of two equal keys [Get] takes the last. Functions may be called from any goroutine, a Scanner by one.
package rawjson

import (
	"bytes"
	"fmt"
	"iter"
)

// MaxDepth limits the nesting of values, as in encoding/json.
const MaxDepth = 10_000

// SyntaxError is the error of bytes that are not the JSON they should be.
type SyntaxError struct {
	Offset int    // in bytes, where it was seen
	What   string // never text of the input
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("byte %d: %s", e.Offset, e.What) }

// Span is a half-open range of bytes: a value with its quotes or brackets. The zero Span means none: no value begins at byte 0 and ends
// there.
type Span struct{ Start, End int }

// IsZero reports whether s is the zero Span.
func (s Span) IsZero() bool { return s.End == 0 }

// Len returns the length in bytes.
func (s Span) Len() int { return s.End - s.Start }

// Contains reports whether o lies in s.
func (s Span) Contains(o Span) bool { return s.Start <= o.Start && o.End <= s.End }

// Of returns the span's bytes in text.
func (s Span) Of(text []byte) []byte { return text[s.Start:s.End] }

// Member is one member of an object.
type Member struct {
	Key   []byte // decoded; valid until the next member
	Name  Span   // the key's literal
	Value Span
}

// Members walks the object that text[at:] begins with, behind white space. An error ends the walk as its last pair.
func Members(text []byte, at int) iter.Seq2[Member, error] {
	return func(yield func(Member, error) bool) {
		s := Scanner{Text: text, At: at}
		s.Begin('{', "an object is missing")
		for s.Err == nil && s.More('}') {
			var m Member
			m.Name = s.Name()
			if s.Err == nil {
				m.Value = s.Skip()
			}
			if s.Err != nil {
				break
			}
			m.Key = text[m.Name.Start+1 : m.Name.End-1]
			if bytes.IndexByte(m.Key, '\\') >= 0 {
				m.Key = Unquote(nil, m.Name.Of(text))
			}
			if !yield(m, nil) {
				return
			}
		}
		if s.Err != nil {
			yield(Member{}, s.Err)
		}
	}
}

// Elements walks the array that text[at:] begins with, behind white space. An error ends the walk as its last pair.
func Elements(text []byte, at int) iter.Seq2[Span, error] {
	return func(yield func(Span, error) bool) {
		s := Scanner{Text: text, At: at}
		s.Begin('[', "an array is missing")
		for s.Err == nil && s.More(']') {
			if v := s.Skip(); s.Err == nil && !yield(v, nil) {
				return
			}
		}
		if s.Err != nil {
			yield(Span{}, s.Err)
		}
	}
}

// Value returns the range of the value that text[at:] begins with, behind white space.
func Value(text []byte, at int) (Span, error) {
	s := Scanner{Text: text, At: at}
	v := s.Skip()
	if s.Err != nil {
		return Span{}, s.Err
	}
	return v, nil
}

// Only returns the range of the one value in text. Anything but white space around it is an error.
func Only(text []byte) (Span, error) {
	s := Scanner{Text: text}
	v := s.Skip()
	if s.Peek(); s.Err == nil && s.At < len(text) {
		s.Fail(s.At, "something stands behind the value")
	}
	if s.Err != nil {
		return Span{}, s.Err
	}
	return v, nil
}

// Get follows keys from the object that text begins with, and returns the range of the value. The zero Span means that there are no keys, that
// nothing is on this path, or that an object on it is not valid to its end.
func Get(text []byte, keys ...string) Span {
	at, found := 0, Span{}
	for _, key := range keys {
		found = Span{}
		for m, err := range Members(text, at) {
			if err != nil {
				return Span{}
			}
			if string(m.Key) == key {
				found = m.Value
			}
		}
		if found.IsZero() {
			return Span{}
		}
		at = found.Start
	}
	return found
}

// Text follows keys to a string and returns its text; ok is false when there is none, or another value.
func Text(text []byte, keys ...string) (value string, ok bool) {
	v := Get(text, keys...)
	if v.Len() < 2 || text[v.Start] != '"' {
		return "", false
	}
	return string(Unquote(nil, v.Of(text))), true
}
