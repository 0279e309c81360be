package query

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// stream gives the items of a document one by one, holding one of them. It is an iterator
// of the interpreter.
type stream struct {
	in    *bufio.Reader
	path  []string
	shape Shape
	limit int // of one item, in bytes
	// broken is set when the document's end in the middle is no news.
	broken bool

	begun, object, ended bool
	item                 []byte
	// seen counts all items, skipped those beyond the limit, of which first was the first.
	seen, skipped, first int64
	read                 int64 // bytes
	err                  error
}

// maxKey is the longest key that can be one of the path.
const maxKey = 64 << 10

// Next implements gojq.Iter.
func (s *stream) Next() (any, bool) {
	for !s.ended {
		whole, err := s.next()
		if err == io.EOF || err == errEnd && s.broken {
			s.ended = true
			break
		}
		var v any
		if err == nil && whole {
			v, err = s.value()
		}
		if err != nil {
			s.ended = true
			e, ok := errors.AsType[*Error](err)
			if !ok {
				e = failf(Document, "the result breaks off or is not valid JSON at byte %d, behind %d items: %v", s.read, s.seen, err)
			}
			s.err = e
			return e, true
		}
		if whole {
			return v, true
		}
		if s.skipped++; s.first == 0 {
			s.first = s.seen
		}
	}
	return nil, false
}

func (s *stream) value() (any, error) {
	if s.shape != JSON {
		return text(bytes.TrimRight(s.item, "\r\n")), nil
	}
	return decode(s.item)
}

// next reads an item into s.item. It returns false when the item is too large, and io.EOF
// behind the last.
func (s *stream) next() (whole bool, err error) {
	if s.shape != JSON {
		return s.line()
	}
	if !s.begun {
		s.begun = true
		if bom, _ := s.in.Peek(3); string(bom) == "\xef\xbb\xbf" {
			_, _ = s.in.Discard(3)
			s.read += 3
		}
		if err := s.descend(); err != nil {
			return false, err
		}
	} else if err := s.separator(); err != nil {
		return false, err
	}
	if s.object {
		if _, err := s.key(); err != nil {
			return false, err
		}
	}
	s.seen++
	return s.capture(s.limit)
}

func (s *stream) line() (bool, error) {
	s.item = s.item[:0]
	whole := true
	for {
		part, err := s.in.ReadSlice('\n')
		s.read += int64(len(part))
		if whole = whole && len(s.item)+len(part) <= s.limit; whole {
			s.item = append(s.item, part...)
		}
		switch {
		case err == nil, err == io.EOF && (len(s.item) > 0 || !whole):
			s.seen++
			return whole, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return false, err
		}
	}
}

var errEnd = errors.New("the document ends in the middle")

// unexpectedEnd turns io.EOF into an error: the document must go on here.
func unexpectedEnd(err error) error {
	if err == io.EOF {
		return errEnd
	}
	return err
}

// peek steps over white space and returns the byte there.
func (s *stream) peek() (byte, error) {
	for {
		c, err := s.in.ReadByte()
		if err != nil {
			return 0, unexpectedEnd(err)
		}
		switch c {
		case ' ', '\t', '\n', '\r':
			s.read++
		default:
			return c, s.in.UnreadByte()
		}
	}
}

// take steps over one byte that has been peeked at.
func (s *stream) take() {
	_, _ = s.in.ReadByte()
	s.read++
}

// descend goes to the first item: through the members that lead to the main array.
func (s *stream) descend() error {
	for _, want := range s.path {
		c, err := s.peek()
		if err != nil {
			return err
		}
		if c != '{' {
			return failf(Document, "there is no object with the key %q at byte %d", want, s.read)
		}
		s.take()
		for first := true; ; first = false {
			if first {
				err = s.enter('}')
			} else {
				err = s.separatorOf('}')
			}
			if err == io.EOF {
				return failf(Document, "the result has no key %q at this place", want)
			}
			if err != nil {
				return err
			}
			key, err := s.key()
			if err != nil {
				return err
			}
			if key == want {
				break
			}
			if _, err := s.capture(0); err != nil {
				return err
			}
		}
	}
	c, err := s.peek()
	if err != nil {
		return err
	}
	if c != '[' && c != '{' {
		return failf(Document, "there is no array or object at this path, but %q", c)
	}
	s.object = c == '{'
	s.take()
	return s.enter(s.closing())
}

func (s *stream) closing() byte {
	if s.object {
		return '}'
	}
	return ']'
}

// enter returns io.EOF when the container ends right behind its beginning.
func (s *stream) enter(closing byte) error {
	c, err := s.peek()
	if err == nil && c == closing {
		return io.EOF
	}
	return err
}

func (s *stream) separator() error { return s.separatorOf(s.closing()) }

// separatorOf steps over the comma before the next element; io.EOF says that there is none.
func (s *stream) separatorOf(closing byte) error {
	c, err := s.peek()
	switch {
	case err != nil:
		return err
	case c == closing:
		return io.EOF
	case c != ',':
		return errors.New("a comma is missing")
	}
	s.take()
	return nil
}

// key reads a member's name and colon. A name over maxKey bytes becomes "".
func (s *stream) key() (string, error) {
	if c, err := s.peek(); err != nil || c != '"' {
		return "", cmpError(err, "a key is missing")
	}
	whole, err := s.capture(maxKey)
	if err != nil {
		return "", err
	}
	key := ""
	if whole {
		key = string(rawjson.Unquote(nil, s.item))
	}
	if c, err := s.peek(); err != nil || c != ':' {
		return "", cmpError(err, "a colon is missing")
	}
	s.take()
	return key, nil
}

func cmpError(err error, what string) error {
	if err != nil {
		return err
	}
	return errors.New(what)
}

// capture reads one value, of any size and depth, into s.item; beyond limit bytes it only
// steps over it and returns false. Whether it is valid inside is not looked at.
func (s *stream) capture(limit int) (bool, error) {
	if _, err := s.peek(); err != nil {
		return false, err
	}
	s.item = s.item[:0]
	var (
		whole           = true
		depth           int64
		inside, escaped bool // of a string
		begun           bool
	)
	for {
		// A value's bytes are taken in pieces of what is buffered, up to where it ends.
		if s.in.Buffered() == 0 {
			if _, err := s.in.Peek(1); err != nil {
				return false, unexpectedEnd(err)
			}
		}
		piece, _ := s.in.Peek(s.in.Buffered())
		n, end := 0, false
	scan:
		for n < len(piece) {
			c := piece[n]
			switch {
			case escaped:
				escaped = false
			case inside:
				if c == '\\' {
					escaped = true
				} else if c == '"' {
					inside = false
					end = depth == 0
				}
			case c == '"':
				if begun && depth == 0 { // behind a number: it was none
					return false, errors.New("a comma or a closing bracket is missing")
				}
				inside = true
			case c == '{' || c == '[':
				depth++
			case c == '}' || c == ']':
				if depth == 0 {
					if !begun {
						return false, errors.New("a value is missing")
					}
					break scan // behind a number: it belongs to the container
				}
				depth--
				end = depth == 0
			case depth == 0 && (c == ',' || c == ':' || c <= ' '):
				if !begun {
					return false, errors.New("a value is missing")
				}
				break scan
			}
			begun = true
			n++
			if end {
				break
			}
		}
		done := end || n < len(piece)
		if whole = whole && len(s.item)+n <= limit; whole {
			s.item = append(s.item, piece[:n]...)
		}
		_, _ = s.in.Discard(n)
		s.read += int64(n)
		if done {
			return whole, nil
		}
	}
}
