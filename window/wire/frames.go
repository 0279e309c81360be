package wire

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// FrameType is the media type of a stream of Amazon's event frames.
const FrameType = "application/vnd.amazon.eventstream"

const (
	frameHead = 12 // the length of all, that of the headers, a sum of both
	frameSums = frameHead + 4
	// frameHeld bounds the frames that are looked into: the events of a model are far below. What is larger passes unread.
	frameHeld = 256 << 10
	// frameMost is what a frame may have: 128 KiB of headers and 24 MiB of payload (AWS's event stream encoding, 2026-11).
	frameMost = 25 << 20
)

// frames cuts a stream of event frames apart, in pieces cut anywhere. It keeps one frame at most.
type frames struct {
	held []byte
	skip int  // bytes still to come of a frame that is too large
	bad  bool // a sum was wrong: nothing more is read
}

// A frame is one event.
type frame struct {
	kind    string // "event", "exception" or "error"
	name    string // of the event or exception
	message string // of an error
	payload []byte
}

// feed takes the next bytes.
func (f *frames) feed(p []byte, each func(*frame)) {
	for len(p) > 0 && !f.bad {
		if f.skip > 0 {
			n := min(f.skip, len(p))
			f.skip -= n
			p = p[n:]
			continue
		}
		want := frameHead
		if len(f.held) >= frameHead {
			want = int(binary.BigEndian.Uint32(f.held))
		}
		n := min(want-len(f.held), len(p))
		f.held = append(f.held, p[:n]...)
		p = p[n:]
		switch {
		case len(f.held) < want:
		case want == frameHead && !f.begins():
			f.bad = true
		case want == frameHead:
			if size := int(binary.BigEndian.Uint32(f.held)); size > frameHeld {
				f.skip, f.held = size-frameHead, f.held[:0]
			}
		default:
			var one frame
			if f.bad = !one.read(f.held); !f.bad {
				each(&one)
			}
			f.held = f.held[:0]
		}
	}
}

// begins tells whether the head of a frame is one.
func (f *frames) begins() bool {
	size, headers := binary.BigEndian.Uint32(f.held), binary.BigEndian.Uint32(f.held[4:])
	return crc32.ChecksumIEEE(f.held[:8]) == binary.BigEndian.Uint32(f.held[8:]) && size >= frameSums && size <= frameMost && headers <= size-frameSums
}

// between tells that a frame has just ended and none begun.
func (f *frames) between() bool { return !f.bad && f.skip == 0 && len(f.held) == 0 }

// read reads a whole frame of which the head is known to be one.
func (e *frame) read(b []byte) bool {
	end := len(b) - 4
	if crc32.ChecksumIEEE(b[:end]) != binary.BigEndian.Uint32(b[end:]) {
		return false
	}
	headers := frameHead + int(binary.BigEndian.Uint32(b[4:]))
	e.payload = b[headers:end]
	for h := b[frameHead:headers]; len(h) > 0; {
		name, value, rest, ok := cutHeader(h)
		if !ok {
			return false
		}
		switch h = rest; name {
		case ":message-type":
			e.kind = string(value)
		case ":event-type", ":exception-type", ":error-code":
			e.name = string(value)
		case ":error-message":
			e.message = string(value)
		}
	}
	return true
}

// headerSizes are the lengths of the values of headers by their type; those of bytes (6) and texts (7) say their own.
var headerSizes = [...]int{0, 0, 1, 2, 4, 8, -1, -1, 8, 16}

func cutHeader(h []byte) (name string, value, rest []byte, ok bool) {
	at := 1 + int(h[0])
	if at >= len(h) || int(h[at]) >= len(headerSizes) {
		return "", nil, nil, false
	}
	name, size := string(h[1:at]), headerSizes[h[at]]
	at++
	if size < 0 {
		if at+2 > len(h) {
			return "", nil, nil, false
		}
		size = int(binary.BigEndian.Uint16(h[at:]))
		at += 2
	}
	if at+size > len(h) {
		return "", nil, nil, false
	}
	return name, h[at : at+size], h[at+size:], true
}

// inner is what a model said in a frame: the payload, or of InvokeModel the bytes in it, in memory that the next one uses again.
func (e *frame) inner(scratch *[]byte) []byte {
	if e.name != "chunk" {
		return e.payload
	}
	at := rawjson.Get(e.payload, "bytes")
	if at.Len() < 2 || e.payload[at.Start] != '"' {
		return nil
	}
	lit := e.payload[at.Start+1 : at.End-1]
	plain, err := base64.StdEncoding.AppendDecode((*scratch)[:0], lit)
	if err != nil {
		return nil
	}
	*scratch = plain
	return plain
}

// failure is an exception as a JSON object that says it is an error.
func (e *frame) failure() []byte {
	message := e.message
	if text, ok := rawjson.Text(e.payload, "message"); ok {
		message = text
	}
	out := Quote([]byte(`{"type":"error","error":{"type":`), e.name)
	return append(Quote(append(out, `,"message":`...), message), "}}"...)
}

// EventFrame makes the frame of an event.
func EventFrame(name string, payload []byte) []byte { return makeFrame("event", name, payload) }

// ExceptionFrame makes the frame of an exception, which ends a stream.
func ExceptionFrame(name string, payload []byte) []byte { return makeFrame("exception", name, payload) }

func makeFrame(kind, name string, payload []byte) []byte {
	var h []byte
	for _, pair := range [...][2]string{{":" + kind + "-type", name}, {":content-type", "application/json"}, {":message-type", kind}} {
		h = append(append(h, byte(len(pair[0]))), pair[0]...)
		h = append(binary.BigEndian.AppendUint16(append(h, 7), uint16(len(pair[1]))), pair[1]...)
	}
	out := binary.BigEndian.AppendUint32(make([]byte, 0, frameSums+len(h)+len(payload)), uint32(frameSums+len(h)+len(payload)))
	out = binary.BigEndian.AppendUint32(out, uint32(len(h)))
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
	out = append(append(out, h...), payload...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
}
