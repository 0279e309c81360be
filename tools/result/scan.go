package result

import (
	"encoding/binary"
	"math/bits"
)

// lanes repeats a byte over a word.
const lanes = 0x0101010101010101

// stringEnd returns how many bytes of p come before the first quote or backslash; len(p)
// when there is none. Eight bytes are looked at in one go: JSON in a string has an escape
// every few bytes, where the call of a search for one byte costs more than it saves.
func stringEnd(p []byte) int {
	i := 0
	for ; i+8 <= len(p); i += 8 {
		w := binary.LittleEndian.Uint64(p[i:])
		q, b := w^('"'*lanes), w^('\\'*lanes)
		// The lowest bit set is that of the first zero byte of q or b; those above it may
		// be wrong (a borrow), and are not looked at.
		if hit := ((q-lanes)&^q | (b-lanes)&^b) & (0x80 * lanes); hit != 0 {
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

// nesting remembers the open brackets of a value, one bit each: true is an object.
type nesting struct {
	objects [MaxDepth/64 + 1]uint64
	depth   int
}

// open enters a bracket; false when it is too deep.
func (n *nesting) open(object bool) bool {
	if n.depth == MaxDepth {
		return false
	}
	bit := uint64(1) << (n.depth % 64)
	if object {
		n.objects[n.depth/64] |= bit
	} else {
		n.objects[n.depth/64] &^= bit
	}
	n.depth++
	return true
}

// close leaves a bracket; false when it is not the one that is open.
func (n *nesting) close(object bool) bool {
	if n.depth == 0 {
		return false
	}
	n.depth--
	return n.objects[n.depth/64]>>(n.depth%64)&1 == 1 == object
}
