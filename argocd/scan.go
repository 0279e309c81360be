package argocd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/plimsoll/plimsoll/limit"
)

const (
	// scanBuffer is what a scanner starts with: most objects of a list are 9 KB, few 30.
	scanBuffer = 64 << 10
	// maxDepth is deeper than any Kubernetes object may be, and a tenth of what
	// encoding/json takes: what passes here is read there.
	maxDepth = 1000
	// maxSpace is how much white space in a row is a text that goes on and not a filler
	// without an end.
	maxSpace = 1 << 20
)

var errTooLong = errors.New("larger than allowed")

// syntaxError says where a text is no JSON.
type syntaxError struct {
	offset int64
	what   string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.what, e.offset) }

// scanner finds values in a JSON text as it comes and checks its grammar. It holds the value
// that it is in (from mark on) and nothing else.
type scanner struct {
	r        io.Reader
	buf      []byte
	pos, end int   // buf[pos:end] is unread
	mark     int   // the value that is kept begins here; -1: none is
	base     int64 // offset of buf[0] in the text
	max      int   // largest value to keep, in bytes
	stack    []byte
}

func newScanner(r io.Reader, most limit.Bytes) *scanner {
	return &scanner{r: r, buf: make([]byte, min(scanBuffer, max(512, int(most)))), mark: -1, max: int(most)}
}

