package spool

import (
	"bytes"
	"unicode/utf8"
)

// maxLine is the length in bytes at which a line is cut into several, so that even a result of one line of a gigabyte has pages. A quarter
// of the clients' usual cap would split ordinary log lines; a line above the cap could never be shown.
const maxLine = 8 << 10

// lineScanner calls tell with the place of each line of valid UTF-8 text that comes in pieces of any size, until tell returns false. A line
// includes its newline. One longer than longest is cut at the beginning of a character.
type lineScanner struct {
	tell    func(start, end int64) bool
	off     int64 // of the next byte
	start   int64 // of the line under way
	longest int64
	stopped bool
}

func newLineScanner(tell func(start, end int64) bool, off, longest int64) *lineScanner {
	return &lineScanner{tell: tell, off: off, start: off, longest: max(longest, 2*utf8.UTFMax)}
}

// endLine ends the line under way at an offset.
func (s *lineScanner) endLine(at int64) {
	start := s.start
	s.start = at
	s.stopped = !s.tell(start, at)
}

// feed scans b and returns how many of its bytes it used: all, unless tell returned false.
func (s *lineScanner) feed(b []byte) int {
	base, i := s.off, 0
	for i < len(b) && !s.stopped {
		// Within the last few bytes of the longest line the next character begins.
		rest := s.start + s.longest - (utf8.UTFMax - 1) - (base + int64(i))
		if rest > 0 {
			window := b[i:min(int64(len(b)), int64(i)+rest)]
			if n := bytes.IndexByte(window, '\n'); n >= 0 {
				i += n + 1
				s.endLine(base + int64(i))
			} else {
				i += len(window)
			}
			continue
		}
		switch {
		case b[i] == '\n':
			i++
			s.endLine(base + int64(i))
		case utf8.RuneStart(b[i]):
			s.endLine(base + int64(i))
		default:
			i++
		}
	}
	s.off = base + int64(i)
	return i
}

// finish ends the last line if the text does not end in a newline.
func (s *lineScanner) finish() {
	if s.off > s.start && !s.stopped {
		s.endLine(s.off)
	}
}

// incompleteRune returns the number of bytes at the end of b that are the beginning of an incomplete character; 0 if there is none.
func incompleteRune(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return n
			}
			return 0
		}
	}
	return 0
}

// appendValid appends b to dst, with U+FFFD for each byte that is not UTF-8, until the capacity of dst is used up. It returns dst and the
// rest of b.
func appendValid(dst, b []byte) (good, rest []byte) {
	for len(b) > 0 && len(dst)+utf8.UTFMax <= cap(dst) {
		r, size := utf8.DecodeRune(b)
		dst = utf8.AppendRune(dst, r)
		b = b[size:]
	}
	return dst, b
}
