// Package eventstream reads and writes Amazon's event frames (application/vnd.amazon.eventstream), the form of Bedrock's streams: a head of
// lengths with a sum of its own, headers, a payload, and a sum of all.
//
//	r := eventstream.Reader{Most: 256 << 10}
//	r.Feed(piece, func(f *eventstream.Frame) { … }) // for every piece that comes, cut anywhere
//
// A reader holds one frame at most, and none larger than Most: that one is passed over. Where a sum is wrong nothing more is read, and
// Broken says so. [Event] and [Exception] make frames.
package eventstream

import (
	"encoding/binary"
	"hash/crc32"
)

// Type is the media type of a stream of Amazon's event frames.
const Type = "application/vnd.amazon.eventstream"

const (
	frameHead = 12 // the length of all, that of the headers, a sum of both
	frameSums = frameHead + 4
	// frameMost is the largest frame in bytes: 128 KiB of headers and 24 MiB of payload (AWS's event stream encoding, 2026-11).
	frameMost = 25 << 20
)

// A Reader cuts a stream of event frames apart, in pieces cut anywhere. It keeps one frame at most.
type Reader struct {
	// Most bounds the frames that are read, in bytes: the events of a model are far below 256 KiB. What is larger is passed over.
	Most int

	held []byte
	skip int  // bytes still to come of a frame that is too large
	bad  bool // a sum was wrong: nothing more is read
}

// A Frame is one event. Payload is valid until the next one.
type Frame struct {
	Kind    string // "event", "exception" or "error"
	Name    string // of the event or exception
	Message string // of an error
	Payload []byte
}

// Feed takes the next bytes of the stream, and calls each for every frame that is complete with them. The frame is valid until each returns. Frames
// of more than Most bytes are skipped. After a damaged frame nothing more is read.
func (f *Reader) Feed(p []byte, each func(*Frame)) {
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
		case want == frameHead && !f.validHead():
			f.bad = true
		case want == frameHead:
			if size := int(binary.BigEndian.Uint32(f.held)); size > f.Most {
				f.skip, f.held = size-frameHead, f.held[:0]
			}
		default:
			var one Frame
			if f.bad = !one.parse(f.held); !f.bad {
				each(&one)
			}
			f.held = f.held[:0]
		}
	}
}

// validHead reports whether the held bytes begin with a valid head of a frame.
func (f *Reader) validHead() bool {
	size, headers := binary.BigEndian.Uint32(f.held), binary.BigEndian.Uint32(f.held[4:])
	return crc32.ChecksumIEEE(f.held[:8]) == binary.BigEndian.Uint32(f.held[8:]) && size >= frameSums && size <= frameMost && headers <= size-frameSums
}

// Broken reports whether a frame was damaged: what comes behind it is not read.
func (f *Reader) Broken() bool { return f.bad }

// Skipping reports whether the frame at hand is larger than what is read.
func (f *Reader) Skipping() bool { return f.skip > 0 }

// Held returns the memory that the reader holds, in bytes.
func (f *Reader) Held() int { return cap(f.held) }

// Between reports whether a frame has just ended and none begun.
func (f *Reader) Between() bool { return !f.bad && f.skip == 0 && len(f.held) == 0 }

// parse sets the fields from b, a whole frame with a checked head. It returns false if the checksum is wrong or a header is malformed.
func (e *Frame) parse(b []byte) bool {
	end := len(b) - 4
	if crc32.ChecksumIEEE(b[:end]) != binary.BigEndian.Uint32(b[end:]) {
		return false
	}
	headers := frameHead + int(binary.BigEndian.Uint32(b[4:]))
	e.Payload = b[headers:end]
	for h := b[frameHead:headers]; len(h) > 0; {
		name, value, rest, ok := cutHeader(h)
		if !ok {
			return false
		}
		switch h = rest; name {
		case ":message-type":
			e.Kind = string(value)
		case ":event-type", ":exception-type", ":error-code":
			e.Name = string(value)
		case ":error-message":
			e.Message = string(value)
		}
	}
	return true
}

// headerSizes are the lengths of the values of headers by their type; those of bytes (6) and texts (7) say their own.
var headerSizes = [...]int{0, 0, 1, 2, 4, 8, -1, -1, 8, 16}

// cutHeader cuts the first header off h, which is not empty; ok is false if it is malformed.
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

// Event makes the frame of an event.
func Event(name string, payload []byte) []byte { return makeFrame("event", name, payload) }

// Exception makes the frame of an exception, which ends a stream.
func Exception(name string, payload []byte) []byte { return makeFrame("exception", name, payload) }

// makeFrame returns a frame with a JSON payload. kind is "event" or "exception", and name the type of it.
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
