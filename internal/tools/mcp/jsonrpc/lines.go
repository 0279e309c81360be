package jsonrpc

import (
	"bytes"
	"io"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/sse"
)

const (
	// Hold is the default bound of the bytes of a message that a reader holds.
	// The head of a tools/call result (its id, the beginning of its content) lies far
	// within it, and it is the size of a Linux pipe: one read can fill it.
	Hold = 64 << 10
	// firstBuffer is the first size of a reader's buffer, in bytes. Most messages are smaller,
	// and a gateway of a thousand sessions has a thousand readers that wait.
	firstBuffer = 4 << 10
	// restBuffer is the size of the buffer for the rest of a large message, in bytes.
	restBuffer = 32 << 10
	// shrinkAfter is the number of small messages after which a grown buffer is given back.
	shrinkAfter = 64
)

// LineReader reads messages of which each is a line, as MCP has it on standard streams.
// It holds at most the bytes it was told to, beside a buffer of 32 KiB, however long a
// line is. It must not be used by two goroutines at once.
type LineReader struct {
	src     io.Reader
	maxHead int
	buf     []byte // grows to hold+2: a line of hold bytes and its "\r\n"
	r, w    int
	err     error // of src, once it came
	restBuf []byte
	rest    *lineRest
	small   int // lines since the last that needed a grown buffer
}

// NewLineReader returns a reader of the lines in src that holds at most maxHead bytes of each; 0 means [Hold].
func NewLineReader(src io.Reader, maxHead int) *LineReader {
	if maxHead <= 0 {
		maxHead = Hold
	}
	return &LineReader{src: src, maxHead: maxHead}
}

// Next returns the next line that is not blank, without "\n" or "\r\n". head is its
// beginning, and all of it when rest is nil; otherwise head is hold bytes long and rest
// gives what follows, and io.EOF at the line's end. Both are valid until the next call,
// which skips what was not read of rest.
//
// The end of the stream is io.EOF. A last line without its newline is whole when it fits into the head and is
// one JSON value; else its rest gives io.ErrUnexpectedEOF, or the error of the stream,
// where the bytes end.
func (l *LineReader) Next() (head []byte, rest io.Reader, err error) {
	if l.rest != nil {
		if _, err := io.Copy(io.Discard, l.rest); err != nil {
			l.r, l.w = 0, 0
		}
		l.rest = nil
	}
	l.shrinkBuffers()
	for {
		head, rest, err = l.nextLine()
		if err != nil || rest != nil || len(bytes.TrimLeft(head, " \t\r")) > 0 {
			return head, rest, err
		}
	}
}

// nextLine returns the next line, also a blank one, as Next does.
func (l *LineReader) nextLine() ([]byte, io.Reader, error) {
	seen := 0
	for {
		if n := bytes.IndexByte(l.buf[l.r+seen:l.w], '\n'); n >= 0 {
			line := bytes.TrimSuffix(l.buf[l.r:l.r+seen+n], []byte{'\r'})
			if len(line) <= l.maxHead {
				l.r += seen + n + 1
				return line, nil, nil
			}
		}
		seen = l.w - l.r
		if seen >= l.maxHead+2 {
			return l.openLine(l.maxHead)
		}
		if l.err != nil {
			return l.lastLine()
		}
		l.fill()
	}
}

// lastLine returns what follows the last newline when the stream has ended; if that is nothing, the error of the stream. Unless the stream ended
// with io.EOF after one whole JSON value, or white space, that fits into the head, the rest is a reader that fails at the end of the bytes.
func (l *LineReader) lastLine() ([]byte, io.Reader, error) {
	line := l.buf[l.r:l.w]
	if len(line) == 0 {
		return nil, nil, l.err
	}
	if len(line) > l.maxHead {
		return l.openLine(l.maxHead)
	}
	if l.err == io.EOF {
		_, err := rawjson.Only(line)
		if blank := len(bytes.TrimLeft(line, " \t\r")) == 0; err == nil || blank {
			l.r = l.w
			return bytes.TrimSuffix(line, []byte{'\r'}), nil, nil
		}
	}
	return l.openLine(len(line))
}

