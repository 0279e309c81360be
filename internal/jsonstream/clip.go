package jsonstream

import "unicode/utf8"

// Clip takes a text and keeps its beginning: Max bytes, whole characters.
type Clip struct {
	Max  int
	Text []byte
	Size int64 // of all of it, in bytes
	Full bool  // there was more than fits in Max
}

// Byte adds one byte, which must be a whole character.
func (c *Clip) Byte(b byte) {
	c.Size++
	if c.Full = c.Full || len(c.Text) >= c.Max; !c.Full {
		c.Text = append(c.Text, b)
	}
}

// ASCII adds characters of one byte each.
func (c *Clip) ASCII(p []byte) {
	c.Size += int64(len(p))
	if fits := min(len(p), c.Max-len(c.Text)); !c.Full {
		c.Text = append(c.Text, p[:fits]...)
		c.Full = fits < len(p)
	}
}

// Rune adds a character.
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
