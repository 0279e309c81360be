package toolbox

import (
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// raw copies the value that comes as it stands there, and holds it to its brackets, commas
// apart. It does not recurse.
func (s *scanner) raw(to *clipped) error {
	var open []byte
	if _, err := s.next(); err != nil {
		return err
	}
	for {
		c, err := s.byte()
		if err != nil {
			return err
		}
		switch c {
		case '"':
			s.back()
			if err := s.literal(to); err != nil {
				return err
			}
		case '{', '[':
			if len(open) == maxDepth {
				return s.fail("values are nested too deep")
			}
			open = append(open, c+2) // the closing brackets stand two behind in ASCII
			to.add(c)
			continue
		case '}', ']':
			if len(open) == 0 || open[len(open)-1] != c {
				return s.fail(fmt.Sprintf("%q closes nothing", c))
			}
			open = open[:len(open)-1]
			to.add(c)
		case ',', ':', ' ', '\t', '\r', '\n':
			if len(open) == 0 {
				return s.fail(fmt.Sprintf("%q where a value was to come", c))
			}
			to.add(c)
			continue
		default:
			s.back()
			if err := s.atom(to); err != nil {
				return err
			}
		}
		if len(open) == 0 {
			return nil
		}
	}
}

// literal copies a string with its quotes and escapes.
func (s *scanner) literal(to *clipped) error {
	if err := s.take('"'); err != nil {
		return err
	}
	to.add('"')
	for {
		c, err := s.byte()
		if err != nil {
			return err
		}
		if c >= utf8.RuneSelf {
			s.back()
			r, n, err := s.r.ReadRune()
			if err != nil {
				return err
			}
			s.at += int64(n)
			to.rune(r)
			continue
		}
		to.add(c)
		if c == '"' {
			return nil
		}
		if c == '\\' {
			if c, err = s.byte(); err != nil {
				return err
			}
			to.add(c)
		}
	}
}

// maxAtom bounds a number, in bytes.
const maxAtom = 64 << 10

// atom copies a number, true, false or null, without judging it.
func (s *scanner) atom(to *clipped) error {
	for n := 0; ; n++ {
		c, err := s.byte()
		if err != nil {
			if n > 0 && errors.Is(err, io.ErrUnexpectedEOF) {
				return nil
			}
			return err
		}
		switch {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '-', c == '+', c == '.':
			if n == maxAtom {
				return s.fail("a number without end")
			}
			to.add(c)
		case n == 0:
			return s.fail(fmt.Sprintf("%q where a value was to come", c))
		default:
			s.back()
			return nil
		}
	}
}

// skip steps over a value.
func (s *scanner) skip() error { return s.raw(&clipped{}) }
