// Package jsonstream reads JSON that is still arriving, in constant memory. JSON that is all there is for package rawjson.
//
//	an io.Reader                  to walk it, value by value (pull)         Reader
//	pieces, as they are written   the values of one message (push)          Lexer
//	pieces, as they are written   where the items of a long list lie        Items
//	pieces of one string          what it says                              Unquoter
//	pieces of a text              how long a list it is, if it is one       Counter
//
// [Reader.Value], [Reader.Kept] and [Items] hold a value to the grammar; [Reader.Skip], [Reader.Copy] and what the [Visitor] of a [Lexer] does
// not enter are held to brackets and strings only. Nothing recurses: values nested deeper than [Options.MaxDepth], or rawjson.MaxDepth, are a
// [SyntaxError]. A Reader holds one buffer of at most [Options.MaxValue], a Lexer a key of [MaxKey]. Broken UTF-8 passes, but into a [Clip];
// a lone half of a surrogate pair becomes U+FFFD; keys that come twice come twice. All is for one goroutine at a time. The tools' plane uses
// it; window/wire has a lexer of its own for streams of models, which looks for a handful of names.
package jsonstream

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// ErrTooLarge is the error of a value or key that is larger than [Options.MaxValue].
var ErrTooLarge = errors.New("larger than allowed")

// SyntaxError is the error of a text that is not JSON, with the place and the reason.
type SyntaxError struct {
	Offset int64  // in bytes
	What   string // of the text it quotes one byte at most
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("byte %d: %s", e.Offset, e.What) }

// Options bounds a [Reader].
type Options struct {
	// Buffer is the number of bytes read at once, at least 16; 0 is [DefaultBuffer].
	Buffer int
	// MaxValue is the largest value that [Reader.Kept] returns, and the largest key, in bytes.
	// At 0 nothing is kept: a key of more than [MaxKey] bytes, which nobody looks for,
	// is then the empty one.
	MaxValue int
	// MaxDepth limits the nesting of values; 0 is as in encoding/json.
	MaxDepth int
	// MaxSpace limits the white space in a row, in bytes, beyond which a text counts as a filler
	// without an end; 0 is any amount.
	MaxSpace int
}

// Bounds of a [Reader] that was not given its own, in bytes.
const (
	DefaultBuffer = 4 << 10
	MaxKey        = 256
)

// Reader takes a JSON text apart as it comes. It holds one buffer, with the value that Kept returns.
type Reader struct {
	r        io.Reader
	o        Options
	buf      []byte
	pos, end int   // buf[pos:end] is unread
	mark     int   // the value that is kept begins here; -1: none is
	base     int64 // offset of buf[0] in the text
	err      error // of r: it stays
	grammar  Items
}

// NewReader returns a reader of r.
func NewReader(r io.Reader, o Options) *Reader {
	o.MaxDepth = cmp.Or(o.MaxDepth, rawjson.MaxDepth)
	size := max(16, cmp.Or(o.Buffer, DefaultBuffer))
	if o.MaxValue > 0 {
		size = min(size, max(512, o.MaxValue))
	}
	return &Reader{r: r, o: o, buf: make([]byte, size), mark: -1}
}

// Check returns an error unless text is one JSON value with white space around it.
func Check(text []byte, o Options) error {
	r := Reader{o: o, buf: text, end: len(text), mark: -1, err: io.EOF}
	if err := r.Value(); err != nil {
		return err
	}
	return r.End()
}

// fill reads more of the text into the buffer, which keeps everything from the mark on if there is one, and grows for it up to MaxValue bytes: more
// are [ErrTooLarge]. At the end of the text it returns io.EOF.
func (r *Reader) fill() error {
	from := r.pos
	if r.mark >= 0 {
		from = r.mark
	}
	if from > 0 {
		copy(r.buf, r.buf[from:r.end])
		r.base += int64(from)
		r.pos, r.end = r.pos-from, r.end-from
		if r.mark >= 0 {
			r.mark = 0
		}
	}
	if r.err != nil {
		return r.err
	}
	if r.end == len(r.buf) {
		if r.end >= r.o.MaxValue {
			return ErrTooLarge
		}
		grown := make([]byte, min(2*len(r.buf), r.o.MaxValue))
		copy(grown, r.buf[:r.end])
		r.buf = grown
	}
	for n := 0; r.err == nil; n++ {
		var got int
		if got, r.err = r.r.Read(r.buf[r.end:]); got > 0 {
			r.end += got
			return nil
		}
		if n == 100 && r.err == nil { // as bufio does: a reader that gives nothing so often is broken
			r.err = io.ErrNoProgress
		}
	}
	return r.err
}

// Fail returns a *[SyntaxError] at the next byte.
func (r *Reader) Fail(what string) error { return &SyntaxError{r.base + int64(r.pos), what} }

