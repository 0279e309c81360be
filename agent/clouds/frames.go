package clouds

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// frameType is the media type of a stream of Amazon's event frames.
const frameType = "application/vnd.amazon.eventstream"

const (
	frameHead  = 12      // the length of all, that of the headers, a sum of both
	frameSums  = 4       // behind the payload
	frameBound = 8 << 20 // of one frame: events of a model are far below
	// maxName bounds the name of an exception that is shown.
	maxName = 100
)

// events reads frames as the server-sent events that Anthropic's own service sends: the bytes of each chunk are one of them.
type events struct {
	from io.ReadCloser
	out  bytes.Buffer
	err  error
}

// Read implements io.Reader.
func (e *events) Read(p []byte) (int, error) {
	for e.out.Len() == 0 {
		if e.err != nil {
			return 0, e.err
		}
		e.err = e.next()
	}
	return e.out.Read(p)
}

// Close implements io.Closer.
func (e *events) Close() error { return e.from.Close() }

var errFrame = errors.New("the stream of Bedrock has a broken frame")

// next reads a frame.
func (e *events) next() error {
	var head [frameHead]byte
	if _, err := io.ReadFull(e.from, head[:]); err != nil {
		return err // io.EOF between two frames
	}
	size, headers := binary.BigEndian.Uint32(head[:]), binary.BigEndian.Uint32(head[4:])
	if crc32.ChecksumIEEE(head[:8]) != binary.BigEndian.Uint32(head[8:]) || size < frameHead+frameSums || size > frameBound || headers > size-frameHead-frameSums {
		return errFrame
	}
	frame := make([]byte, size)
	copy(frame, head[:])
	if _, err := io.ReadFull(e.from, frame[frameHead:]); err != nil {
		return io.ErrUnexpectedEOF
	}
	end := size - frameSums
	if crc32.ChecksumIEEE(frame[:end]) != binary.BigEndian.Uint32(frame[end:]) {
		return errFrame
	}
	about, err := headersOf(frame[frameHead : frameHead+headers])
	if err != nil {
		return err
	}
	return e.event(about, frame[frameHead+headers:end])
}

// headersOf reads the headers that are texts. Bedrock has no others.
func headersOf(b []byte) (map[string]string, error) {
	out := map[string]string{}
	for len(b) > 0 {
		n := int(b[0])
		if len(b) < 1+n+3 || b[1+n] != 7 { // 7 is a text
			return nil, errFrame
		}
		name := string(b[1 : 1+n])
		b = b[1+n+1:]
		length := int(binary.BigEndian.Uint16(b))
		if len(b) < 2+length {
			return nil, errFrame
		}
		out[name], b = string(b[2:2+length]), b[2+length:]
	}
	return out, nil
}

// event writes what a frame says.
func (e *events) event(about map[string]string, payload []byte) error {
	var said struct {
		Bytes   []byte `json:"bytes"`
		Message string `json:"message"`
	}
	if err := json.Unmarshal(payload, &said); err != nil && about[":message-type"] == "event" {
		return errFrame
	}
	switch {
	case about[":message-type"] != "event":
		name := about[":exception-type"] + about[":error-code"]
		text, _ := json.Marshal(map[string]any{"type": "error", "error": map[string]string{
			"type": kindOf(name), "message": fmt.Sprintf("%.*s: %s", maxName, name, said.Message+about[":error-message"]),
		}})
		fmt.Fprintf(&e.out, "event: error\ndata: %s\n\n", text)
	case about[":event-type"] == "chunk":
		var inner struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(said.Bytes, &inner) != nil || bytes.ContainsAny(said.Bytes, "\r\n") {
			return errFrame
		}
		name, _ := json.Marshal(inner.Type)
		fmt.Fprintf(&e.out, "event: %s\ndata: %s\n\n", bytes.Trim(name, `"`), said.Bytes)
	}
	return nil
}

// kindOf is what Anthropic's own service calls an exception of Bedrock.
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
