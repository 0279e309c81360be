package jsonrpc

import (
	"bytes"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// Legible returns a message in which every reader of JSON can read every string. Bytes that are not UTF-8 and single halves of surrogate pairs
// become U+FFFD, control characters are escaped. Clients and servers in Python and Rust refuse a whole message for one of them, and a request
// whose answer was refused waits for ever; those in JavaScript and Go write and read them, so that nobody notices at home: a text that was cut
// in the middle of an emoji, a file in Latin-1. A message without them is returned as it is.
//
// rest gives the bytes that follow head; it is nil if head is the whole message. A character at the end of head that goes on in rest comes
// with the returned rest.
func Legible(head []byte, rest io.Reader) ([]byte, io.Reader) {
	var l legible
	if rest == nil {
		out, _ := l.mend(head, true)
		return out, nil
	}
	out, used := l.mend(head, false)
	return out, &legibleRest{l: l, r: rest, raw: bytes.Clone(head[used:])}
}

// legible mends a JSON text that comes in pieces.
type legible struct{ inString bool }

// longestUnit is the most bytes that are looked at together: two escapes of a surrogate pair.
const longestUnit = len(`\ud83d\ude00`)

// mend returns what becomes of the first used bytes of b. What is not used is the beginning of a character or of an escape and comes again
// with the bytes that follow; there is none if b is the last of the text. The result is part of b if nothing changed.
func (l *legible) mend(b []byte, last bool) (out []byte, used int) {
	done, changed := 0, false // b[:done] is in out, once something changed
	i := 0
loop:
	for i < len(b) {
		c := b[i]
		switch {
		case c == '"':
			l.inString = !l.inString
			i++
			continue
		case c < utf8.RuneSelf && (c >= 0x20 && c != '\\' || !l.inString):
			i++
			continue
		}
		unit := b[i:min(i+longestUnit, len(b))]
		n, with := unitOf(unit)
		if n == 0 && !last {
			break loop
		}
		if n == 0 { // the text ends within it
			n, with = endOf(unit)
		}
		if with != "" {
			out = append(append(out, b[done:i]...), with...)
			done, changed = i+n, true
		}
		i += n
	}
	if !changed {
		return b[:i], i
	}
	return append(out, b[done:i]...), i
}

// replacement stands where a character cannot be known.
const replacement = `\ufffd`

// endOf is unitOf for a character or an escape behind which the text ends.
func endOf(b []byte) (n int, with string) {
	if r, ok := rawjson.Escape(b); ok && utf16.IsSurrogate(r) {
		return 6, replacement
	}
	if b[0] >= utf8.RuneSelf {
		return 1, replacement
	}
	return 1, ""
}

// unitOf returns the length of the character or the escape at the start of b, and what takes its place; "" if it stays. The length is 0 if b
// ends before that is known.
func unitOf(b []byte) (n int, with string) {
	switch {
	case b[0] >= utf8.RuneSelf:
		if !utf8.FullRune(b) {
			return 0, ""
		}
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size == 1 {
			return 1, replacement
		}
		return size, ""
	case b[0] < 0x20:
		return 1, fmt.Sprintf(`\u%04x`, b[0])
	case len(b) == 1:
		return 0, ""
	case b[1] < 0x20 || b[1] >= utf8.RuneSelf: // no escape: what it stands before is looked at by itself
		return 1, ""
	case b[1] != 'u':
		return 2, ""
	case len(b) < 6:
		return 0, ""
	}
	first, ok := rawjson.Escape(b)
	if !ok {
		return 2, ""
	}
	if !utf16.IsSurrogate(first) {
		return 6, ""
	}
	after := b[6:]
	second, ok := rawjson.Escape(after)
	if ok && utf16.DecodeRune(first, second) != utf8.RuneError {
		return longestUnit, ""
	}
	if begun := len(after) == 0 || after[0] == '\\' && (len(after) == 1 || after[1] == 'u' && len(after) < 6); begun && first < 0xdc00 {
		return 0, ""
	}
	return 6, replacement
}

// legibleRest reads the rest of a message so that it is legible.
type legibleRest struct {
	l    legible
	r    io.Reader
	raw  []byte // read, and not yet mended
	out  []byte // mended, and not yet given
	err  error  // of r, once it came
	buf  []byte
	over bool
}

// Read reads the rest of the message, mended.
func (l *legibleRest) Read(p []byte) (int, error) {
	for len(l.out) == 0 {
		if l.over {
			return 0, l.err
		}
		if l.buf == nil {
			l.buf = make([]byte, restBuffer)
		}
		kept := copy(l.buf, l.raw)
		n, err := l.r.Read(l.buf[kept:])
		l.err, l.over = err, err != nil
		text := l.buf[:kept+n]
		out, used := l.l.mend(text, l.over)
		l.out, l.raw = out, text[used:]
	}
	n := copy(p, l.out)
	l.out = l.out[n:]
	return n, nil
}
