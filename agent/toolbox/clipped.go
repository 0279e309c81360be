package toolbox

import "unicode/utf8"

// clipped takes a text and keeps its beginning: max bytes, whole characters.
type clipped struct {
	b    []byte
	max  int
	size int64 // of all of it
	full bool
}

func (c *clipped) add(b byte) {
	c.size++
	if c.full = c.full || len(c.b) >= c.max; !c.full {
		c.b = append(c.b, b)
	}
}

func (c *clipped) rune(r rune) {
	n := utf8.RuneLen(r)
	c.size += int64(n)
	if c.full = c.full || len(c.b)+n > c.max; !c.full {
		c.b = utf8.AppendRune(c.b, r)
	}
}

// whole is the text, and "" when there was more than fits.
func (c *clipped) whole() string {
	if c.full {
		return ""
	}
	return string(c.b)
}
