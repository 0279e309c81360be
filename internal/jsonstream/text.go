package jsonstream

import (
	"unicode/utf16"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// Text takes a string and appends its decoded text to to. Bytes that are not UTF-8, and single halves of surrogate pairs, become U+FFFD.
func (r *Reader) Text(to *Clip) error {
	if err := r.Take('"'); err != nil {
		return err
	}
	for {
		c, err := r.copyPlain(to)
		switch {
		case err != nil:
			return err
		case c == '"':
			r.pos++
			return nil
		case c == '\\':
			err = r.copyEscape(to)
		case c < ' ':
			err = r.Fail(wrong[inString])
		default:
			r.copyRune(to)
		}
		if err != nil {
			return err
		}
	}
}

// copyPlain adds the ASCII that comes, up to the first byte that a string cannot hold as it is or that is not ASCII, and returns that byte
// without taking it.
func (r *Reader) copyPlain(to *Clip) (byte, error) {
	for {
		i := r.pos
		for i < r.end && r.buf[i] >= ' ' && r.buf[i] < utf8.RuneSelf && r.buf[i] != '"' && r.buf[i] != '\\' {
			i++
		}
		to.ASCII(r.buf[r.pos:i])
		if r.pos = i; i < r.end {
			return r.buf[i], nil
		}
		if err := r.fill(); err != nil {
			return 0, unexpected(err)
		}
	}
}

// peekBytes tries to have n bytes in the buffer and returns all that are there, which are fewer after an error or at the end. An error comes again
// when the reader goes on.
func (r *Reader) peekBytes(n int) []byte {
	mark := r.mark
	if mark < 0 {
		r.mark = r.pos
	}
	for r.end-r.pos < n && r.fill() == nil {
	}
	if mark < 0 {
		r.mark = -1
	}
	return r.buf[r.pos:r.end]
}

// copyRune adds one character beyond ASCII to to; U+FFFD if it is not UTF-8.
func (r *Reader) copyRune(to *Clip) {
	b := r.buf[r.pos:r.end]
	for n := 2; n <= utf8.UTFMax && !utf8.FullRune(b); n++ {
		b = r.peekBytes(n)
	}
	c, n := utf8.DecodeRune(b)
	r.pos += n
	to.Rune(c)
}

// copyEscape takes an escape and adds the character that it stands for to to.
func (r *Reader) copyEscape(to *Clip) error {
	r.pos++
	c, err := r.Byte()
	if err != nil {
		return err
	}
	if simple := simpleEscapes[c]; simple != 0 {
		to.Byte(simple)
		return nil
	}
	if c != 'u' {
		return r.Fail(noEscape)
	}
	if b := r.peekBytes(4); len(b) < 4 {
		r.pos = r.end
		_, err := r.Byte()
		return err
	}
	one, ok := rawjson.Hex4(r.buf[r.pos:r.end])
	if !ok {
		return r.Fail(noEscape)
	}
	r.pos += 4
	if utf16.IsSurrogate(one) {
		low, _ := rawjson.Escape(r.peekBytes(6))
		if one = utf16.DecodeRune(one, low); one != utf8.RuneError {
			r.pos += 6
		}
	}
	to.Rune(one)
	return nil
}

const noEscape = "an escape that JSON does not have"

// simpleEscapes maps the character behind a backslash to the one it stands for.
var simpleEscapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// Clip takes a text and keeps its beginning: Max bytes, whole characters.
type Clip struct {
	Max  int
	Text []byte
	Size int64 // of all of it, in bytes
	Full bool  // there was more than fits in Max
}

// Byte adds one byte, which must be a whole character. Where it does not fit, it only counts in Size, and so does everything after it.
func (c *Clip) Byte(b byte) {
	c.Size++
	if c.Full = c.Full || len(c.Text) >= c.Max; !c.Full {
		c.Text = append(c.Text, b)
	}
}

// ASCII adds characters of one byte each, as Byte does: as many as fit.
func (c *Clip) ASCII(p []byte) {
	c.Size += int64(len(p))
	if fits := min(len(p), c.Max-len(c.Text)); !c.Full {
		c.Text = append(c.Text, p[:fits]...)
		c.Full = fits < len(p)
	}
}

// Rune adds a character, as Byte does.
func (c *Clip) Rune(r rune) {
	n := utf8.RuneLen(r)
	c.Size += int64(n)
	if c.Full = c.Full || len(c.Text)+n > c.Max; !c.Full {
		c.Text = utf8.AppendRune(c.Text, r)
	}
}

// Whole returns the text, "" when there was more than fits.
func (c *Clip) Whole() string {
	if c.Full {
		return ""
	}
	return string(c.Text)
}
