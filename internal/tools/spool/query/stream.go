package query

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// stream reads the items of a document one by one, and holds one at a time. It is an iterator of the interpreter.
type stream struct {
	in    *bufio.Reader
	path  []string
	shape Shape
	limit int // of one item, in bytes
	// broken is set when it is already known that the document breaks off: then its end is not an error.
	broken bool

	begun, object, ended bool
	item                 []byte
	// seen counts all items, skipped those larger than limit; first is the number of the first of these.
	seen, skipped, first int64
	read                 int64 // bytes
	err                  error
}

// maxKey is the length of the longest key that is compared with those of the path, in bytes.
const maxKey = 64 << 10

// Next implements gojq.Iter: it returns the next item, or an error as the last. Items that are too large are skipped and counted. A
// document that is known to be broken ends without an error where it breaks off.
func (s *stream) Next() (any, bool) {
	for !s.ended {
		whole, err := s.readItem()
		if err == io.EOF || err == errEnd && s.broken {
			s.ended = true
			break
		}
		var v any
		if err == nil && whole {
			v, err = s.itemValue()
		}
		if err != nil {
			s.ended = true
			e, ok := errors.AsType[*Error](err)
			if !ok {
				e = errorf(Document, "the result breaks off or is not valid JSON at byte %d, behind %d items: %v", s.read, s.seen, err)
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

// itemValue returns the item just read as the interpreter's value.
func (s *stream) itemValue() (any, error) {
	if s.shape != JSON {
		return text(bytes.TrimRight(s.item, "\r\n")), nil
	}
	return decode(s.item)
}

// readItem reads an item into s.item. whole is false if the item is too large and was skipped; behind the last item err is io.EOF.
func (s *stream) readItem() (whole bool, err error) {
	if s.shape != JSON {
		return s.readLine()
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

// readLine reads the next line into s.item; the result is false if the line is too long, and it is skipped then.
func (s *stream) readLine() (bool, error) {
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

// unexpectedEnd returns errEnd in the place of io.EOF, where the document must go on, and any other error unchanged.
func unexpectedEnd(err error) error {
	if err == io.EOF {
		return errEnd
	}
	return err
}

// peek skips white space and returns the next byte without reading it; the end of the input is an error.
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

// skipByte reads the byte that peek has returned.
func (s *stream) skipByte() {
	_, _ = s.in.ReadByte()
	s.read++
}

// descend reads up to the first item, through the members that lead to the main array; io.EOF if that is empty.
func (s *stream) descend() error {
	for _, want := range s.path {
		c, err := s.peek()
		if err != nil {
			return err
		}
		if c != '{' {
			return errorf(Document, "there is no object with the key %q at byte %d", want, s.read)
		}
		s.skipByte()
		for first := true; ; first = false {
			if first {
				err = s.checkNotEmpty('}')
			} else {
				err = s.separatorOf('}')
			}
			if err == io.EOF {
				return errorf(Document, "the result has no key %q at this place", want)
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
		return errorf(Document, "there is no array or object at this path, but %q", c)
	}
	s.object = c == '{'
	s.skipByte()
	return s.checkNotEmpty(s.closing())
}

// closing returns the bracket that ends the main container.
func (s *stream) closing() byte {
	if s.object {
		return '}'
	}
	return ']'
}

// checkNotEmpty returns io.EOF if the container that was just opened is empty, nil if it is not.
func (s *stream) checkNotEmpty(closing byte) error {
	c, err := s.peek()
	if err == nil && c == closing {
		return io.EOF
	}
	return err
}

// separator reads the comma before the next item; io.EOF means that there is none.
func (s *stream) separator() error { return s.separatorOf(s.closing()) }

// separatorOf reads the comma before the next element; io.EOF means that there is none.
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
	s.skipByte()
	return nil
}

// key reads a member's name and colon. For a name longer than maxKey bytes it returns "".
func (s *stream) key() (string, error) {
	if c, err := s.peek(); err != nil || c != '"' {
		return "", errorOr(err, "a key is missing")
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
		return "", errorOr(err, "a colon is missing")
	}
	s.skipByte()
	return key, nil
}

// errorOr returns err, or an error with the text what if err is nil.
func errorOr(err error, what string) error {
	if err != nil {
		return err
	}
	return errors.New(what)
}

// capture reads one value, of any size and depth, into s.item. A value of more than limit bytes is skipped; whole is then false.
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
				if begun && depth == 0 { // directly behind a number or word
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
