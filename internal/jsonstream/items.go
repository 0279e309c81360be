package jsonstream

import (
	"fmt"
	"slices"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// MaxKeys limits the keys that lead to the main array or object.
const MaxKeys = 6

// Events receives what [Items] finds. Offsets count from the beginning of the text.
type Events interface {
	// Opened is called for an array that begins at off and that only keys of objects lead to.
	Opened(off int64)
	// Item is called for an item of it (or of the container that is walked) in [start,end);
	// false stops the scanner.
	Item(start, end int64) bool
	// Closed is called when the array has ended before end.
	Closed(end int64)
	// Object is called for an object below `depth` keys in [start,end).
	Object(depth int, start, end int64)
}

// Items reads JSON that comes in pieces of any size, checks all of its grammar and reports the places of the items of arrays. It keeps no
// text: its memory is a bit for each level of nesting.
type Items struct {
	// Off is the offset of the next byte.
	Off int64
	// SkipAt stops the scanner before an item that starts there; -1 is none. See [Items.Skipped].
	SkipAt int64
	// Stopped reports that Feed ended early: before SkipAt, or because Item returned false.
	Stopped bool
	// What is the reason why Feed failed.
	What string

	to       Events // nil: only the grammar is checked, of one value
	maxDepth int
	maxSpace int // white space in a row; 0 is any
	space    int
	state    state
	back     state // where an escape goes back to
	left     int   // hex digits still to come
	literal  string
	brackets rawjson.Nesting
	level    int                   // depth of the container whose items are told; 0 is none
	members  bool                  // that container is an object
	start    int64                 // of the item under way
	begins   [MaxKeys + 1]int64    // where the open objects begin
	keys     [MaxKeys + 1][2]int64 // where the last key of each lies, with quotes
}

// NewItems returns a scanner for a text that begins at off.
func NewItems(to Events, off int64) *Items {
	return &Items{to: to, Off: off, SkipAt: -1, maxDepth: rawjson.MaxDepth}
}

// ItemsFrom returns a scanner that goes on at the first byte of an item (or the space before it) of an array, or with members at a member
// of an object.
func ItemsFrom(to Events, off int64, members bool) *Items {
	s := NewItems(to, off)
	s.level, s.members = 1, members
	s.state = wantValueOrEnd
	if members {
		s.state = wantKeyOrEnd
	}
	s.brackets.Open(members)
	return s
}

// Skipped goes on behind the item before which SkipAt stopped it; the item ends before end.
func (s *Items) Skipped(end int64) {
	s.Stopped, s.state, s.start, s.Off = false, afterValue, s.Off, end
}

// Whole reports whether one value has been read to its end.
func (s *Items) Whole() bool { return s.state == afterAll }

// endsHere reports whether one value has been read if the text ends here: the end of a number cannot be seen before.
func (s *Items) endsHere() bool {
	switch s.state {
	case numberZero, numberInt, numberFraction, numberExponent:
		return s.brackets.Depth == 0
	}
	return s.Whole()
}

// Depth returns the number of open containers.
func (s *Items) Depth() int { return s.brackets.Depth }

// Keys returns the ranges of the keys that lead down to a depth, at most MaxKeys, with their quotes.
func (s *Items) Keys(depth int) [][2]int64 { return slices.Clone(s.keys[1 : depth+1]) }

// endValue is called for a value that ends before off. It reports an item, and stops the scanner if the receiver wants no more, or at the end of the
// text if there is no receiver.
func (s *Items) endValue(off int64) {
	switch {
	case s.brackets.Depth == 0:
		s.state = afterAll
		s.Stopped = s.to == nil
	default:
		s.state = afterValue
		if s.brackets.Depth == s.level && !s.to.Item(s.start, off) {
			s.Stopped = true
		}
	}
}

// open enters the container that begins at off, and tells the receiver if it is the array whose items it gets; false, with What set, if that is too
// deep.
func (s *Items) open(off int64, object bool) bool {
	if s.level == 0 && s.brackets.Depth <= MaxKeys && s.to != nil {
		if object {
			s.begins[s.brackets.Depth] = off
		} else {
			s.level, s.members = s.brackets.Depth+1, false
			s.to.Opened(off)
		}
	}
	if s.state = wantValueOrEnd; object {
		s.state = wantKeyOrEnd
	}
	if s.brackets.Depth == s.maxDepth {
		s.What = fmt.Sprintf("more than %d levels of nesting", s.maxDepth)
		return false
	}
	return s.brackets.Open(object)
}

// close leaves the container whose bracket is the byte before end, and reports it.
func (s *Items) close(end int64) {
	object := s.brackets.Object()
	s.brackets.Close(object)
	switch {
	case s.brackets.Depth < s.level && s.brackets.Depth == s.level-1:
		s.level = 0
		s.to.Closed(end)
	case s.level == 0 && object && s.brackets.Depth <= MaxKeys && s.to != nil:
		s.to.Object(s.brackets.Depth, s.begins[s.brackets.Depth], end)
	}
	s.endValue(end)
}

// Feed reads b and returns the number of bytes taken: all, unless the scanner was stopped or b is not JSON (then ok is false and What is
// the reason).
func (s *Items) Feed(b []byte) (n int, ok bool) {
	base, i := s.Off, 0
	for i < len(b) {
		c := b[i]
		switch s.state {
		case inString, inKey:
			if i = textEnd(b, i); i == len(b) {
				continue
			}
			switch c = b[i]; {
			case c == '\\':
				s.back, s.state = s.state, inEscape
			case c != '"':
				return i, s.fail(base, i)
			case s.state == inKey:
				if s.level == 0 && s.brackets.Depth <= MaxKeys {
					s.keys[s.brackets.Depth][1] = base + int64(i) + 1
				}
				s.state = wantColon
			default:
				s.endValue(base + int64(i) + 1)
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
				s.endValue(base + int64(i))
			}
		case numberMinus, numberZero, numberInt, numberDot, numberFraction, numberE, numberSign, numberExponent:
			next, done, good := number(s.state, c)
			if !good {
				return i, s.fail(base, i)
			}
			if done {
				s.endValue(base + int64(i))
				break
			}
			s.state = next
			i++
		default:
			if isSpace(c) {
				from := i
				for i++; i < len(b) && isSpace(b[i]); {
					i++
				}
				if s.space += i - from; s.maxSpace > 0 && s.space > s.maxSpace {
					s.What = endlessSpace
					return i, s.fail(base, i)
				}
				continue
			}
			s.space = 0
			if s.beginsItem() {
				if s.start = base + int64(i); s.start == s.SkipAt {
					s.Stopped = true
					s.Off = s.start
					return i, true
				}
			}
			if !s.structure(c, base+int64(i)) {
				return i, s.fail(base, i)
			}
			i++
		}
		if s.Stopped {
			break
		}
	}
	s.Off = base + int64(i)
	return i, true
}

// fail sets Off to the byte at i, and What unless it is set. It returns false.
func (s *Items) fail(base int64, i int) bool {
	s.Off = base + int64(i)
	if s.What == "" {
		s.What = wrong[s.state]
	}
	return false
}

// beginsItem reports whether the next byte, unless it is a closing bracket, begins an item.
func (s *Items) beginsItem() bool {
	if s.brackets.Depth != s.level || s.brackets.Depth == 0 {
		return false
	}
	if s.members {
		return s.state == wantKey || s.state == wantKeyOrEnd
	}
	return s.state == wantValue || s.state == wantValueOrEnd
}

// structure takes one byte between values; false if it is wrong there.
func (s *Items) structure(c byte, off int64) bool {
	switch s.state {
	case wantKeyOrEnd, wantKey:
		if c == '}' && s.state == wantKeyOrEnd {
			s.close(off + 1)
			return true
		}
		if s.level == 0 && s.brackets.Depth <= MaxKeys {
			s.keys[s.brackets.Depth][0] = off
		}
		if c != '"' {
			return false
		}
		s.state = inKey
		return true
	case wantColon:
		if c != ':' {
			return false
		}
		s.state = wantValue
		return true
	case afterValue:
		switch object := s.brackets.Object(); {
		case c == ',':
			if s.state = wantValue; object {
				s.state = wantKey
			}
			return true
		case c == '}' && object, c == ']' && !object:
			s.close(off + 1)
			return true
		}
		return false
	case afterAll:
		return false
	case wantValueOrEnd:
		if c == ']' {
			s.close(off + 1)
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

// state is a state of [Items].
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

// wrong describes the fault of a byte that a state does not take.
var wrong = [...]string{
	wantValue: "no value", wantValueOrEnd: "no value", inLiteral: "no value",
	wantKey: "no key", wantKeyOrEnd: "no key", wantColon: "no colon",
	afterValue: "no comma and no end", numberZero: "no comma and no end", afterAll: "something behind the end",
	inString: "a control character in a string", inKey: "a control character in a string",
	inEscape: "an unknown escape", inHex: "no hexadecimal digit in an escape",
	numberMinus: noDigit, numberInt: noDigit, numberDot: noDigit, numberFraction: noDigit,
	numberE: noDigit, numberSign: noDigit, numberExponent: noDigit,
}

const (
	noDigit      = "no digit in a number"
	endlessSpace = "white space without an end"
)

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// number takes one byte of a number. done reports that the number ended before it, ok is false for a byte that is wrong there.
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
