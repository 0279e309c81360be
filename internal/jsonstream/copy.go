package jsonstream

import (
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// maxAtom bounds a number that is copied, in bytes.
const maxAtom = 64 << 10

// Skip steps over a value and checks it as [Reader.Copy] does.
func (r *Reader) Skip() error { return r.Copy(&Clip{}) }

// Copy appends the next value to to as it is written, with U+FFFD for bytes that are not UTF-8. It checks brackets, the ends of strings and the
// characters of numbers and words, but neither commas nor colons, escapes nor control characters in strings: other mistakes are left to the receiver.
func (r *Reader) Copy(to *Clip) error {
	var open rawjson.Nesting
	for {
		c, err := r.Byte()
		if err != nil {
			return err
		}
		switch c {
		case '"':
			if err := r.copyString(to); err != nil {
				return err
			}
		case '{', '[':
			if open.Depth == r.o.MaxDepth || !open.Open(c == '{') {
				return r.Fail("values are nested too deep")
			}
			to.Byte(c)
			continue
		case '}', ']':
			if !open.Close(c == '}') {
				return r.Fail(fmt.Sprintf("%q closes nothing", c))
			}
			to.Byte(c)
		case ',', ':', ' ', '\t', '\r', '\n':
			if open.Depth > 0 {
				to.Byte(c)
				continue
			}
			if !isSpace(c) {
				return r.Fail(fmt.Sprintf("%q where a value was to come", c))
			}
			continue
		default:
			r.pos--
			if err := r.copyAtom(to); err != nil {
				return err
			}
		}
		if open.Depth == 0 {
			return nil
		}
	}
}

// copyString copies a string with its quotes and escapes as they are. Its opening quote was taken.
func (r *Reader) copyString(to *Clip) error {
	to.Byte('"')
	for {
		c, err := r.copyPlain(to)
		if err != nil {
			return err
		}
		if c >= utf8.RuneSelf {
			r.copyRune(to)
			continue
		}
		r.pos++
		to.Byte(c)
		if c == '"' {
			return nil
		}
		if c == '\\' {
			if c, err = r.peek(); err != nil {
				return err
			}
			if c < utf8.RuneSelf {
				r.pos++
				to.Byte(c)
			}
		}
	}
}

// copyAtom copies a number or a word such as true without checking its grammar. More than maxAtom bytes are an error.
func (r *Reader) copyAtom(to *Clip) error {
	for n := 0; ; n++ {
		c, err := r.peek()
		if err != nil {
			if n > 0 && errors.Is(err, io.ErrUnexpectedEOF) {
				return nil
			}
			return err
		}
		switch {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '-', c == '+', c == '.':
			if n == maxAtom {
				return r.Fail("a number without end")
			}
			to.Byte(c)
			r.pos++
		case n == 0:
			return r.Fail(fmt.Sprintf("%q where a value was to come", c))
		default:
			return nil
		}
	}
}
