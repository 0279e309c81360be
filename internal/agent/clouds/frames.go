package clouds

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/plimsoll/plimsoll/internal/eventstream"
)

const (
	frameBound = 8 << 20 // of one frame: events of a model are far below
	// maxName bounds the name of an exception that is shown.
	maxName = 100
)

// events reads frames as the server-sent events that Anthropic's own service sends: the bytes of each chunk are one of them, and what
// Converse streams is written as them.
type events struct {
	from   io.ReadCloser
	talk   conversation
	frames eventstream.Reader
	out    bytes.Buffer
	err    error // once out is read
}

// newEvents reads from a stream of [eventstream.Type].
func newEvents(from io.ReadCloser) *events {
	return &events{from: from, frames: eventstream.Reader{Most: frameBound}}
}

// Read implements io.Reader.
func (e *events) Read(p []byte) (int, error) {
	var piece [16 << 10]byte
	for e.out.Len() == 0 {
		if e.err != nil {
			return 0, e.err
		}
		n, err := e.from.Read(piece[:])
		e.frames.Feed(piece[:n], func(f *eventstream.Frame) {
			if e.err == nil {
				e.err = e.event(f)
			}
		})
		switch {
		case e.err != nil:
		case e.frames.Broken() || e.frames.Skipping():
			e.err = errFrame
		case errors.Is(err, io.EOF) && !e.frames.Between():
			e.err = io.ErrUnexpectedEOF
		default:
			e.err = err
		}
	}
	return e.out.Read(p)
}

// Close implements io.Closer.
func (e *events) Close() error { return e.from.Close() }

var errFrame = errors.New("the stream of Bedrock has a broken frame")

// event writes what a frame says.
func (e *events) event(f *eventstream.Frame) error {
	var said struct {
		Bytes   []byte `json:"bytes"`
		Message string `json:"message"`
	}
	if err := json.Unmarshal(f.Payload, &said); err != nil && f.Kind == "event" {
		return errFrame
	}
	switch {
	case f.Kind != "event":
		text, _ := json.Marshal(map[string]any{"type": "error", "error": map[string]string{
			"type": kindOf(f.Name), "message": fmt.Sprintf("%.*s: %s", maxName, f.Name, said.Message+f.Message),
		}})
		fmt.Fprintf(&e.out, "event: error\ndata: %s\n\n", text)
	case f.Name == "chunk":
		var inner struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(said.Bytes, &inner) != nil || bytes.ContainsAny(said.Bytes, "\r\n") {
			return errFrame
		}
		name, _ := json.Marshal(inner.Type)
		fmt.Fprintf(&e.out, "event: %s\ndata: %s\n\n", bytes.Trim(name, `"`), said.Bytes)
	default:
		list, err := e.talk.events(f.Name, f.Payload)
		if err != nil {
			return err
		}
		for _, one := range list {
			data, err := json.Marshal(one)
			if err != nil {
				return errFrame
			}
			fmt.Fprintf(&e.out, "event: %s\ndata: %s\n\n", one["type"], data)
		}
	}
	return nil
}

// kindOf returns the error type of Anthropic's own service for an exception of Bedrock.
func kindOf(exception string) string {
	switch exception {
	case "throttlingException", "serviceQuotaExceededException":
		return "rate_limit_error"
	case "validationException":
		return "invalid_request_error"
	case "serviceUnavailableException", "modelNotReadyException":
		return "overloaded_error"
	}
	return "api_error"
}
