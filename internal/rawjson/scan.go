package rawjson

import (
	"bytes"
	"fmt"
	"iter"
)

// MaxDepth is how deep values may be nested; the same as in encoding/json.
const MaxDepth = 10_000

// SyntaxError says that bytes are not the JSON they should be.
type SyntaxError struct {
	Offset int    // in bytes, where it was seen
	What   string // never text of the input
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("byte %d: %s", e.Offset, e.What) }

// Span is a range of bytes: a value with its quotes or brackets. The zero Span is none.
type Span struct{ Start, End int }

// IsZero tells that there is no such value.
func (s Span) IsZero() bool { return s.End == 0 }

// Len is the length in bytes.
func (s Span) Len() int { return s.End - s.Start }

// Of is the span's bytes in text.
func (s Span) Of(text []byte) []byte { return text[s.Start:s.End] }

// Member is one member of an object.
type Member struct {
	Key   []byte // decoded; valid until the next member
	Name  Span   // the key's literal
	Value Span
}

// Members walks the object that text[at:] begins with (white space before it is stepped
// over). An error ends the walk and is its last pair.
func Members(text []byte, at int) iter.Seq2[Member, error] {
	return func(yield func(Member, error) bool) {
		s := scanner{b: text, i: at}
		if !s.open('{') {
			yield(Member{}, s.err)
			return
		}
		for s.more('}') {
			var m Member
			m.Name = s.str()
			if s.err == nil && s.peek() != ':' {
				s.fail(s.i, "a colon is missing")
			}
			s.i++
			if s.err == nil {
				m.Value = s.skip()
			}
			if s.err != nil {
				break
			}
			m.Key = text[m.Name.Start+1 : m.Name.End-1]
			if bytes.IndexByte(m.Key, '\\') >= 0 {
				m.Key = Unquote(nil, text[m.Name.Start:m.Name.End])
			}
			if !yield(m, nil) {
				return
			}
		}
		if s.err != nil {
			yield(Member{}, s.err)
		}
	}
}

// Elements walks the array that text[at:] begins with, like Members.
func Elements(text []byte, at int) iter.Seq2[Span, error] {
	return func(yield func(Span, error) bool) {
		s := scanner{b: text, i: at}
		if !s.open('[') {
			yield(Span{}, s.err)
			return
		}
		for s.more(']') {
			v := s.skip()
			if s.err != nil {
				break
			}
			if !yield(v, nil) {
				return
			}
		}
		if s.err != nil {
			yield(Span{}, s.err)
		}
	}
}

// Value gives the span of the value that text[at:] begins with.
func Value(text []byte, at int) (Span, error) {
	s := scanner{b: text, i: at}
	v := s.skip()
	if s.err != nil {
		return Span{}, s.err
	}
	return v, nil
}

// Only gives the span of the one value that text consists of, beside white space.
func Only(text []byte) (Span, error) {
	s := scanner{b: text}
	v := s.skip()
	if s.err == nil && s.peek() != 0 {
		s.fail(s.i, "something stands behind the value")
	}
	if s.err != nil {
		return Span{}, s.err
	}
	return v, nil
}

// Get follows keys from the object that text begins with, and returns where the value lies
// in text. The zero Span says that there is none on this path.
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

// Text follows keys to a string and decodes it; ok is false when there is none.
func Text(text []byte, keys ...string) (value string, ok bool) {
	v := Get(text, keys...)
	if v.Len() < 2 || text[v.Start] != '"' {
		return "", false
	}
	return string(Unquote(nil, v.Of(text))), true
}

// scanner walks a JSON text once.
type scanner struct {
	b     []byte
	i     int
	first bool // the next element is the first of its array or object
	err   *SyntaxError
}

func (s *scanner) fail(at int, what string) {
	if s.err == nil {
		s.err = &SyntaxError{Offset: at, What: what}
	}
	s.i = len(s.b) // every loop ends
}

// peek skips white space and returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	for s.i < len(s.b) {
		switch c := s.b[s.i]; c {
		case ' ', '\n', '\t', '\r':
			s.i++
		default:
			return c
		}
	}
	return 0
}

func (s *scanner) open(bracket byte) bool {
	if s.peek() != bracket {
		s.fail(s.i, "an array or object is missing")
		return false
	}
	s.i++
	s.first = true
	return true
}

// more tells whether another element follows, and steps over its comma; else it steps over
// the closing bracket.
func (s *scanner) more(closing byte) bool {
	c := s.peek()
	switch {
	case s.err != nil:
		return false
	case c == closing:
		s.i++
		s.first = false
		return false
	case s.first:
		s.first = false
		return true
	case c != ',':
		s.fail(s.i, "a comma or a closing bracket is missing")
		return false
	}
	s.i++
	if s.peek() == closing {
		s.fail(s.i, "a comma with nothing behind it")
		return false
	}
	return true
}

// str reads a string literal.
func (s *scanner) str() Span {
	if s.peek() != '"' {
		s.fail(s.i, "a string is missing")
		return Span{}
	}
	start := s.i
	j := start + 1
	for {
		n := bytes.IndexByte(s.b[j:], '"')
		if n < 0 {
			s.fail(start, "a string without end")
			return Span{}
		}
		j += n
		// The quote ends the string unless an odd number of backslashes stands before it.
		// They are looked at once for each quote, and lie behind the last one: linear.
		k := j - 1
		for s.b[k] == '\\' {
			k--
		}
		j++
		if (j-k)&1 == 0 {
			s.i = j
			return Span{start, j}
		}
	}
}

// skip steps over any value.
func (s *scanner) skip() Span {
	switch s.peek() {
	case '"':
		return s.str()
	case '{', '[':
		return s.nested()
	}
	start := s.i
	for s.i < len(s.b) {
		switch c := s.b[s.i]; {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c == '-', c == '+', c == '.', c == 'E':
			s.i++
			continue
		}
		break
	}
	if word := s.b[start:s.i]; !atom(word) {
		s.fail(start, "not a JSON value")
		return Span{}
	}
	return Span{start, s.i}
}

func atom(word []byte) bool {
	if len(word) == 0 {
		return false
	}
	switch word[0] {
	case 't', 'f', 'n':
		return string(word) == "true" || string(word) == "false" || string(word) == "null"
	}
	return word[0] == '-' && len(word) > 1 || word[0] >= '0' && word[0] <= '9'
}

// nested steps over an array or object.
func (s *scanner) nested() Span {
	var stack [MaxDepth/64 + 1]uint64
	start, depth := s.i, 0
	for s.i < len(s.b) {
		switch c := s.b[s.i]; c {
		case '"':
			s.str()
			continue
		case '{', '[':
			if depth == MaxDepth {
				s.fail(s.i, "nested too deep")
				return Span{}
			}
			if bit := uint64(1) << (depth & 63); c == '{' {
				stack[depth>>6] |= bit
			} else {
				stack[depth>>6] &^= bit
			}
			depth++
		case '}', ']':
			depth--
			if object := stack[depth>>6]>>(depth&63)&1 == 1; object != (c == '}') {
				s.fail(s.i, "a bracket closes another one")
				return Span{}
			}
			if depth == 0 {
				s.i++
				return Span{start, s.i}
			}
		}
		s.i++
	}
	s.fail(start, "an array or object without end")
	return Span{}
}
