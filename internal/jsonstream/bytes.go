package jsonstream

import (
	"encoding/binary"
	"math/bits"
)

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
