package spool

import (
	"bufio"
	"context"
	"io"
	"regexp/syntax"
	"unicode/utf8"
)

// maxWidth is the length in bytes up to which the matches of a pattern are searched only around its literals in large items.
const maxWidth = 1 << 10

// maxLooks bounds how many places around literals one search tries in vain: beyond it the literals are so frequent that one pass over the
// item is quicker.
const maxLooks = 1000

// isNarrowable reports whether a unit is matched only around the literals in it: it is too large for memory, and the length of every match
// is bounded.
func (s *search) isNarrowable(u unit) bool {
	return u.end-u.start > scanBuffer/2 && s.p.width > 0 && s.looks < maxLooks && s.v.m.Shape != Lines
}

// matchNear looks for a match around at, the offset of a literal, and counts it. It returns the offset from which the search goes on:
// behind the unit if there was a match, else the next byte.
func (s *search) matchNear(ctx context.Context, u unit, at int64) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	around := int64(s.p.width + utf8.UTFMax)
	from := max(u.start, at-around)
	b := make([]byte, min(u.end, at+around)-from)
	if k, err := s.r.text.ReadAt(b, from); k < len(b) {
		return 0, &errDamaged{err.Error()}
	}
	for from > u.start && len(b) > 0 && !utf8.RuneStart(b[0]) { // skips the rest of a character
		b, from = b[1:], from+1
	}
	b = b[:len(b)-incompleteRune(b)]
	found := s.p.re.FindIndex(b)
	if found == nil {
		s.looks++
		return at + 1, nil
	}
	s.count(u, from+int64(found[0]), from+int64(found[1]), b[found[0]:found[1]])
	return u.end, nil
}

// matchLarge matches a unit that is too large for memory by reading it as a stream: slower, with the same result.
func (s *search) matchLarge(ctx context.Context, u unit) error {
	in := bufio.NewReaderSize(&contextReader{ctx, io.NewSectionReader(s.r.text, u.start, u.end-u.start)}, pageBuffer)
	at := s.p.re.FindReaderIndex(in)
	if err := ctx.Err(); err != nil {
		return err
	}
	if at != nil {
		text := make([]byte, min(at[1]-at[0], breakdownText))
		_, _ = s.r.text.ReadAt(text, u.start+int64(at[0]))
		s.count(u, u.start+int64(at[0]), u.start+int64(at[1]), text)
	}
	return nil
}

// contextReader is a reader that fails once its context has ended: a regular expression over a gigabyte takes minutes, and perhaps nobody
// waits any more.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

// Read reads at most 4 KiB, or returns the context's error once that has ended.
func (l *contextReader) Read(p []byte) (int, error) {
	if err := l.ctx.Err(); err != nil {
		return 0, err
	}
	// Little at a time: the slowest expressions take a millisecond for a hundred bytes.
	return l.r.Read(p[:min(len(p), 4<<10)])
}

// width returns the greatest length in bytes of a match of the expression; ok is false if that is unbounded, or if the match also depends
// on the text around it, as with ^ and \b.
func width(re *syntax.Regexp) (n int, ok bool) {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpNoMatch:
		return 0, true
	case syntax.OpLiteral:
		return utf8.UTFMax * len(re.Rune), true
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return utf8.UTFMax, true
	case syntax.OpCapture, syntax.OpQuest:
		return width(re.Sub[0])
	case syntax.OpRepeat:
		n, ok = width(re.Sub[0])
		return n * re.Max, ok && re.Max >= 0
	case syntax.OpConcat, syntax.OpAlternate:
		for _, sub := range re.Sub {
			one, bounded := width(sub)
			if !bounded {
				return 0, false
			}
			if re.Op == syntax.OpAlternate {
				n = max(n, one)
			} else {
				n += one
			}
		}
		return n, true
	}
	return 0, false
}
