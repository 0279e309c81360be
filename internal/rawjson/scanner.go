package rawjson

import (
	"bytes"
	"encoding/binary"
)

// Scanner walks a JSON text once. [Members], [Elements], [Value] and [Only] are made with
// it; a program that reads a large format in one pass takes it directly:
//
//	s := rawjson.Scanner{Text: body}
//	if s.Begin('{', "not a JSON object") {
//		for s.More('}') {
//			name := s.Name()
//			value := s.Skip()
//			…
//		}
//	}
//	if s.Err != nil …
//
// It checks brackets, commas, colons and strings where it is told to look, and only
// brackets and strings in what it skips. The first error stays: from then on At is the end
// of Text, so that every loop ends. It must not be copied once in use.
type Scanner struct {
	Text  []byte
	At    int          // of the next byte
	Comma int          // place of the comma before the current element; -1 before the first
	Err   *SyntaxError // the first one
	first bool         // the next element is the first of its array or object
	open  Nesting
}

// Fail sets Err to an error at a place unless there is one, and ends the walk.
func (s *Scanner) Fail(at int, what string) {
	if s.Err == nil {
		s.Err = &SyntaxError{Offset: at, What: what}
	}
	s.At = len(s.Text)
}

// Peek skips white space and returns the next byte without taking it, 0 at the end.
func (s *Scanner) Peek() byte {
	for s.At < len(s.Text) {
		c := s.Text[s.At]
		if c > ' ' || c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c
		}
		s.At++
	}
	return 0
}

// Begin enters the array or object that comes next and reports whether there is one. If there is none it sets Err to what; it is false after any
// error.
func (s *Scanner) Begin(bracket byte, what string) bool {
	if s.Peek() != bracket || s.Err != nil {
		s.Fail(s.At, what)
		return false
	}
	s.At++
	s.first = true
	return true
}

// More reports whether another element follows, and steps over the comma before it if there is one. It returns false at the closing bracket, which it
// steps over, and after an error, which is in Err.
func (s *Scanner) More(closing byte) bool {
	c := s.Peek()
	if s.Err != nil {
		return false
	}
	if c == closing {
		s.At++
		s.first = false
		return false
	}
	if s.first {
		s.first, s.Comma = false, -1
		return true
	}
	if c != ',' {
		s.Fail(s.At, "a comma or a closing bracket is missing")
		return false
	}
	s.Comma = s.At
	s.At++
	if s.Peek() == closing {
		s.Fail(s.At, "a comma with nothing behind it")
		return false
	}
	return true
}

// Name reads a member's key and its colon, and returns the key with its quotes; the zero Span after an error.
func (s *Scanner) Name() Span {
	if s.Peek() != '"' {
		s.Fail(s.At, "a key is missing")
		return Span{}
	}
	lit := s.String()
	if s.Peek() != ':' || s.Err != nil {
		s.Fail(s.At, "a colon is missing")
		return Span{}
	}
	s.At++
	return lit
}

// String reads the string literal that begins with the next byte, which the caller has seen to be a quote; the zero Span when it has no end.
func (s *Scanner) String() Span {
	text, start := s.Text, s.At
	for j := start + 1; ; {
		n := bytes.IndexByte(text[j:], '"')
		if n < 0 {
			s.Fail(start, "a string without end")
			return Span{}
		}
		j += n + 1 // behind the quote
		// The quote ends the string unless an odd number of backslashes stands before it.
		// They are looked at once for each quote, and lie behind the last one: linear.
		k := j - 2
		for text[k] == '\\' {
			k--
		}
		if (j-k)&1 == 0 {
			s.At = j
			return Span{start, j}
		}
		j = skipEscaped(text, j)
	}
}

