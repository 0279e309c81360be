package wire

import (
	"encoding/base64"

	"github.com/plimsoll/plimsoll/internal/eventstream"
	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// frameHeld bounds the event frames that are looked into, in bytes: the events of a model are far smaller. A larger frame passes unread.
const frameHeld = 256 << 10

// innerOf returns the model output in a frame: its payload, or for InvokeModel the bytes in it, decoded into scratch, which is reused. It
// is nil if they cannot be decoded.
func innerOf(e *eventstream.Frame, scratch *[]byte) []byte {
	if e.Name != "chunk" {
		return e.Payload
	}
	at := rawjson.Get(e.Payload, "bytes")
	if at.Len() < 2 || e.Payload[at.Start] != '"' {
		return nil
	}
	lit := e.Payload[at.Start+1 : at.End-1]
	plain, err := base64.StdEncoding.AppendDecode((*scratch)[:0], lit)
	if err != nil {
		return nil
	}
	*scratch = plain
	return plain
}

// failureOf returns an exception frame as the JSON object of an error.
func failureOf(e *eventstream.Frame) []byte {
	message := e.Message
	if text, ok := rawjson.Text(e.Payload, "message"); ok {
		message = text
	}
	out := Quote([]byte(`{"type":"error","error":{"type":`), e.Name)
	return append(Quote(append(out, `,"message":`...), message), "}}"...)
}