// fill reads more. At the end of the text it gives io.EOF.
func (s *scanner) fill() error {
	from := s.pos
	if s.mark >= 0 {
		from = s.mark
	}
	if from > 0 {
		copy(s.buf, s.buf[from:s.end])
		s.base += int64(from)
		s.pos, s.end = s.pos-from, s.end-from
		if s.mark >= 0 {
			s.mark = 0
		}
	}
	if s.end == len(s.buf) {
		if s.end >= s.max {
			return errTooLong
		}
		grown := make([]byte, min(2*len(s.buf), s.max))
		copy(grown, s.buf[:s.end])
		s.buf = grown
	}
	for range 100 { // as bufio does: a reader that gives nothing so often is broken
		n, err := s.r.Read(s.buf[s.end:])
		if n > 0 {
			s.end += n
			return nil
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// peek gives the next byte.
func (s *scanner) peek() (byte, error) {
	if s.pos == s.end {
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
	return s.buf[s.pos], nil
}

// must is peek where the text may not end.
func (s *scanner) must() (byte, error) {
	c, err := s.peek()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return c, err
}

// space passes white space and gives the byte behind it, or io.EOF.
func (s *scanner) space() (byte, error) {
	passed := 0
	for {
		for s.pos < s.end {
			c := s.buf[s.pos]
			if c > ' ' || c != ' ' && c != '\n' && c != '\r' && c != '\t' {
				return c, nil
			}
			s.pos++
			if passed++; passed > maxSpace {
				return 0, s.wrong("white space without an end")
			}
		}
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
}

// next is space where the text may not end.
func (s *scanner) next() (byte, error) {
	c, err := s.space()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return c, err
}

func (s *scanner) wrong(what string) error {
	return &syntaxError{s.base + int64(s.pos), what}
}

// value passes one value, which begins at the next byte that is no white space.
func (s *scanner) value() error {
	s.stack = s.stack[:0]
	for {
		c, err := s.next()
		if err != nil {
			return err
		}
		switch {
		case c == '{' || c == '[':
			opened, err := s.open(c)
			if err != nil {
				return err
			}
			if opened {
				continue
			}
		case c == '"':
			err = s.string()
		case c == '-' || c >= '0' && c <= '9':
			err = s.number()
		case c == 't':
			err = s.literal("true")
		case c == 'f':
			err = s.literal("false")
		case c == 'n':
			err = s.literal("null")
		default:
			err = s.wrong("no value")
		}
		if err != nil {
			return err
		}
		if done, err := s.after(); done || err != nil {
			return err
		}
	}
}

// open passes the begin of an object, with its first key, or of an array. An empty one is
// passed as a whole and is not open.
func (s *scanner) open(c byte) (bool, error) {
	s.pos++
	closing := c + 2 // '{' and '}', '[' and ']' are two apart
	next, err := s.next()
	if err != nil {
		return false, err
	}
	if next == closing {
		s.pos++
		return false, nil
	}
	if len(s.stack) == maxDepth {
		return false, s.wrong(fmt.Sprintf("more than %d levels of nesting", maxDepth))
	}
	s.stack = append(s.stack, closing)
	if c == '{' {
		return true, s.key()
	}
	return true, nil
}

// key passes a key and its colon.
func (s *scanner) key() error {
	c, err := s.next()
	if err != nil {
		return err
	}
	if c != '"' {
		return s.wrong("no key")
	}
	if err := s.string(); err != nil {
		return err
	}
	return s.colon()
}

func (s *scanner) colon() error {
	c, err := s.next()
	if err != nil {
		return err
	}
	if c != ':' {
		return s.wrong("no colon")
	}
	s.pos++
	return nil
}

// after passes what closes behind a value, up to where another value begins. It tells
// whether everything is closed.
func (s *scanner) after() (bool, error) {
	for len(s.stack) > 0 {
		c, err := s.next()
		if err != nil {
			return false, err
		}
		closing := s.stack[len(s.stack)-1]
		switch c {
		case closing:
			s.pos++
			s.stack = s.stack[:len(s.stack)-1]
		case ',':
			s.pos++
			if closing == '}' {
				return false, s.key()
			}
			return false, nil
		default:
			return false, s.wrong("no comma and no end")
		}
	}
	return true, nil
}

// string passes a string. Bytes that are no UTF-8 pass, as in encoding/json.
func (s *scanner) string() error {
	s.pos++
	for {
		i, buf := s.pos, s.buf[:s.end]
		for i < len(buf) && buf[i] != '"' && buf[i] != '\\' && buf[i] >= ' ' {
			i++
		}
		s.pos = i
		c, err := s.must()
		if err != nil {
			return err
		}
		switch {
		case c == '"':
			s.pos++
			return nil
		case c == '\\':
			if err := s.escape(); err != nil {
				return err
			}
		case c < ' ':
			return s.wrong("a control character in a string")
		}
	}
}

func (s *scanner) escape() error {
	s.pos++
	c, err := s.must()
	if err != nil {
		return err
	}
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos++
		return nil
	case 'u':
		s.pos++
		for range 4 {
			if c, err = s.must(); err != nil {
				return err
			}
			if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
				return s.wrong("no hexadecimal digit in an escape")
			}
			s.pos++
		}
		return nil
	}
	return s.wrong("an unknown escape")
}

func (s *scanner) literal(text string) error {
	for i := range len(text) {
		c, err := s.must()
		if err != nil {
			return err
		}
		if c != text[i] {
			return s.wrong("no value")
		}
		s.pos++
	}
	return nil
}

// number passes a number of any length; only at the very end of a text may it end with it.
func (s *scanner) number() error {
	if s.buf[s.pos] == '-' {
		s.pos++
	}
	c, err := s.must()
	if err != nil {
		return err
	}
	if c == '0' {
		s.pos++
	} else if err := s.digits(); err != nil {
		return err
	}
	if c, err = s.peek(); err == nil && c == '.' {
		s.pos++
		if err := s.digits(); err != nil {
			return err
		}
		c, err = s.peek()
	}
	if err == nil && c|0x20 == 'e' {
		s.pos++
		if c, err = s.must(); err != nil {
			return err
		}
		if c == '+' || c == '-' {
			s.pos++
		}
		return s.digits()
	}
	if err == io.EOF {
		return nil
	}
	return err
}

// digits passes one digit or more.
func (s *scanner) digits() error {
	for n := 0; ; n++ {
		c, err := s.peek()
		if err == io.EOF && n > 0 {
			return nil
		}
		if err == io.EOF {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		if c < '0' || c > '9' {
			if n == 0 {
				return s.wrong("no digit in a number")
			}
			return nil
		}
		s.pos++
	}
}

// kept passes one value and gives its bytes, valid until the scanner goes on.
func (s *scanner) kept() ([]byte, error) {
	if _, err := s.next(); err != nil {
		return nil, err
	}
	s.mark = s.pos
	err := s.value()
	out := s.buf[s.mark:s.pos]
	s.mark = -1
	if err == nil && len(out) > s.max {
		err = errTooLong
	}
	return out, err
}

// name passes a key of the outermost object and its colon, and gives it unquoted.
func (s *scanner) name() (string, error) {
	c, err := s.next()
	if err != nil {
		return "", err
	}
	if c != '"' {
		return "", s.wrong("no key")
	}
	raw, err := s.kept()
	if err != nil {
		return "", err
	}
	var key string
	if err := json.Unmarshal(raw, &key); err != nil {
		return "", s.wrong("no key")
	}
	return key, s.colon()
}

// over checks that nothing follows but white space.
func (s *scanner) over() error {
	switch _, err := s.space(); {
	case err == io.EOF:
		return nil
	case err != nil:
		return err
	}
	return s.wrong("something behind the end")
}
