package wire

import (
	"bytes"
	"unsafe"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// MaxDepth is the deepest nesting of values that is accepted; the same as in encoding/json and far
// beyond what any provider takes.
const MaxDepth = rawjson.MaxDepth

// SyntaxError means that a body is not a request this package can look into. Such a body is forwarded as it came: the provider has the
// better words for it. Its member What quotes nothing of the body.
type SyntaxError = rawjson.SyntaxError

// scanner reads the members of requests. Values that it skips are not checked in full: the provider reports errors in them.
type scanner struct {
	rawjson.Scanner
	key []byte // scratch for a key with escapes
}

// readKey reads a member's key and colon, and returns the key decoded, so that "\u0072ole" is role, unless it is longer than any name that is looked
// for; nil after an error. It is valid until the next call.
func (s *scanner) readKey() []byte {
	lit := s.Name()
	if s.Err != nil {
		return nil
	}
	k := s.Text[lit.Start+1 : lit.End-1]
	if bytes.IndexByte(k, '\\') >= 0 && len(k) <= 256 {
		// Longer than six bytes for each letter of the longest name that is looked for.
		s.key = Unquote(s.key[:0], lit.Of(s.Text))
		return s.key
	}
	return k
}

// appendStrings skips any value and appends to dst the string literals in it that are not keys.
func (s *scanner) appendStrings(dst []Span) []Span {
	v := s.Skip()
	if s.Err != nil {
		return dst
	}
	end := s.At
	s.At = v.Start
	for s.At < end {
		if s.Text[s.At] != '"' {
			s.At++
			continue
		}
		lit := s.String()
		if s.Peek() != ':' {
			dst = append(dst, lit)
		}
	}
	s.At = end
	return dst
}

// readText reads a string and returns its literal; for null it returns the zero span. Any other value is the error what.
func (s *scanner) readText(what string) Span {
	switch s.Peek() {
	case '"':
		return s.String()
	case 'n':
		s.Skip()
		return Span{}
	}
	s.Fail(s.At, what)
	return Span{}
}

// decoded returns the text of a literal. Without escapes it shares the body's memory.
func (s *scanner) decoded(lit Span) string {
	if lit.Len() <= 2 {
		return ""
	}
	in := s.Text[lit.Start+1 : lit.End-1]
	if bytes.IndexByte(in, '\\') >= 0 {
		return string(Unquote(nil, s.Text[lit.Start:lit.End]))
	}
	return unsafe.String(&in[0], len(in))
}

// null steps over a null and reports whether there was one. Clients in typed languages write one for any absent value.
func (s *scanner) null() bool {
	if s.Peek() != 'n' {
		return false
	}
	s.Skip()
	return true
}

// word is readText that also returns the decoded string.
func (s *scanner) word(what string) (string, Span) {
	lit := s.readText(what)
	return s.decoded(lit), lit
}

// readNumber reads a decimal number of at most nine digits, and returns it with its span. For any other value it returns 0 and the zero
// span.
func (s *scanner) readNumber() (int, Span) {
	v := s.Skip()
	n := 0
	if v.Len() == 0 || v.Len() > 9 {
		return 0, Span{}
	}
	for _, c := range s.Text[v.Start:v.End] {
		if c < '0' || c > '9' {
			return 0, Span{}
		}
		n = n*10 + int(c-'0')
	}
	return n, v
}

// truth reads a value and reports whether it is true.
func (s *scanner) truth() bool {
	v := s.Skip()
	return string(s.Text[v.Start:v.End]) == "true"
}

// removable returns the span of a member or element with one of its commas, so that removing the span leaves valid JSON. key and end are
// its bounds. comma is s.Comma as it was at the key: the position of the comma before it, negative for none.
func (s *scanner) removable(comma, key, end int) Span {
	if comma >= 0 {
		return Span{Start: comma, End: end}
	}
	at := s.At
	if s.Peek() == ',' {
		s.At++
		s.Peek()
		end = s.At
	}
	s.At = at
	return Span{Start: key, End: end}
}
