package wire

import (
	"bytes"
	"fmt"
	"unsafe"
)

// MaxDepth is how deep values may be nested; the same as in encoding/json and far beyond
// what any provider takes.
const MaxDepth = 10_000

// SyntaxError says that a body is not a request this package can look into. Such a body
// is forwarded as it came: the provider has the better words for it.
type SyntaxError struct {
	Offset int    // in bytes, where it was seen
	What   string // never text of the body
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("byte %d: %s", e.Offset, e.What) }

// scanner walks a JSON text once. It follows brackets, commas, colons and strings where
// it is told to look, and only brackets and strings in what is skipped: a body that is
// wrong inside a skipped value goes to the provider as it is, who says so.
type scanner struct {
	b     []byte
	i     int
	first bool // the next element is the first of its array or object
	comma int  // where the comma before the current element is; -1 before the first
	err   *SyntaxError
	key   []byte // scratch for a key with escapes
	stack [MaxDepth/64 + 1]uint64
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

// begin enters an array or object.
func (s *scanner) begin(open byte, what string) bool {
	if s.peek() != open || s.err != nil {
		s.fail(s.i, what)
		return false
	}
	s.i++
	s.first = true
	return true
}

// more tells whether another element follows, and steps over its comma; else it steps
// over the closing bracket.
func (s *scanner) more(closing byte) bool {
	c := s.peek()
	if s.err != nil {
		return false
	}
	if c == closing {
		s.i++
		s.first = false
		return false
	}
	if s.first {
		s.first, s.comma = false, -1
		return true
	}
	if c != ',' {
		s.fail(s.i, "a comma or a closing bracket is missing")
		return false
	}
	s.comma = s.i
	s.i++
	if s.peek() == closing {
		s.fail(s.i, "a comma with nothing behind it")
		return false
	}
	return true
}

// name reads a member's key and colon. The key is decoded, so that "\u0072ole" is role.
func (s *scanner) name() []byte {
	if s.peek() != '"' {
		s.fail(s.i, "a key is missing")
		return nil
	}
	lit := s.str()
	if s.peek() != ':' || s.err != nil {
		s.fail(s.i, "a colon is missing")
		return nil
	}
	s.i++
	k := s.b[lit.Start+1 : lit.End-1]
	if bytes.IndexByte(k, '\\') >= 0 && len(k) <= 256 {
		// Longer than six bytes for each letter of the longest name that is looked for.
		s.key = Unquote(s.key[:0], s.b[lit.Start:lit.End])
		return s.key
	}
	return k
}

// str reads a string literal whose quote is the next byte.
func (s *scanner) str() Span {
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
	c := s.peek()
	start := s.i
	switch c {
	case '"':
		return s.str()
	case '{', '[':
		return s.nested()
	}
	return s.atom(start)
}

// atom steps over a number, true, false or null.
func (s *scanner) atom(start int) Span {
	for s.i < len(s.b) {
		switch c := s.b[s.i]; {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c == '-', c == '+', c == '.', c == 'E':
			s.i++
			continue
		}
		break
	}
	word := s.b[start:s.i]
	ok := len(word) > 0
	if ok {
		switch word[0] {
		case 't', 'f', 'n':
			ok = string(word) == "true" || string(word) == "false" || string(word) == "null"
		default:
			ok = word[0] == '-' && len(word) > 1 || word[0] >= '0' && word[0] <= '9'
		}
	}
	if !ok {
		s.fail(start, "not a JSON value")
		return Span{}
	}
	return Span{start, s.i}
}

// nested steps over an array or object.
func (s *scanner) nested() Span {
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
				s.stack[depth>>6] |= bit
			} else {
				s.stack[depth>>6] &^= bit
			}
			depth++
		case '}', ']':
			depth--
			if object := s.stack[depth>>6]>>(depth&63)&1 == 1; object != (c == '}') {
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

// literals steps over any value and appends the string literals in it that are no keys.
func (s *scanner) literals(dst []Span) []Span {
	v := s.skip()
	if s.err != nil {
		return dst
	}
	end := s.i
	s.i = v.Start
	for s.i < end {
		if s.b[s.i] != '"' {
			s.i++
			continue
		}
		lit := s.str()
		if s.peek() != ':' {
			dst = append(dst, lit)
		}
	}
	s.i = end
	return dst
}

// text reads a string or null; anything else is a wrong shape.
func (s *scanner) text(what string) Span {
	switch s.peek() {
	case '"':
		return s.str()
	case 'n':
		s.atom(s.i)
		return Span{}
	}
	s.fail(s.i, what)
	return Span{}
}

// decoded returns the text of a literal: a view of the body when it has no escapes.
func (s *scanner) decoded(lit Span) string {
	if lit.Len() <= 2 {
		return ""
	}
	in := s.b[lit.Start+1 : lit.End-1]
	if bytes.IndexByte(in, '\\') >= 0 {
		return string(Unquote(nil, s.b[lit.Start:lit.End]))
	}
	return unsafe.String(&in[0], len(in))
}

// null steps over a null. Clients with typed languages write one for whatever is not there.
func (s *scanner) null() bool {
	if s.peek() != 'n' {
		return false
	}
	s.atom(s.i)
	return true
}

// word reads a string (or null) and decodes it.
func (s *scanner) word(what string) (string, Span) {
	lit := s.text(what)
	return s.decoded(lit), lit
}

// number reads a plain decimal number below 10^9; anything else that is a value is 0 and
// no span: it stays as it is.
func (s *scanner) number() (int, Span) {
	v := s.skip()
	n := 0
	if v.Len() == 0 || v.Len() > 9 {
		return 0, Span{}
	}
	for _, c := range s.b[v.Start:v.End] {
		if c < '0' || c > '9' {
			return 0, Span{}
		}
		n = n*10 + int(c-'0')
	}
	return n, v
}

// truth reads true; every other value is false.
func (s *scanner) truth() bool {
	v := s.skip()
	return string(s.b[v.Start:v.End]) == "true"
}

// mark returns the member whose value ends at end and whose key begins at or behind from
// with exactly one of its commas. It is called with s.comma as it was at the key.
func (s *scanner) mark(comma, key, end int) Span {
	if comma >= 0 {
		return Span{comma, end}
	}
	at := s.i
	if s.peek() == ',' {
		s.i++
		s.peek()
		end = s.i
	}
	s.i = at
	return Span{key, end}
}