// peek returns the next byte without taking it. The end of the text is io.ErrUnexpectedEOF.
func (r *Reader) peek() (byte, error) {
	if r.pos == r.end {
		if err := r.fill(); err != nil {
			return 0, unexpected(err)
		}
	}
	return r.buf[r.pos], nil
}

// Byte takes and returns the next byte. The end of the text is io.ErrUnexpectedEOF.
func (r *Reader) Byte() (byte, error) {
	c, err := r.peek()
	if err == nil {
		r.pos++
	}
	return c, err
}

// unexpected turns io.EOF into io.ErrUnexpectedEOF, for places where something has to come.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// skipSpace skips white space and returns the byte after it, without taking that, or io.EOF. More than MaxSpace bytes of it are an error.
func (r *Reader) skipSpace() (byte, error) {
	for passed := 0; ; {
		for r.pos < r.end {
			c := r.buf[r.pos]
			if !isSpace(c) {
				return c, nil
			}
			r.pos++
			if passed++; passed > r.o.MaxSpace && r.o.MaxSpace > 0 {
				return 0, r.Fail(endlessSpace)
			}
		}
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
}

// Next steps over white space and returns the byte behind it without taking it. The end of the text is io.ErrUnexpectedEOF.
func (r *Reader) Next() (byte, error) {
	c, err := r.skipSpace()
	return c, unexpected(err)
}

// Is steps over white space and reports whether the next value begins with c, without taking it; false after an error too.
func (r *Reader) Is(c byte) bool {
	got, err := r.Next()
	return err == nil && got == c
}

// Take steps over white space and takes the byte want; any other is an error.
func (r *Reader) Take(want byte) error {
	c, err := r.Next()
	if err != nil {
		return err
	}
	if c != want {
		return r.Fail(fmt.Sprintf("%q where %q was to come", c, want))
	}
	r.pos++
	return nil
}

// End returns an error if anything but white space follows.
func (r *Reader) End() error {
	switch _, err := r.skipSpace(); {
	case err == io.EOF:
		return nil
	case err != nil:
		return err
	}
	return r.Fail(wrong[afterAll])
}

// Object walks an object and calls each with every key; each has to take the value, and its error ends the walk. A key of more than MaxValue bytes is
// [ErrTooLarge]; without MaxValue one of more than [MaxKey] is given as "".
func (r *Reader) Object(each func(key string) error) error {
	if err := r.Take('{'); err != nil {
		return err
	}
	return r.elements('}', func() error {
		key := Clip{Max: cmp.Or(r.o.MaxValue, MaxKey)}
		if err := r.Text(&key); err != nil {
			return err
		}
		if key.Full && r.o.MaxValue > 0 {
			return ErrTooLarge
		}
		if err := r.Take(':'); err != nil {
			return err
		}
		return each(key.Whole())
	})
}

// Array walks an array and calls each for every element, which it has to take. An error of each ends the walk.
func (r *Reader) Array(each func() error) error {
	if err := r.Take('['); err != nil {
		return err
	}
	return r.elements(']', each)
}

// elements calls each for every element up to the closing bracket, which it takes, and checks the commas between them. The opening one was taken.
func (r *Reader) elements(closing byte, each func() error) error {
	c, err := r.Next()
	if err != nil {
		return err
	}
	if c == closing {
		r.pos++
		return nil
	}
	for {
		if err := each(); err != nil {
			return err
		}
		c, err := r.Next()
		switch {
		case err != nil:
			return err
		case c != ',' && c != closing:
			return r.Fail(wrong[afterValue])
		}
		r.pos++
		if c == closing {
			return nil
		}
	}
}

// Value takes one value, with the white space before it, and checks all of its grammar.
func (r *Reader) Value() error {
	outer := r.grammar.brackets
	outer.Reset()
	r.grammar = Items{SkipAt: -1, maxDepth: cmp.Or(r.o.MaxDepth, rawjson.MaxDepth), maxSpace: r.o.MaxSpace, brackets: outer}
	for {
		n, ok := r.grammar.Feed(r.buf[r.pos:r.end])
		r.pos += n
		switch {
		case !ok:
			return r.Fail(r.grammar.What)
		case r.grammar.Whole():
			return nil
		}
		if err := r.fill(); err != nil {
			if err == io.EOF && r.grammar.endsHere() {
				return nil
			}
			return unexpected(err)
		}
	}
}

// Kept takes one value as Value does and returns its bytes, which are valid until the next call. More than MaxValue bytes, which must be set, are an
// error.
func (r *Reader) Kept() ([]byte, error) {
	if _, err := r.Next(); err != nil {
		return nil, err
	}
	r.mark = r.pos
	err := r.Value()
	value := r.buf[r.mark:r.pos]
	r.mark = -1
	if err == nil && len(value) > r.o.MaxValue {
		err = ErrTooLarge
	}
	return value, err
}
