package jsonstream

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// Action selects how a value is handed to a [Visitor].
type Action uint8

// The actions.
const (
	Raw   Action = iota // its bytes are handed on as they are
	Text                // of a string: its text is handed on, decoded
	Enter               // of an object or array: its members are visited
)

// Visitor receives the parts of a message. Everything that it is handed is valid only during the call.
type Visitor interface {
	// Value selects the action for a value that begins with the byte c. literal is its key with
	// quotes and name the key decoded; both are nil for the message itself, for an element, and for
	// a key of more than MaxKey bytes. It may call [Lexer.Offset].
	Value(literal, name []byte, c byte) Action
	// Piece is called with the next bytes of a value that is not entered, and End at its end.
	Piece(p []byte)
	End()
	// Leave is called when the container entered last has ended.
	Leave()
}

// Lexer reads one message, which is an object, in pieces of any size, and hands its visitor the values as they come. It holds a key, and no
// value. In what is entered the grammar is checked, in the rest only brackets and strings, up to [rawjson.MaxDepth] deep.
type Lexer struct {
	to Visitor

	state lexing
	off   int64
	open  rawjson.Nesting // what was entered
	nest  rawjson.Nesting // of the raw value
	first bool            // a container was just opened
	key   []byte
	long  bool // the key is longer than MaxKey
	esc   bool // the next byte of a string is escaped
	text  Unquoter

	// Trailed reports whether bytes other than white space follow the message.
	Trailed bool
}

// lexing is the state of a [Lexer].
type lexing uint8

const (
	valueNext lexing = iota // or the end of an array that was just opened
	keyNext                 // or the end of an object that was just opened
	keyText
	colonNext
	moreNext  // a comma or the end of the container
	rawValue  // an object or array, outside of strings
	rawString // in one of its strings, or in a string by itself
	rawScalar
	textValue
	ended
)

// Reset makes l ready for another message. A nil visitor only releases the last one.
func (l *Lexer) Reset(to Visitor) {
	l.text.Reset()
	l.open.Reset()
	l.nest.Reset()
	*l = Lexer{to: to, key: l.key[:0], text: l.text, open: l.open, nest: l.nest}
}

// Offset returns the offset, in bytes, of the value in a call of [Visitor.Value].
func (l *Lexer) Offset() int64 { return l.off }

// Feed reads the next bytes. Those behind the message are ignored, and set Trailed unless they are white space. The error is a *[SyntaxError]; after
// it Feed must not be called again.
func (l *Lexer) Feed(p []byte) error {
	for len(p) > 0 {
		n, why := l.next(p)
		l.off += int64(n)
		if why != "" {
			return &SyntaxError{l.off, why}
		}
		p = p[n:]
	}
	return nil
}

// Finish returns a *[SyntaxError] unless the message was whole.
func (l *Lexer) Finish() error {
	if l.state == ended {
		return nil
	}
	return &SyntaxError{l.off, "the message ends before it is complete"}
}

// Abandon ends the value and the containers that are open, so that the visitor can use the part that came. What is fed after it is ignored.
func (l *Lexer) Abandon() {
	switch l.state {
	case textValue:
		if rest := l.text.End(); len(rest) > 0 {
			l.to.Piece(rest)
		}
		l.to.End()
	case rawValue, rawString, rawScalar:
		l.to.End()
	}
	for l.open.Close(l.open.Object()) {
		l.to.Leave()
	}
	l.state = ended
}

// next takes some bytes of p, or none and only changes the state; why is the reason when it cannot go on, else "".
func (l *Lexer) next(p []byte) (n int, why string) {
	switch l.state {
	case textValue:
		text, n, closed := l.text.Feed(p)
		if len(text) > 0 {
			l.to.Piece(text)
		}
		if closed {
			l.to.End()
			l.state = moreNext
		}
		return n, ""
	case rawValue, rawString:
		return l.raw(p)
	case rawScalar:
		for n < len(p) && classes[p[n]] == classOther {
			n++
		}
		if n > 0 {
			l.to.Piece(p[:n])
		}
		if n < len(p) {
			l.to.End()
			l.endValue()
		}
		return n, ""
	case keyText:
		return l.readKey(p), ""
	}
	c := p[0]
	if classes[c] == classSpace {
		return 1, ""
	}
	switch l.state {
	case valueNext:
		if c == ']' && l.first {
			return 1, l.closeContainer(c)
		}
		l.first = false
		return l.value(p)
	case keyNext:
		switch {
		case c == '"':
			l.first, l.long, l.key = false, false, append(l.key[:0], c)
			l.state = keyText
			return 1, ""
		case c == '}' && l.first:
			return 1, l.closeContainer(c)
		}
		return 0, "a key is expected"
	case colonNext:
		if c != ':' {
			return 0, "a colon is expected"
		}
		l.state = valueNext
		return 1, ""
	case moreNext:
		if c != ',' {
			return 1, l.closeContainer(c)
		}
		l.state = keyNext
		if !l.open.Object() {
			l.state = valueNext
		}
		return 1, ""
	}
	l.Trailed = true
	return len(p), ""
}

// endValue sets the state behind a value.
func (l *Lexer) endValue() {
	l.state = moreNext
	if l.open.Depth == 0 {
		l.state = ended
	}
}

