package modelapi

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/sse"
)

// Event is one server-sent event. Data is valid until the next one.
type Event struct {
	Type string
	Data []byte
}

// Answer is the body of an answer.
type Answer struct {
	// Whole is set when it is one JSON value, and no stream: some servers know no other.
	Whole bool

	x    *Exchange
	r    *bufio.Reader
	kind string // the media type
	code int
}

// Answer looks at what kind an answer is. HTML is an error.
func (x *Exchange) Answer(res *http.Response) (*Answer, error) {
	a := &Answer{x: x, r: bufio.NewReaderSize(res.Body, 32<<10), code: res.StatusCode}
	a.kind, _, _ = mime.ParseMediaType(res.Header.Get("Content-Type"))
	if coding := res.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return nil, x.fail(&agent.ModelError{Failure: agent.NotAnAPI, Status: res.StatusCode, Text: fmt.Sprintf("the answer is encoded as %q, which was not asked for", coding)})
	}
	first, err := a.firstByte()
	switch {
	case err == io.EOF:
		return nil, x.Broken("the answer is empty", nil)
	case err != nil:
		return nil, x.Failure(err)
	case first == '<' || a.kind == "text/html":
		page, _ := io.ReadAll(io.LimitReader(a.r, maxError))
		return nil, x.fail(&agent.ModelError{Failure: agent.NotAnAPI, Status: a.code, Text: htmlWords(page)})
	}
	a.Whole = first == '{' || first == '['
	return a, nil
}

// firstByte finds the first byte that is neither white space nor a byte order mark.
func (a *Answer) firstByte() (byte, error) {
	for {
		b, err := a.r.ReadByte()
		if err != nil {
			return 0, err
		}
		switch b {
		case ' ', '\t', '\r', '\n', 0xEF, 0xBB, 0xBF:
			continue
		}
		return b, a.r.UnreadByte()
	}
}

// Bytes reads a whole answer.
func (a *Answer) Bytes() ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(a.r, int64(MaxAnswer)+1))
	switch {
	case err != nil:
		return nil, a.x.Failure(err)
	case len(body) > int(MaxAnswer):
		return nil, a.x.Oversized(fmt.Sprintf("the answer is longer than %s", MaxAnswer.Human()))
	}
	a.x.ended = true
	return body, nil
}

// Events yields the events of a stream up to its end or "[DONE]", which is not yielded. Comments and events without data are skipped. If
// there is an error it is the last thing that is yielded.
func (a *Answer) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		events := sse.NewReader(a.r, int(MaxEvent))
		for found := false; ; {
			e, data, rest, err := events.Next()
			switch {
			case err == io.EOF && !found:
				yield(Event{}, a.emptyStreamError())
				return
			case err == io.EOF:
				return
			case err == nil && rest != nil:
				n, broken := rest.Read(make([]byte, 1))
				if n > 0 {
					yield(Event{}, a.x.Oversized(fmt.Sprintf("one event of the answer is longer than %s", MaxEvent.Human())))
					return
				}
				if broken != io.ErrUnexpectedEOF { // the last event may have no empty line behind it
					err = broken
				}
			}
			if err != nil {
				yield(Event{}, a.x.Failure(err))
				return
			}
			data = bytes.TrimSpace(data)
			if len(data) == 0 {
				continue
			}
			if bytes.Equal(data, []byte("[DONE]")) {
				a.x.ended = true
				return
			}
			found = true
			if !yield(Event{Type: e.Name[:min(len(e.Name), 64)], Data: data}, nil) {
				return
			}
		}
	}
}

// emptyStreamError returns the error of a stream without events.
func (a *Answer) emptyStreamError() error {
	if a.kind == "text/event-stream" {
		return a.x.Broken("the stream ended without an event", nil)
	}
	return a.x.fail(&agent.ModelError{Failure: agent.NotAnAPI, Status: a.code, Text: fmt.Sprintf("the answer is %q, and neither JSON nor a stream of events", a.kind)})
}
