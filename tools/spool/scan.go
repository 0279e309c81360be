package spool

import (
	"encoding/binary"
	"math/bits"
)

// maxDepth is how deep values may be nested; the same as in encoding/json.
const maxDepth = 10_000

// maxKeys is how many keys lead to the main array or object at most.
const maxKeys = 3

// events is told what a scanner finds. Offsets count from where the text begins.
type events interface {
	// opened says that an array begins at off that can only be reached through keys of objects.
	opened(off int64)
	// item says that an item of it (or of the container that is walked) lies in [start,end);
	// false stops the scanner.
	item(start, end int64) bool
	// closed says that the array has ended before end.
	closed(end int64)
	// object says that an object below `depth` keys lies in [start,end).
	object(depth int, start, end int64)
}

type state uint8

const (
	wantValue state = iota
	wantValueOrEnd
	wantKey
	wantKeyOrEnd
	wantColon
	afterValue
	afterAll
	inString
	inKey
	inEscape
	inHex
	inLiteral
	numberMinus
	numberZero
	numberInt
	numberDot
	numberFraction
	numberE
	numberSign
	numberExponent
)

// scanner reads JSON that comes in pieces of any size, holds all of it to the grammar and
// keeps nothing of it: its memory is a bit for each level of nesting.
type scanner struct {
	to      events
	off     int64 // of the next byte
	state   state
	back    state // where an escape goes back to
	left    int   // hex digits or letters still to come
	literal string
	depth   int
	objects []uint64 // a bit for each level: it is an object
	level   int      // depth of the container whose items are told; 0 is none
	members bool     // that container is an object
	start   int64    // of the item under way
	skip    int64    // an item that starts here is not read: the scanner stops before it
	stopped bool
	begins  [maxKeys + 1]int64    // where the open objects begin
	keys    [maxKeys + 1][2]int64 // where the last key of each lies, with quotes
}

func newScanner(to events, off int64) *scanner { return &scanner{to: to, off: off, skip: -1} }

// newItemScanner reads on at the first byte of an item (or the space before it) of an
// array, or of a member when members is set.
func newItemScanner(to events, off int64, members bool) *scanner {
	s := newScanner(to, off)
	s.depth, s.level, s.members = 1, 1, members
	s.objects = []uint64{0}
	s.state = wantValueOrEnd
	if members {
		s.objects[0], s.state = 2, wantKeyOrEnd
	}
	return s
}

// whole says that one value has been read and nothing else.
func (s *scanner) whole() bool { return s.state == afterAll }

// object says whether the innermost open container is an object.
func (s *scanner) object() bool { return s.objects[s.depth>>6]>>(s.depth&63)&1 == 1 }

func (s *scanner) push(object bool) bool {
	s.depth++
	if s.depth > maxDepth {
		return false
	}
	if s.depth>>6 >= len(s.objects) {
		s.objects = append(s.objects, 0)
	}
	bit := uint64(1) << (s.depth & 63)
	if s.objects[s.depth>>6] &^= bit; object {
		s.objects[s.depth>>6] |= bit
	}
	return true
}

// ended says that a value ends before off.
func (s *scanner) ended(off int64) {
	switch {
	case s.depth == 0:
		s.state = afterAll
	default:
		s.state = afterValue
		if s.depth == s.level && !s.to.item(s.start, off) {
			s.stopped = true
		}
	}
}

// open enters the container that begins at off.
func (s *scanner) open(off int64, object bool) bool {
	if s.level == 0 && s.depth <= maxKeys {
		if object {
			s.begins[s.depth] = off
		} else {
			s.level, s.members = s.depth+1, false
			s.to.opened(off)
		}
	}
	if s.state = wantValueOrEnd; object {
		s.state = wantKeyOrEnd
	}
	return s.push(object)
}

// shut leaves the container whose bracket is the byte before end.
func (s *scanner) shut(end int64) {
	object := s.object()
	s.depth--
	switch {
	case s.depth < s.level && s.depth == s.level-1:
		s.level = 0
		s.to.closed(end)
	case s.level == 0 && object && s.depth <= maxKeys:
		s.to.object(s.depth, s.begins[s.depth], end)
	}
	s.ended(end)
}