// closeContainer leaves the container that bracket c closes. It returns the reason if that is wrong here, else "".
func (l *Lexer) closeContainer(c byte) string {
	object := l.open.Object()
	if (c != '}' || !object) && (c != ']' || object) {
		return "a comma or the end of the value is expected"
	}
	l.open.Close(object)
	l.to.Leave()
	l.endValue()
	return ""
}

// readKey takes bytes of a key up to its closing quote and returns their number. It keeps the first MaxKey, and sets long if there are more.
func (l *Lexer) readKey(p []byte) int {
	n := 0
	for n < len(p) {
		c := p[n]
		n++
		if len(l.key) < MaxKey {
			l.key = append(l.key, c)
		} else {
			l.long = true
		}
		switch {
		case l.esc:
			l.esc = false
		case c == '\\':
			l.esc = true
		case c == '"':
			l.state = colonNext
			return n
		}
	}
	return n
}

// value begins the value at the start of p, and returns the bytes taken and the fault, "" for none.
func (l *Lexer) value(p []byte) (int, string) {
	c := p[0]
	if classes[c] == classClose || classes[c] == classMark {
		return 0, "a value is expected"
	}
	if l.open.Depth == 0 && c != '{' {
		return 0, "a message is an object"
	}
	var literal, name []byte
	if l.open.Object() && !l.long {
		literal, name = l.key, l.key[1:len(l.key)-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			name = rawjson.Unquote(nil, literal)
		}
	}
	switch action := l.to.Value(literal, name, c); {
	case action == Enter && classes[c] == classOpen:
		if !l.open.Open(c == '{') {
			return 0, tooDeep
		}
		l.first = true
		l.state = keyNext
		if c == '[' {
			l.state = valueNext
		}
		return 1, ""
	case action == Text && c == '"':
		l.state = textValue
		return 1, ""
	case c == '"':
		l.nest.Reset()
		l.state = rawString
		l.to.Piece(p[:1])
		return 1, ""
	case classes[c] == classOpen:
		l.nest.Reset()
		l.state = rawValue
		return 0, ""
	}
	l.state = rawScalar
	return 0, ""
}

// raw takes bytes of a raw value, up to its end; why is the reason when it cannot go on, else "".
func (l *Lexer) raw(p []byte) (n int, why string) {
	for n < len(p) {
		if l.state == rawString {
			if l.esc {
				l.esc = false
				n++
				continue
			}
			if n += stringEnd(p[n:]); n == len(p) {
				break
			}
			n++
			if p[n-1] == '\\' {
				l.esc = true
				continue
			}
			l.state = rawValue
		} else {
			c := p[n]
			switch classes[c] {
			case classQuote:
				l.state = rawString
				n++
				continue
			case classOpen:
				if !l.nest.Open(c == '{') {
					l.to.Piece(p[:n])
					return n, tooDeep
				}
				n++
				continue
			case classClose:
				if !l.nest.Close(c == '}') {
					l.to.Piece(p[:n])
					return n, "a bracket is closed that is not open"
				}
				n++
			default:
				n++
				continue
			}
		}
		if l.nest.Depth == 0 {
			l.to.Piece(p[:n])
			l.to.End()
			l.endValue()
			return n, ""
		}
	}
	l.to.Piece(p[:n])
	return n, ""
}

var tooDeep = fmt.Sprintf("values are nested more than %d deep", rawjson.MaxDepth)

// lanes repeats a byte over a word; highs is the top bit of each byte.
const (
	lanes = 0x0101010101010101
	highs = 0x80 * lanes
)

// stringEnd returns the number of bytes of p before the first quote or backslash, len(p) when there is none. It looks at eight bytes at a
// time: JSON in a string has an escape every few bytes, where calling a search for one byte costs more than it saves.
func stringEnd(p []byte) int {
	i := 0
	for ; i+8 <= len(p); i += 8 {
		w := binary.LittleEndian.Uint64(p[i:])
		q, b := w^('"'*lanes), w^('\\'*lanes)
		// The lowest bit set is that of the first zero byte of q or b; those above it may
		// be wrong (a borrow), and are not looked at.
		if hit := ((q-lanes)&^q | (b-lanes)&^b) & highs; hit != 0 {
			return i + bits.TrailingZeros64(hit)>>3
		}
	}
	for ; i < len(p); i++ {
		if p[i] == '"' || p[i] == '\\' {
			return i
		}
	}
	return i
}

// textEnd returns the place in b, from i on, of the first byte that a JSON string cannot hold as it is (a quote, a backslash, a control
// character), len(b) when there is none.
func textEnd(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote, slash := w^lanes*'"', w^lanes*'\\'
		// A byte's high bit is set where it is below 0x20, or equal to one of the two. A
		// borrow may set bits above the first hit and never below it.
		if hit := ((w - lanes*0x20) &^ w & highs) | ((quote - lanes) &^ quote & highs) | ((slash - lanes) &^ slash & highs); hit != 0 {
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

// Classes of bytes outside of strings.
const (
	classOther = iota // of numbers and literals, and what JSON does not know
	classSpace
	classQuote
	classOpen
	classClose
	classMark // colon and comma
)

var classes = func() (c [256]uint8) {
	for _, b := range " \t\r\n" {
		c[b] = classSpace
	}
	c['"'] = classQuote
	c['{'], c['['] = classOpen, classOpen
	c['}'], c[']'] = classClose, classClose
	c[':'], c[','] = classMark, classMark
	return c
}()
