// Package sse reads server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html), for adapters of models, MCP and A2A.
//
// A [Reader] gives each event as its fields and its data: a head that is held, and a rest that is read from the stream as the caller goes, so
// that an event of any size passes in constant memory. A caller that wants events whole gives the largest one as the bound; an event with a
// rest is then too large or broken off.
//
// A Reader belongs to one goroutine at a time, and holds 4 KiB while events are small, at most the head and 32 KiB; fields other than data
// have at most [MaxFieldBytes]. wire.Answer has a reader of its own: it looks on while the proxy passes bytes, and keeps none.
package sse

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

const (
	// DefaultHold is the default number of bytes held of an event's data: the size of a Linux pipe, so that one read can
	// fill it.
	DefaultHold = 64 << 10
	// firstBuffer is the first size of a reader's buffer. Most events are smaller, and a gateway of a thousand sessions has
	// a thousand readers that wait.
	firstBuffer = 4 << 10
	// restBuffer is the size of the buffer for the rest of a large event.
	restBuffer = 32 << 10
	// calm is after how many small events a grown buffer is given back.
	calm = 64
)

// Event holds the fields of a server-sent event beside its data.
type Event struct {
	ID, Name, Retry string
}

// MaxFieldBytes bounds a field of an event that is not its data; a longer one is ignored.
// It holds an id that is a signed token.
const MaxFieldBytes = 4 << 10

// Reader reads server-sent events as the HTML standard has them
// (https://html.spec.whatwg.org/multipage/server-sent-events.html), with two liberties
// that a relay needs: an event is given also when it has no data but other fields, and
// one that the stream's end leaves without its blank line is given when its data is one
// JSON value. It holds at most the bytes it was told to, beside a buffer of 32 KiB. It
// must not be used by two goroutines at once.
type Reader struct {
	src  io.Reader
	hold int
	buf  []byte
	r, w int
	err  error

	head  []byte
	rest  *eventRest
	event Event
	last  string        // id
	retry time.Duration // as the server asked

	state   eventState
	crlf    bool // a "\r" ended the last line: a "\n" belongs to it
	begun   bool // the byte order mark is behind
	lines   int  // data lines of this event
	owed    bool // the "\n" between two of them
	fields  bool // there were other fields
	id      bool // an id among them
	field   []byte
	tooLong bool
	small   int // events since the last that needed a grown head
}

type eventState uint8

const (
	lineStart eventState = iota
	inField              // collecting a line that is no data
	dataSpace            // behind "data:", where one space may stand
	dataValue            // in the value
	skipLine             // a comment
)

// NewReader reads events from src and holds at most hold bytes of each one's data; 0 or less means [DefaultHold].
func NewReader(src io.Reader, hold int) *Reader {
	if hold <= 0 {
		hold = DefaultHold
	}
	return &Reader{src: src, hold: hold}
}

// LastID returns the id that a reconnection names: that of the last event that came whole, with
// data or without.
func (r *Reader) LastID() string { return r.last }

// Retry returns the time that the server wants a reconnection to wait; 0 when it named none.
func (r *Reader) Retry() time.Duration { return r.retry }

