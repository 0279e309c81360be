package result

import (
	"bytes"
	"fmt"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// events is what the lexer tells. Everything it hands over is valid during the call.
type events interface {
	open(p place, key []byte)
	// begin starts a value; key is the literal of its key with quotes, nil for an element
	// and for a key over maxKey. Its bytes come in pieces, then end.
	begin(f field, in place, key []byte)
	piece(p []byte)
	end()
	close(p place)
}

// maxKey is the longest key, as a literal, whose member can be kept.
const maxKey = 256

// lexer reads one message in pieces of any size.
type lexer struct {
	to       events
	resource bool // contents is looked into, not content

	state state
	off   int64
	stack [8]place
	depth int
	first bool // a container was just opened
	key   []byte
	long  bool // the key is longer than maxKey
	esc   bool // the next byte of a string is escaped

	field   field
	nest    nesting // of the raw value
	text    unquoter
	trailed bool // bytes follow the message
}

type state uint8

const (
	wantValue state = iota // or the end of an array that was just opened
	wantKey                // or the end of an object that was just opened
	inKey
	wantColon
	wantMore // a comma or the end of the container
	inRaw    // an object or array, outside of strings
	inString // in one of its strings, or in a string by itself
	inScalar
	inText
	ended
)

func (l *lexer) reset(to events, resource bool) {
	text := l.text.out
	key := l.key[:0]
	*l = lexer{to: to, resource: resource, key: key, text: unquoter{out: text}}
}

// SyntaxError says where a message cannot be followed.
type SyntaxError struct {
	Offset int64 // in bytes
	What   string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("byte %d: %s", e.Offset, e.What) }

// write reads the next bytes. After an error it must not be called again.
func (l *lexer) write(p []byte) error {
	for i := 0; i < len(p); {
		n, why := l.next(p[i:])
		if why != "" {
			return &SyntaxError{l.off + int64(i+n), why}
		}
		i += n
	}
	l.off += int64(len(p))
	return nil
}

// finish says whether the message was whole.
func (l *lexer) finish() error {
	if l.state == ended {
		return nil
	}
	return &SyntaxError{l.off, "the message ends before it is complete"}
}

// abandon ends the value and the containers that are open, so that what came can be used.
func (l *lexer) abandon() {
	switch l.state {
	case inText:
		if rest := l.text.end(); len(rest) > 0 {
			l.to.piece(rest)
		}
		l.to.end()
	case inRaw, inString, inScalar:
		l.to.end()
	}
	for l.depth > 0 {
		l.depth--
		l.to.close(l.stack[l.depth])
	}
	l.state = ended
}

// next takes some of p, and says why it cannot.
func (l *lexer) next(p []byte) (n int, why string) {
	switch l.state {
	case inText:
		text, n, closed := l.text.feed(p)
		if len(text) > 0 {
			l.to.piece(text)
		}
		if closed {
			l.to.end()
			l.state = wantMore
		}
		return n, ""
	case inRaw, inString:
		return l.raw(p)
	case inScalar:
		for n < len(p) && classes[p[n]] == classOther {
			n++
		}
		if n > 0 {
			l.to.piece(p[:n])
		}
		if n < len(p) {
			l.to.end()
			l.after()
		}
		return n, ""
	case inKey:
		return l.readKey(p), ""
	}
	c := p[0]
	if classes[c] == classSpace {
		return 1, ""
	}
	switch l.state {
	case wantValue:
		if c == ']' && l.first {
			return 1, l.leave(c)
		}
		l.first = false
		return l.value(p)
	case wantKey:
		switch {
		case c == '"':
			l.first, l.long, l.key = false, false, append(l.key[:0], c)
			l.state = inKey
			return 1, ""
		case c == '}' && l.first:
			return 1, l.leave(c)
		}
		return 0, "a key is expected"
	case wantColon:
		if c != ':' {
			return 0, "a colon is expected"
		}
		l.state = wantValue
		return 1, ""
	case wantMore:
		if c != ',' {
			return 1, l.leave(c)
		}
		l.state = wantKey
		if l.array() {
			l.state = wantValue
		}
		return 1, ""
	}
	l.trailed = true
	return len(p), ""
}

func (l *lexer) array() bool {
	in := l.stack[l.depth-1]
	return in == inContent || in == inContents
}

// after is the state behind a value.
func (l *lexer) after() {
	l.state = wantMore
	if l.depth == 0 {
		l.state = ended
	}
}

func (l *lexer) enter(p place, key []byte) {
	l.stack[l.depth] = p
	l.depth++
	l.first = true
	l.state = wantKey
	if l.array() {
		l.state = wantValue
	}
	l.to.open(p, key)
}

func (l *lexer) leave(c byte) string {
	want := byte('}')
	if l.array() {
		want = ']'
	}
	if c != want {
		return "a comma or the end of the value is expected"
	}
	l.depth--
	l.to.close(l.stack[l.depth])
	l.after()
	return ""
}

// readKey takes the bytes of a key.
func (l *lexer) readKey(p []byte) int {
	n := 0
	for n < len(p) {
		c := p[n]
		n++
		if len(l.key) < maxKey {
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
			l.state = wantColon
			return n
		}
	}
	return n
}

// value begins the value that p starts with.
func (l *lexer) value(p []byte) (int, string) {
	c := p[0]
	if classes[c] == classClose || classes[c] == classMark {
		return 0, "a value is expected"
	}
	if l.depth == 0 {
		if c != '{' {
			return 0, "a message is an object"
		}
		l.enter(inMessage, nil)
		return 1, ""
	}
	in, key := l.stack[l.depth-1], l.key
	if l.array() || l.long {
		key = nil
	}
	name := key
	if key != nil {
		if name = key[1 : len(key)-1]; bytes.IndexByte(name, '\\') >= 0 {
			name = rawjson.Unquote(nil, key)
		}
	}
	if p, ok := l.inside(in, string(name), c); ok {
		l.enter(p, key)
		return 1, ""
	}
	l.field = fieldOf(in, string(name), c)
	if l.array() {
		l.field = fieldElement
	}
	l.to.begin(l.field, in, key)
	l.nest.depth = 0
	switch {
	case l.field.decoded():
		l.state = inText
		return 1, ""
	case c == '"':
		l.state = inString
		l.to.piece(p[:1])
		return 1, ""
	case classes[c] == classOpen:
		l.state = inRaw
		return 0, ""
	}
	l.state = inScalar
	return 0, ""
}

// raw takes bytes of a raw value up to its end.
func (l *lexer) raw(p []byte) (n int, why string) {
	for n < len(p) {
		if l.state == inString {
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
			l.state = inRaw
		} else {
			c := p[n]
			switch classes[c] {
			case classQuote:
				l.state = inString
				n++
				continue
			case classOpen:
				if !l.nest.open(c == '{') {
					l.to.piece(p[:n])
					return n, fmt.Sprintf("values are nested more than %d deep", MaxDepth)
				}
				n++
				continue
			case classClose:
				if !l.nest.close(c == '}') {
					l.to.piece(p[:n])
					return n, "a bracket is closed that is not open"
				}
				n++
			default:
				n++
				continue
			}
		}
		if l.nest.depth == 0 {
			l.to.piece(p[:n])
			l.to.end()
			l.after()
			return n, ""
		}
	}
	l.to.piece(p[:n])
	return n, ""
}
