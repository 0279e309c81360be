package toolbox

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// maxDepth is how deep values may be nested; the same as in encoding/json.
const maxDepth = 10_000

// maxKey bounds a key of an object, in bytes: a longer one is none that is known.
const maxKey = 256

// scanner reads JSON as it comes, in constant memory: what is not wanted is stepped over
// and counted.
type scanner struct {
	r  *bufio.Reader
	at int64
}

func newScanner(r io.Reader) *scanner { return &scanner{r: bufio.NewReaderSize(r, 4<<10)} }

// syntaxError says where bytes are not the JSON they should be.
type syntaxError struct {
	at   int64
	what string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("byte %d: %s", e.at, e.what) }

func (s *scanner) fail(what string) error { return &syntaxError{s.at, what} }

func (s *scanner) byte() (byte, error) {
	c, err := s.r.ReadByte()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, err
	}
	s.at++
	return c, nil
}

func (s *scanner) back() {
	_ = s.r.UnreadByte() // a byte was read just before
	s.at--
}

// next steps over white space and tells the byte behind it without taking it.
func (s *scanner) next() (byte, error) {
	for {
		c, err := s.byte()
		if err != nil {
			return 0, err
		}
		switch c {
		case ' ', '\t', '\r', '\n':
		default:
			s.back()
			return c, nil
		}
	}
}

func (s *scanner) take(want byte) error {
	c, err := s.next()
	if err != nil {
		return err
	}
	if c != want {
		return s.fail(fmt.Sprintf("%q where %q was to come", c, want))
	}
	_, err = s.byte()
	return err
}

// object walks an object. each takes the value of the key.
func (s *scanner) object(each func(key string) error) error {
	if err := s.take('{'); err != nil {
		return err
	}
	for first := true; ; first = false {
		c, err := s.next()
		if err != nil {
			return err
		}
		if c == '}' && first {
			return s.take('}')
		}
		key := clipped{max: maxKey}
		if err := s.text(&key); err != nil {
			return err
		}
		if err := s.take(':'); err != nil {
			return err
		}
		if err := each(key.whole()); err != nil {
			return err
		}
		if done, err := s.more('}'); err != nil || done {
			return err
		}
	}
}

// array walks an array. each takes an element.
func (s *scanner) array(each func() error) error {
	if err := s.take('['); err != nil {
		return err
	}
	for first := true; ; first = false {
		c, err := s.next()
		if err != nil {
			return err
		}
		if c == ']' && first {
			return s.take(']')
		}
		if err := each(); err != nil {
			return err
		}
		if done, err := s.more(']'); err != nil || done {
			return err
		}
	}
}

// more takes the comma before another element, or the closing bracket.
func (s *scanner) more(closing byte) (done bool, err error) {
	c, err := s.next()
	if err != nil {
		return false, err
	}
	if c == closing {
		return true, s.take(closing)
	}
	return false, s.take(',')
}

// text reads a string and writes what it says. Bytes that are no UTF-8, and halves of
// surrogate pairs that are alone, become U+FFFD.
func (s *scanner) text(to *clipped) error {
	if err := s.take('"'); err != nil {
		return err
	}
	for {
		c, err := s.byte()
		switch {
		case err != nil:
			return err
		case c == '"':
			return nil
		case c == '\\':
			if err := s.escape(to); err != nil {
				return err
			}
		case c < ' ':
			return s.fail("a control character in a string")
		case c < utf8.RuneSelf:
			to.add(c)
		default:
			s.back()
			r, n, err := s.r.ReadRune()
			if err != nil {
				return err
			}
			s.at += int64(n)
			to.rune(r)
		}
	}
}

func (s *scanner) escape(to *clipped) error {
	c, err := s.byte()
	if err != nil {
		return err
	}
	switch c {
	case '"', '\\', '/':
		to.add(c)
	case 'b':
		to.add('\b')
	case 'f':
		to.add('\f')
	case 'n':
		to.add('\n')
	case 'r':
		to.add('\r')
	case 't':
		to.add('\t')
	case 'u':
		r, err := s.hex()
		if err != nil {
			return err
		}
		if !utf16.IsSurrogate(r) {
			to.rune(r)
			return nil
		}
		second, err := s.r.Peek(6)
		if err == nil && second[0] == '\\' && second[1] == 'u' {
			if low, ok := rawjson.Hex4(second[2:]); ok {
				if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
					_, _ = s.r.Discard(6)
					s.at += 6
					to.rune(pair)
					return nil
				}
			}
		}
		to.rune(utf8.RuneError)
	default:
		return s.fail("an escape that JSON does not have")
	}
	return nil
}

func (s *scanner) hex() (rune, error) {
	var b [4]byte
	for i := range b {
		c, err := s.byte()
		if err != nil {
			return 0, err
		}
		b[i] = c
	}
	r, ok := rawjson.Hex4(b[:])
	if !ok {
		return 0, s.fail("an escape that JSON does not have")
	}
	return r, nil
}

// word reads a string, and steps over any other value.
func (s *scanner) word(to *clipped) error {
	c, err := s.next()
	if err != nil {
		return err
	}
	if c != '"' {
		return s.skip()
	}
	return s.text(to)
}

// base64 reads a string of base64, and counts the bytes that it stands for.
func (s *scanner) base64(size *int64) error {
	if !s.is('"') {
		return s.skip()
	}
	if err := s.take('"'); err != nil {
		return err
	}
	for n := int64(0); ; {
		c, err := s.byte()
		switch {
		case err != nil:
			return err
		case c == '"':
			*size = n/4*3 + n%4*3/4
			return nil
		case c == '\\': // "\/", or a line break
			if c, err = s.byte(); err != nil {
				return err
			}
			if c == '/' {
				n++
			}
		case c != '=' && c > ' ':
			n++
		}
	}
}

// is tells whether the value that comes begins with c; it does not take it.
func (s *scanner) is(c byte) bool {
	got, err := s.next()
	return err == nil && got == c
}
