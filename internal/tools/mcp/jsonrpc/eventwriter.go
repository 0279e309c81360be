package jsonrpc

import (
	"bytes"
	"io"
	"strings"

	"github.com/plimsoll/plimsoll/internal/sse"
)

// ReadError reports that the rest of a message could not be read while it was written: what
// was written of it is not whole, and the stream it went to is of no more use.
type ReadError struct{ Err error }

func (e *ReadError) Error() string { return "the message was broken off: " + e.Err.Error() }

// Unwrap returns the error of the reader.
func (e *ReadError) Unwrap() error { return e.Err }

// EventWriter writes server-sent events. It must not be used by two goroutines at once.
type EventWriter struct {
	w     io.Writer
	flush func() error
	buf   []byte
}

// NewEventWriter returns a writer of events to w that calls flush, unless it is nil, at the end of each.
func NewEventWriter(w io.Writer, flush func() error) *EventWriter {
	return &EventWriter{w: w, flush: flush}
}

// Write writes one event: its fields, and head and what rest gives (it may be nil) as its
// data, a line for each line. An event without data gets an empty data line, so that a
// client takes its id. Fields that hold line breaks or NUL are left out: they would be
// fields of their own. A failing rest is a [ReadError].
func (e *EventWriter) Write(event sse.Event, head []byte, rest io.Reader) error {
	b := e.buf[:0]
	for _, field := range [...]struct{ name, value string }{
		{"event", event.Name}, {"id", event.ID}, {"retry", event.Retry},
	} {
		if field.value != "" && !strings.ContainsAny(field.value, "\r\n\x00") {
			b = append(append(append(b, field.name...), ": "...), field.value...)
			b = append(b, '\n')
		}
	}
	b = append(b, "data: "...)
	// A small event is one write.
	if rest == nil && len(head) <= firstBuffer {
		b = append(appendData(b, head, new(bool)), "\n\n"...)
		e.buf = b[:0]
		return e.send(b)
	}
	if _, err := e.w.Write(b); err != nil {
		return err
	}
	e.buf = b[:0]
	if sse.LineBreak(head) < 0 {
		if _, err := e.w.Write(head); err != nil {
			return err
		}
		head = nil
	}
	cr := false
	if err := eachChunk(head, rest, func(chunk []byte) error {
		if sse.LineBreak(chunk) < 0 && !cr {
			_, err := e.w.Write(chunk)
			return err
		}
		_, err := e.w.Write(appendData(nil, chunk, &cr))
		return err
	}); err != nil {
		return err
	}
	return e.send([]byte("\n\n"))
}

// Comment writes a line that clients skip; it keeps a connection alive.
func (e *EventWriter) Comment(text string) error {
	return e.send([]byte(": " + strings.NewReplacer("\r", " ", "\n", " ").Replace(text) + "\n\n"))
}

// send writes b and flushes it, if there is a function for that.
func (e *EventWriter) send(b []byte) error {
	if _, err := e.w.Write(b); err != nil {
		return err
	}
	if e.flush == nil {
		return nil
	}
	return e.flush()
}

// appendData appends data with a new "data: " after every line break. cr is true when the
// last byte so far was a "\r", to which a "\n" belongs.
func appendData(b, data []byte, cr *bool) []byte {
	for len(data) > 0 {
		if *cr && data[0] == '\n' {
			data = data[1:]
		}
		*cr = false
		n := sse.LineBreak(data)
		if n < 0 {
			return append(b, data...)
		}
		b = append(append(b, data[:n]...), "\ndata: "...)
		*cr = data[n] == '\r'
		data = data[n+1:]
	}
	return b
}

// eachChunk calls f with head and then with the bytes of rest, which may be nil, in pieces that f may change. An error of rest is a [ReadError].
func eachChunk(head []byte, rest io.Reader, f func([]byte) error) error {
	if len(head) == 0 && rest == nil {
		return nil
	}
	chunk := make([]byte, restBuffer)
	src := io.Reader(bytes.NewReader(head))
	for range 2 {
		for {
			n, err := src.Read(chunk)
			if n > 0 {
				if err := f(chunk[:n]); err != nil {
					return err
				}
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				return &ReadError{err}
			}
		}
		if src = rest; rest == nil {
			break
		}
	}
	return nil
}