// feed reads b and tells how many bytes of it were taken: all, unless the scanner was
// stopped or b is not JSON (ok is false).
func (s *scanner) feed(b []byte) (n int, ok bool) {
	base, i := s.off, 0
	for i < len(b) {
		c := b[i]
		switch s.state {
		case inString, inKey:
			if i = skipText(b, i); i == len(b) {
				continue
			}
			switch c = b[i]; {
			case c == '\\':
				s.back, s.state = s.state, inEscape
			case c != '"':
				return i, s.fail(base, i)
			case s.state == inKey:
				if s.level == 0 && s.depth <= maxKeys {
					s.keys[s.depth][1] = base + int64(i) + 1
				}
				s.state = wantColon
			default:
				s.ended(base + int64(i) + 1)
			}
			i++
		case inEscape:
			switch c {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
				s.state = s.back
			case 'u':
				s.state, s.left = inHex, 4
			default:
				return i, s.fail(base, i)
			}
			i++
		case inHex:
			if !hexDigit(c) {
				return i, s.fail(base, i)
			}
			if s.left--; s.left == 0 {
				s.state = s.back
			}
			i++
		case inLiteral:
			if c != s.literal[0] {
				return i, s.fail(base, i)
			}
			i++
			if s.literal = s.literal[1:]; s.literal == "" {
				s.ended(base + int64(i))
			}
		case numberMinus, numberZero, numberInt, numberDot, numberFraction, numberE, numberSign, numberExponent:
			next, done, good := number(s.state, c)
			if !good {
				return i, s.fail(base, i)
			}
			if done {
				s.ended(base + int64(i))
				break
			}
			s.state = next
			i++
		default:
			if c == ' ' || c == '\n' || c == '\t' || c == '\r' {
				i++
				continue
			}
			if s.beginsItem() {
				if s.start = base + int64(i); s.start == s.skip {
					s.stopped = true
					s.off = s.start
					return i, true
				}
			}
			if !s.structure(c, base+int64(i)) {
				return i, s.fail(base, i)
			}
			i++
		}
		if s.stopped {
			break
		}
	}
	s.off = base + int64(i)
	return i, true
}

func (s *scanner) fail(base int64, i int) bool {
	s.off = base + int64(i)
	return false
}

// beginsItem says that what comes next, unless it is a bracket that closes, is an item.
func (s *scanner) beginsItem() bool {
	if s.depth != s.level || s.depth == 0 {
		return false
	}
	if s.members {
		return s.state == wantKey || s.state == wantKeyOrEnd
	}
	return s.state == wantValue || s.state == wantValueOrEnd
}

// structure takes one byte between values.
func (s *scanner) structure(c byte, off int64) bool {
	switch s.state {
	case wantKeyOrEnd, wantKey:
		if c == '}' && s.state == wantKeyOrEnd {
			s.shut(off + 1)
			return true
		}
		if s.level == 0 && s.depth <= maxKeys {
			s.keys[s.depth][0] = off
		}
		s.state = inKey
		return c == '"'
	case wantColon:
		s.state = wantValue
		return c == ':'
	case afterValue:
		switch object := s.object(); {
		case c == ',':
			if s.state = wantValue; object {
				s.state = wantKey
			}
			return true
		case c == '}' && object, c == ']' && !object:
			s.shut(off + 1)
			return true
		}
		return false
	case afterAll:
		return false
	case wantValueOrEnd:
		if c == ']' {
			s.shut(off + 1)
			return true
		}
	}
	switch {
	case c == '"':
		s.state = inString
	case c == '{':
		return s.open(off, true)
	case c == '[':
		return s.open(off, false)
	case c == '-':
		s.state = numberMinus
	case c == '0':
		s.state = numberZero
	case c >= '1' && c <= '9':
		s.state = numberInt
	case c == 't':
		s.state, s.literal = inLiteral, "rue"
	case c == 'f':
		s.state, s.literal = inLiteral, "alse"
	case c == 'n':
		s.state, s.literal = inLiteral, "ull"
	default:
		return false
	}
	return true
}

// number takes one byte of a number, or says that the number ended before it.
func number(in state, c byte) (next state, done, ok bool) {
	digit := c >= '0' && c <= '9'
	switch in {
	case numberMinus:
		if c == '0' {
			return numberZero, false, true
		}
		return numberInt, false, digit
	case numberDot:
		return numberFraction, false, digit
	case numberE:
		if c == '+' || c == '-' {
			return numberSign, false, true
		}
		return numberExponent, false, digit
	case numberSign:
		return numberExponent, false, digit
	case numberZero, numberInt:
		if c == '.' {
			return numberDot, false, true
		}
		if digit {
			return in, false, in == numberInt
		}
	case numberFraction, numberExponent:
		if digit {
			return in, false, true
		}
	}
	if (c == 'e' || c == 'E') && in != numberExponent {
		return numberE, false, true
	}
	return in, true, true
}

func hexDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// skipText returns where in b, from i on, the first byte lies that a JSON string cannot
// hold as it is: a quote, a backslash, a control character.
func skipText(b []byte, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote, slash := w^ones*'"', w^ones*'\\'
		// A byte's high bit is set where it is below 0x20, or equal to one of the two. A
		// borrow may set bits above the first hit and never below it.
		if hit := ((w - ones*0x20) &^ w & highs) | ((quote - ones) &^ quote & highs) | ((slash - ones) &^ slash & highs); hit != 0 {
			return i + bits.TrailingZeros64(hit)>>3
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c < 0x20 || c == '"' || c == '\\' {
			return i
		}
	}
	return i
}
