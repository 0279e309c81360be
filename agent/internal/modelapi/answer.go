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
)

// Event is one server-sent event. Data is valid until the next one.
type Event struct {
	Type string
	Data []byte
}

// Answer is the body of an answer.
type Answer struct {
	// Whole says that it is one JSON value, and no stream: some servers know no other.
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
	first, err := a.first()
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

// first finds the first byte that is no white space and no byte order mark.
func (a *Answer) first() (byte, error) {
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
		return nil, a.x.Oversized(fmt.Sprintf("the answer is longer than %s", MaxAnswer))
	}
	a.x.ended = true
	return body, nil
}

// Events yields the events of a stream up to its end or "[DONE]", which is not yielded.
// Comments and events without data are left out. An error is the last thing it yields.
func (a *Answer) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		var e Event
		var data []byte
		found := 0
		give := func() bool {
			e.Data = bytes.TrimSpace(data)
			data = data[:0]
			kind := e.Type
			e.Type = ""
			if len(e.Data) == 0 {
				return true
			}
			if bytes.Equal(e.Data, []byte("[DONE]")) {
				a.x.ended = true
				return false
			}
			found++
			return yield(Event{Type: kind, Data: e.Data}, nil)
		}
		for {
			line, err := a.line(len(data))
			if err == io.EOF && len(line) == 0 {
				// The last event may have no empty line behind it.
				if !give() {
					return
				}
				if found == 0 {
					yield(Event{}, a.nothing())
				}
				return
			}
			if err != nil && err != io.EOF {
				yield(Event{}, a.x.Failure(err))
				return
			}
			if len(line) == 0 {
				if !give() {
					return
				}
				continue
			}
			name, value, _ := bytes.Cut(line, []byte(":"))
			value = bytes.TrimPrefix(value, []byte(" "))
			switch string(name) {
			case "event":
				e.Type = string(value[:min(len(value), 64)])
			case "data":
				if len(data) > 0 {
					data = append(data, '\n')
				}
				if len(data)+len(value) > int(MaxEvent) {
					yield(Event{}, a.x.Oversized(fmt.Sprintf("one event of the answer is longer than %s", MaxEvent)))
					return
				}
				data = append(data, value...)
			}
		}
	}
}

// nothing is what a stream without events is.
func (a *Answer) nothing() error {
	if a.kind == "text/event-stream" {
		return a.x.Broken("the stream ended without an event", nil)
	}
	return a.x.fail(&agent.ModelError{Failure: agent.NotAnAPI, Status: a.code, Text: fmt.Sprintf("the answer is %q, and neither JSON nor a stream of events", a.kind)})
}

// line reads the next line that is no comment, without its end; it is valid until the next.
// Comments are skipped as they come, whatever their length. held is what the line's event
// holds already.
func (a *Answer) line(held int) ([]byte, error) {
	for {
		part, err := a.r.ReadSlice('\n')
		if len(part) > 0 && part[0] == ':' {
			for err == bufio.ErrBufferFull {
				_, err = a.r.ReadSlice('\n')
			}
			if err != nil {
				return nil, err
			}
			continue
		}
		if err != bufio.ErrBufferFull {
			return bytes.TrimRight(part, "\r\n"), err
		}
		long := append(make([]byte, 0, 4*len(part)), part...)
		for err == bufio.ErrBufferFull {
			if len(long)+held > int(MaxEvent) {
				return nil, a.x.Oversized(fmt.Sprintf("one event of the answer is longer than %s", MaxEvent))
			}
			part, err = a.r.ReadSlice('\n')
			long = append(long, part...)
		}
		return bytes.TrimRight(long, "\r\n"), err
	}
}