// skipEscaped returns a place at or after j, which follows an escaped quote, such that no quote before it ends the string. JSON in a string
// is full of escaped quotes, a few bytes apart, so it looks at eight bytes at a time. It stops where eight bytes have no quote, or
// backslashes stand in a row.
func skipEscaped(text []byte, j int) int {
	behind := uint64(0) // the first byte of the next eight is behind a backslash
	for len(text)-j >= 8 {
		w := binary.LittleEndian.Uint64(text[j:])
		quotes, slashes := matchBytes(w, '"'), matchBytes(w, '\\')
		escaped := slashes<<8 | behind
		if quotes == 0 || quotes&^escaped != 0 || slashes&escaped != 0 {
			break
		}
		behind = slashes >> 56
		j += 8
	}
	return j
}

// matchBytes returns w with only the highest bit set in each byte that is c, and none in the others.
func matchBytes(w uint64, c byte) uint64 {
	const ones, low = 0x0101010101010101, 0x7f7f7f7f7f7f7f7f
	w ^= ones * uint64(c) // such a byte is 0 now
	return ^(w&low + low | w | low)
}

// Skip steps over any value and returns its range; the zero Span after an error.
func (s *Scanner) Skip() Span {
	switch s.Peek() {
	case '"':
		return s.String()
	case '{', '[':
		return s.skipNested()
	}
	return s.atom()
}

// atom steps over a number, true, false or null; of a number only the characters are checked. It returns the zero Span after an error.
func (s *Scanner) atom() Span {
	start := s.At
	for s.At < len(s.Text) {
		switch c := s.Text[s.At]; {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c == '-', c == '+', c == '.', c == 'E':
			s.At++
			continue
		}
		break
	}
	word := s.Text[start:s.At]
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
		s.Fail(start, "not a JSON value")
		return Span{}
	}
	return Span{start, s.At}
}

// skipNested steps over the array or object that begins with the next byte; the zero Span after an error.
func (s *Scanner) skipNested() Span {
	start := s.At
	s.open.Reset()
	text := s.Text
	for i := start; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			s.At = i
			s.String()
			i = s.At - 1
		case '{', '[':
			if !s.open.Open(c == '{') {
				s.Fail(i, "nested too deep")
				return Span{}
			}
		case '}', ']':
			if !s.open.Close(c == '}') {
				s.Fail(i, "a bracket closes another one")
				return Span{}
			}
			if s.open.Depth == 0 {
				s.At = i + 1
				return Span{start, s.At}
			}
		}
	}
	s.Fail(start, "an array or object without end")
	return Span{}
}

// Nesting remembers which brackets are open, one bit each. The zero value has none. It holds 64 levels in itself, and allocates for those
// beyond.
type Nesting struct {
	Depth  int
	levels uint64   // the innermost ones up to a multiple of 64, the last one lowest: 1 is an object
	outer  []uint64 // the full words around them
}

// Reset closes everything.
func (n *Nesting) Reset() { n.Depth, n.outer = 0, n.outer[:0] }

// Open enters an object or an array; false, and without effect, when that is deeper than [MaxDepth].
func (n *Nesting) Open(object bool) bool {
	if n.Depth == MaxDepth {
		return false
	}
	if n.Depth&63 == 0 {
		n.grow()
	}
	n.Depth++
	n.levels <<= 1
	if object {
		n.levels |= 1
	}
	return true
}

// grow and shrink stay calls: they run once in 64 levels, and the loops around Open and
// Close are hot.
//
//go:noinline
func (n *Nesting) grow() {
	if n.Depth > 0 {
		n.outer = append(n.outer, n.levels)
	}
}

// Close leaves an object or an array; false, and without effect, when the innermost is not of that kind or nothing is open.
func (n *Nesting) Close(object bool) bool {
	if n.Depth == 0 || n.levels&1 == 1 != object {
		return false
	}
	n.Depth--
	n.levels >>= 1
	if n.Depth&63 == 0 {
		n.shrink()
	}
	return true
}

//go:noinline
func (n *Nesting) shrink() {
	if last := len(n.outer) - 1; last >= 0 {
		n.levels, n.outer = n.outer[last], n.outer[:last]
	}
}

// Object reports whether the innermost open container is an object.
func (n *Nesting) Object() bool { return n.Depth > 0 && n.levels&1 == 1 }
