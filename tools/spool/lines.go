package spool

import (
	"bytes"
	"unicode/utf8"
)

// maxLine is the length at which a line is cut into several, in bytes: a result of one line of a
// gigabyte still has pages. A quarter of the cap that clients commonly have would split
// ordinary log lines; above the cap a line could never be shown.
const maxLine = 8 << 10

// lineScanner finds the lines of valid UTF-8 text that comes in pieces of any size. A line
// holds its newline. One longer than `longest` is cut where a character begins.
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

func (s *lineScanner) end(at int64) {
	start := s.start
	s.start = at
	s.stopped = !s.tell(start, at)
}

// feed reads b and returns how many bytes it took: all, unless it was stopped.
func (s *lineScanner) feed(b []byte) int {
	base, i := s.off, 0
	for i < len(b) && !s.stopped {
		// Within the last few bytes of the longest line the next character begins.
		rest := s.start + s.longest - (utf8.UTFMax - 1) - (base + int64(i))
		if rest > 0 {
			window := b[i:min(int64(len(b)), int64(i)+rest)]
			if n := bytes.IndexByte(window, '\n'); n >= 0 {
				i += n + 1
				s.end(base + int64(i))
			} else {
				i += len(window)
			}
			continue
		}
		switch {
		case b[i] == '\n':
			i++
			s.end(base + int64(i))
		case utf8.RuneStart(b[i]):
			s.end(base + int64(i))
		default:
			i++
		}
	}
	s.off = base + int64(i)
	return i
}

// finish yields the line that has no newline at its end, if there is one.
func (s *lineScanner) finish() {
	if s.off > s.start && !s.stopped {
		s.end(s.off)
	}
}
