package builtin

import (
	"context"
	"errors"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// The bounds of a conduit, in bytes: how much quoted text it holds before the writer waits for the reader, and
// the size of the pieces. A byte is quoted as at most six (\u0000), so one conduit holds at most
// heldBytes + 6*pieceBytes.
const (
	heldBytes  = 32 << 10
	pieceBytes = 4 << 10
)

// errUnread is the error of writing when the answer is no longer read.
var errUnread = errors.New("nobody reads the answer any more")

// conduit is a bounded pipe from a tool that writes its text to the reader of the message. What was written can be read at once; a writer
// that is faster than the reader waits.
type conduit struct {
	ctx  context.Context // of the call: both sides fail when it ends
	data chan struct{}   // signals that there is something to read, or the end
	room chan struct{}   // signals that there is room to write, or that the reader has left

	mu     sync.Mutex
	quoter quoter
	buf    []byte // buf[at:] has not been read yet
	at     int
	err    error // the error behind buf, io.EOF at the end; nil until the writer is done
	unread bool  // the reader has left
}

func newConduit(ctx context.Context) *conduit {
	return &conduit{ctx: ctx, data: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// signal wakes who waits for c, now or later. It does not wait.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Write implements io.Writer for the tool. It waits while heldBytes are not read yet, and fails once the reader or the context has ended.
func (c *conduit) Write(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		took, err := c.tryWrite(p[n:min(len(p), n+pieceBytes)])
		n += took
		if err != nil {
			return n, err
		}
		if took == 0 {
			select {
			case <-c.room:
			case <-c.ctx.Done():
			}
		}
	}
	return n, nil
}

// tryWrite writes a piece, and returns its length, or 0 if there is no room now. It never waits.
func (c *conduit) tryWrite(piece []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.err != nil:
		return 0, io.ErrClosedPipe
	case c.ctx.Err() != nil:
		return 0, context.Cause(c.ctx)
	case c.unread:
		return 0, errUnread
	case len(c.buf) >= heldBytes:
		return 0, nil
	}
	c.buf = c.quoter.add(c.buf, piece)
	signal(c.data)
	return len(piece), nil
}

// end ends the text: after it the reader gets tail, or err if that is not nil.
func (c *conduit) end(tail []byte, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err = err; err == nil {
		c.buf = append(c.quoter.end(c.buf), tail...)
		c.err = io.EOF
	}
	signal(c.data)
}

// waitForFirst waits for the first bytes or the end. whole means that all of the text is in memory, empty that there was none before err, which is
// the tool's or the cause of the context.
func (c *conduit) waitForFirst() (whole, empty bool, err error) {
	for {
		c.mu.Lock()
		some, err := len(c.buf) > 0, c.err
		c.mu.Unlock()
		switch {
		case err != nil && err != io.EOF:
			return false, !some, err
		case some || err != nil:
			return err == io.EOF, false, nil
		case c.ctx.Err() != nil:
			return false, true, context.Cause(c.ctx)
		}
		select {
		case <-c.data:
		case <-c.ctx.Done():
		}
	}
}

// Read implements io.Reader for the reader of the message. It waits for text of the tool, for the end, or for the end of the context.
func (c *conduit) Read(p []byte) (int, error) {
	for {
		if n, err := c.tryRead(p); n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
		select {
		case <-c.data:
		case <-c.ctx.Done():
		}
	}
}

// tryRead copies bytes that were written into p. It returns 0, nil if there are none yet, and the end or the cause of the context as an error.
func (c *conduit) tryRead(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.err == nil && c.ctx.Err() != nil:
		return 0, context.Cause(c.ctx)
	case c.at == len(c.buf):
		return 0, c.err
	}
	n := copy(p, c.buf[c.at:])
	if c.at += n; c.at == len(c.buf) {
		c.buf, c.at = c.buf[:0], 0
		signal(c.room)
	}
	return n, nil
}

// close ends the reading: later writes fail. It returns the error why the answer was not written whole; nil if it was, or the reader gave up.
func (c *conduit) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unread = true
	signal(c.room)
	switch {
	case c.err == io.EOF:
		return nil
	case c.err != nil:
		return c.err
	}
	return context.Cause(c.ctx)
}

// quoter writes a text that comes in pieces as the inside of one JSON string. Pieces may end within a character. Bytes that are not UTF-8
// become U+FFFD. The zero value is ready to use.
type quoter struct {
	part [utf8.UTFMax]byte // the beginning of a character
	n    int
}

// add appends p, the next piece of the text, to dst with JSON escapes, and returns dst. The bytes of a character that is incomplete at the
// end of p are kept for the next call.
func (q *quoter) add(dst, p []byte) []byte {
	for q.n > 0 && len(p) > 0 {
		q.part[q.n] = p[0]
		q.n++
		p = p[1:]
		// The bytes may turn out not to be a character; then the ones behind the first are examined again.
		for q.n > 0 && utf8.FullRune(q.part[:q.n]) {
			_, size := utf8.DecodeRune(q.part[:q.n])
			dst = appendEscaped(dst, q.part[:size])
			q.n = copy(q.part[:], q.part[size:q.n])
		}
	}
	if len(p) == 0 {
		return dst
	}
	whole := len(p) - incompleteRune(p)
	q.n = copy(q.part[:], p[whole:])
	return appendEscaped(dst, p[:whole])
}

// end appends the incomplete character at the end of the text, if there is one.
func (q *quoter) end(dst []byte) []byte {
	n := q.n
	q.n = 0
	return appendEscaped(dst, q.part[:n])
}

// incompleteRune returns the number of bytes at the end of p that begin an incomplete UTF-8 character.
func incompleteRune(p []byte) int {
	for i := 1; i < utf8.UTFMax && i <= len(p); i++ {
		if utf8.RuneStart(p[len(p)-i]) {
			if utf8.FullRune(p[len(p)-i:]) {
				return 0
			}
			return i
		}
	}
	return 0
}

// appendEscaped appends text with the escapes of a JSON string, without quotes.
func appendEscaped(dst, text []byte) []byte {
	if len(text) == 0 {
		return dst
	}
	at := len(dst)
	dst = rawjson.Quote(dst, text)
	copy(dst[at:], dst[at+1:len(dst)-1])
	return dst[:len(dst)-2]
}