// Next returns the next event: its fields, and its data, whose lines are joined by "\n". head is the data's beginning, and all of it when rest is
// nil; otherwise rest gives what follows, and io.EOF at the event's end. Where the stream ends within an event rest gives io.ErrUnexpectedEOF, or the
// error of the stream; an event that ends with the stream counts as whole if its data fits and is one JSON value. Both are valid until the next call,
// which skips what was not read of rest. The end of the stream is io.EOF.
//
// An event that only has other fields has an empty head
// and no rest. Fields that a server wrote behind the data of an event larger than hold are
// not in the Event; LastID and Retry have them once rest was read.
func (r *Reader) Next() (e Event, head []byte, rest io.Reader, err error) {
	if r.rest != nil {
		_, _ = io.Copy(io.Discard, r.rest) // an error of it is in r.err
		r.rest = nil
	}
	r.event, r.lines, r.fields, r.id, r.owed = Event{}, 0, false, false, false
	n, ended, err := r.fillHead()
	head = r.head[:min(n, r.hold)]
	switch {
	case ended:
		return r.event, head, nil, nil
	case err != nil && r.lines == 0: // fields alone that no blank line ends are no event
		return Event{}, nil, nil, err
	case err == io.EOF && n <= r.hold:
		if _, err := rawjson.Only(head); err == nil {
			r.commit()
			return r.event, head, nil, nil
		}
	}
	r.rest = &eventRest{r: r}
	if n > r.hold {
		r.rest.first, r.rest.some = r.head[r.hold], true
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	r.rest.done = err
	return r.event, head, r.rest, nil
}

// fillHead reads up to hold+1 bytes of data into head: the one more tells that the event goes on. ended is true if the event ended before that.
func (r *Reader) fillHead() (n int, ended bool, err error) {
	if r.small++; r.head == nil || r.small > calm && len(r.head) > firstBuffer {
		r.head, r.small = make([]byte, min(firstBuffer, r.hold+1)), 0
	}
	for {
		var m int
		m, ended, err = r.step(r.head[n:])
		n += m
		if ended || err != nil || n > r.hold {
			return n, ended, err
		}
		grown := make([]byte, min(2*len(r.head), r.hold+1))
		copy(grown, r.head[:n])
		r.head, r.small = grown, 0
	}
}

// step reads data of the event into p until p is full or the event ends, which ended tells. The error is that of the source.
func (r *Reader) step(p []byte) (n int, ended bool, err error) {
	for n < len(p) {
		if r.owed {
			p[n], r.owed = '\n', false
			n++
			continue
		}
		if r.r == r.w {
			if err := r.fill(); err != nil {
				r.endOfStream()
				return n, false, err
			}
		}
		if r.crlf {
			r.crlf = false
			if r.buf[r.r] == '\n' {
				r.r++
				continue
			}
		}
		have := r.buf[r.r:r.w]
		switch r.state {
		case lineStart:
			if c := have[0]; c == '\n' || c == '\r' {
				r.lineEnd(c)
				if r.lines > 0 || r.fields {
					r.commit()
					return n, true, nil
				}
				continue
			}
			r.state, r.field, r.tooLong = inField, r.field[:0], false
		case inField:
			c := have[0]
			switch {
			case c == '\n' || c == '\r':
				r.endField()
				r.lineEnd(c)
				continue
			case c == ':' && len(r.field) == 0:
				r.state = skipLine
			case c == ':' && string(r.field) == "data":
				r.state = dataSpace
				r.line()
			case len(r.field) >= MaxFieldBytes:
				r.tooLong = true
			default:
				r.field = append(r.field, c)
			}
			r.r++
		case dataSpace:
			r.state = dataValue
			if have[0] == ' ' {
				r.r++
			}
		case dataValue, skipLine:
			end := LineBreak(have)
			value := have
			if end >= 0 {
				value = have[:end]
			}
			used := len(value)
			if r.state == dataValue {
				used = copy(p[n:], value)
				n += used
			}
			r.r += used
			if end >= 0 && used == len(value) {
				r.lineEnd(have[end])
			}
		}
	}
	return n, false, nil
}

// endOfStream takes what stands in the last line, which has no line break.
func (r *Reader) endOfStream() {
	if r.state == inField {
		r.endField()
	}
	r.state = lineStart
}

// line counts a line of data; what was before it ends with a line break.
func (r *Reader) line() {
	r.owed = r.lines > 0
	r.lines++
}

// commit takes the id, if there is one, of an event that is whole: one that broke off will be asked for again.
func (r *Reader) commit() {
	if r.id {
		r.last = r.event.ID
	}
}

// lineEnd steps over c, which ends a line. Behind "\r" a "\n" is skipped later.
func (r *Reader) lineEnd(c byte) {
	r.r++
	r.crlf = c == '\r'
	r.state = lineStart
}

// endField is called at the end of a line that is not data with a colon. It takes over the field; a field that was too long is ignored.
func (r *Reader) endField() {
	if r.tooLong {
		return
	}
	name, value, _ := strings.Cut(string(r.field), ":")
	value = strings.TrimPrefix(value, " ")
	switch name {
	case "data": // without a colon: an empty line of data
		r.line()
	case "id":
		if strings.IndexByte(value, 0) < 0 {
			r.event.ID, r.id, r.fields = value, true, true
		}
	case "event":
		r.event.Name, r.fields = value, true
	case "retry":
		if ms, err := strconv.ParseUint(value, 10, 31); err == nil {
			r.event.Retry, r.fields = value, true
			r.retry = time.Duration(ms) * time.Millisecond
		}
	}
}

// fill reads the next bytes of the source into the empty buffer, which grows once if the source fills it. It returns the error of the source
// when there is nothing more.
func (r *Reader) fill() error {
	if r.err != nil {
		return r.err
	}
	if r.buf == nil {
		r.buf = make([]byte, firstBuffer)
	} else if r.w == len(r.buf) && r.w < restBuffer {
		r.buf = make([]byte, restBuffer) // the source gives more than that at once
	}
	r.r, r.w = 0, 0
	for r.w == 0 {
		n, err := readSome(r.src, r.buf)
		if r.w, r.err = n, err; n == 0 {
			return err
		}
		if !r.begun {
			r.skipMark()
		}
	}
	return nil
}

// skipMark skips a byte order mark at the beginning, and reads until it is known whether there is one.
func (r *Reader) skipMark() {
	const bom = "\xef\xbb\xbf"
	for r.err == nil && r.w < len(bom) && string(r.buf[:r.w]) == bom[:r.w] {
		n, err := readSome(r.src, r.buf[r.w:])
		r.w, r.err = r.w+n, err
	}
	if r.begun = true; bytes.HasPrefix(r.buf[:r.w], []byte(bom)) {
		r.w = copy(r.buf, r.buf[len(bom):r.w])
	}
}

// LineBreak returns the end of the first line of b, at "\n" or "\r"; -1 when there is none.
func LineBreak(b []byte) int {
	n := bytes.IndexByte(b, '\n')
	if n >= 0 {
		b = b[:n]
	}
	if m := bytes.IndexByte(b, '\r'); m >= 0 {
		return m
	}
	return n
}

// readSome reads once, or until something came. A reader that never gives anything ends
// with io.ErrNoProgress.
func readSome(src io.Reader, p []byte) (int, error) {
	for range 100 {
		if n, err := src.Read(p); n > 0 || err != nil {
			return n, err
		}
	}
	return 0, io.ErrNoProgress
}

// eventRest reads the data of an event from behind its head to its end.
type eventRest struct {
	r     *Reader
	first byte // read ahead
	some  bool
	done  error
}

// Read reads what follows of the event's data. Its end is io.EOF, the end of the stream before it io.ErrUnexpectedEOF.
func (s *eventRest) Read(p []byte) (int, error) {
	switch {
	case len(p) == 0:
		return 0, nil
	case s.some:
		p[0], s.some = s.first, false
		return 1, nil
	case s.done != nil:
		return 0, s.done
	}
	n, ended, err := s.r.step(p)
	switch {
	case ended:
		s.done = io.EOF
	case err == io.EOF:
		s.done = io.ErrUnexpectedEOF
	case err != nil:
		s.done = err
	}
	return n, s.done
}
