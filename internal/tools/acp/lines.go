package acp

import (
	"bytes"
	"io"
)

const (
	firstBuffer = 4 << 10
	// holdToAgent and holdToClient bound the part of one line that is in memory, in bytes, for each direction.
	holdToAgent  = 1 << 20
	holdToClient = 64 << 10
)

// lines reads a stream of lines without losing a byte: a line that fits into hold bytes is returned whole, a longer one in pieces.
type lines struct {
	src  io.Reader
	hold int
	buf  []byte
	r, w int
	err  error
	open bool // a line has begun and not ended
}

// next returns the next line with its line break, or a piece of it. first says that the line begins with the piece, last that it ends with
// it. The piece is valid until the next call.
func (l *lines) next() (piece []byte, first, last bool, err error) {
	seen := 0
	for {
		if n := bytes.IndexByte(l.buf[l.r+seen:l.w], '\n'); n >= 0 {
			return l.take(seen + n + 1)
		}
		seen = l.w - l.r
		switch {
		case seen >= l.hold || l.err != nil && seen > 0:
			return l.take(seen)
		case l.err != nil:
			return nil, false, false, l.err
		}
		l.fill()
	}
}

func (l *lines) take(n int) ([]byte, bool, bool, error) {
	piece := l.buf[l.r : l.r+n]
	l.r += n
	first := !l.open
	l.open = piece[n-1] != '\n'
	return piece, first, !l.open, nil
}

// fill reads once, after making room. A buffer that has grown is released when it is empty.
func (l *lines) fill() {
	if l.r == l.w {
		l.r, l.w = 0, 0
		if len(l.buf) > holdToClient {
			l.buf = nil
		}
	}
	if l.r > 0 {
		l.w = copy(l.buf, l.buf[l.r:l.w])
		l.r = 0
	}
	if l.w == len(l.buf) {
		grown := make([]byte, min(max(2*len(l.buf), firstBuffer), l.hold))
		l.w = copy(grown, l.buf[:l.w])
		l.buf = grown
	}
	n, err := l.src.Read(l.buf[l.w:])
	l.w += n
	l.err = err
}