// openLine returns the first n bytes of a line as its head, and a reader for the rest, which does not overwrite the head.
func (l *LineReader) openLine(n int) ([]byte, io.Reader, error) {
	head, more := l.buf[l.r:l.r+n], l.buf[l.r+n:l.w]
	next := l.restBuf
	if cap(next) < max(restBuffer, len(more)) {
		next = make([]byte, max(restBuffer, len(more)))
	}
	l.restBuf, l.buf = l.buf, next[:cap(next)]
	l.r, l.w = 0, copy(l.buf, more)
	l.rest = &lineRest{l: l}
	l.small = 0
	return head, l.rest, nil
}

// fill reads more bytes into the buffer, and makes room for them first.
func (l *LineReader) fill() {
	if l.r > 0 {
		l.w = copy(l.buf, l.buf[l.r:l.w])
		l.r = 0
	}
	if l.w == len(l.buf) {
		grown := make([]byte, min(max(2*len(l.buf), firstBuffer), max(l.maxHead+2, restBuffer)))
		l.w = copy(grown, l.buf[:l.w])
		l.buf, l.small = grown, 0
	}
	n, err := readSome(l.src, l.buf[l.w:])
	l.w += n
	l.err = err
}

// shrinkBuffers replaces grown buffers by small ones, when only small lines have come for a while.
func (l *LineReader) shrinkBuffers() {
	if len(l.buf) <= firstBuffer {
		return
	}
	if l.small++; l.small > shrinkAfter && l.w-l.r <= firstBuffer {
		first := make([]byte, firstBuffer)
		l.w = copy(first, l.buf[l.r:l.w])
		l.r, l.buf, l.restBuf, l.small = 0, first, nil, 0
	}
}

// lineRest reads a line from behind its head to its newline.
type lineRest struct {
	l    *LineReader
	done error
}

// Read returns what follows in the line, without its line break. If the stream ends before the line does, it is io.ErrUnexpectedEOF.
func (s *lineRest) Read(p []byte) (int, error) {
	if len(p) == 0 || s.done != nil {
		return 0, s.done
	}
	l := s.l
	for {
		have := l.buf[l.r:l.w]
		give, used := have, len(have)
		if n := bytes.IndexByte(have, '\n'); n >= 0 {
			give, used = bytes.TrimSuffix(have[:n], []byte{'\r'}), n+1
		} else if l.err == nil {
			// A "\r" belongs to the newline when one follows: not known yet.
			give = bytes.TrimSuffix(have, []byte{'\r'})
			used = len(give)
		}
		switch {
		case len(give) > 0:
			n := copy(p, give)
			l.r += n
			return n, nil
		case used > 0: // the newline
			l.r += used
			s.done = io.EOF
			return 0, io.EOF
		case l.err != nil:
			if s.done = l.err; l.err == io.EOF {
				s.done = io.ErrUnexpectedEOF
			}
			return 0, s.done
		}
		l.fill()
	}
}

// readSome reads until something has come. A reader that gives nothing a hundred times is io.ErrNoProgress.
func readSome(src io.Reader, p []byte) (int, error) {
	for range 100 {
		if n, err := src.Read(p); n > 0 || err != nil {
			return n, err
		}
	}
	return 0, io.ErrNoProgress
}

// WriteLine writes a message as one line: line breaks within it, which JSON has only
// between values, become spaces. rest follows head and may be nil. An error of reading rest
// is a [ReadError], to tell it from one of writing.
func WriteLine(w io.Writer, head []byte, rest io.Reader) error {
	if rest == nil && sse.LineBreak(head) < 0 {
		// One write, so that a line of a few bytes is one packet and is never seen in half.
		_, err := w.Write(append(bytes.Clone(head), '\n'))
		return err
	}
	if sse.LineBreak(head) < 0 {
		if _, err := w.Write(head); err != nil {
			return err
		}
		head = nil
	}
	if err := eachChunk(head, rest, func(chunk []byte) error {
		flatten(chunk)
		_, err := w.Write(chunk)
		return err
	}); err != nil {
		return err
	}
	_, err := w.Write([]byte{'\n'})
	return err
}

// flatten replaces line breaks in b by spaces.
func flatten(b []byte) {
	for i, c := range b {
		if c == '\n' || c == '\r' {
			b[i] = ' '
		}
	}
}
