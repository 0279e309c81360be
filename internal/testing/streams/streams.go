// Package streams gives tests readers that are hard on their reader: texts that come in small pieces, and texts of any size that are never
// in memory.
//
//	r := streams.Pieces(text, seed) // of 1 to 9 bytes; the same seed gives the same pieces
//	r = io.MultiReader(strings.NewReader(`{"text":"`), streams.Repeat("x", 256<<20), strings.NewReader(`"}`))
//
// Where every read is of one byte, or half of what was asked for, testing/iotest has a reader.
package streams

import (
	"io"
	"math/rand/v2"
	"strings"
)

// Pieces reads a text in pieces of random sizes. The last one comes with the end of the text or before it.
func Pieces(text []byte, seed uint64) io.Reader {
	r := rand.New(rand.NewPCG(seed, 1))
	return &pieces{text: text, size: func() int { return 1 + r.IntN(9) }, early: func() bool { return r.IntN(2) == 0 }}
}

// Equal reads a text in pieces of one size.
func Equal(text []byte, size int) io.Reader {
	return &pieces{text: text, size: func() int { return size }, early: func() bool { return false }}
}

type pieces struct {
	text  []byte
	size  func() int
	early func() bool // says the end with the last piece
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.text) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.text[:min(len(p.text), p.size())])
	p.text = p.text[n:]
	if len(p.text) == 0 && p.early() {
		return n, io.EOF
	}
	return n, nil
}

// Repeat reads n bytes of a text that comes again and again.
func Repeat(text string, n int64) io.Reader {
	return &repeat{text: strings.Repeat(text, 1+longCopy/len(text)), left: n}
}

// longCopy is the least that a read copies at once, in bytes, where so much was asked for.
const longCopy = 32 << 10

type repeat struct {
	text string
	at   int // in text
	left int64
}

func (r *repeat) Read(b []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	b = b[:min(int64(len(b)), r.left)]
	n := 0
	for n < len(b) {
		k := copy(b[n:], r.text[r.at:])
		n, r.at = n+k, (r.at+k)%len(r.text)
	}
	r.left -= int64(n)
	return n, nil
}
