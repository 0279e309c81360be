package bridge

import (
	"io"
	"slices"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// envelope replaces the id of a response while it passes, and finds out what kind of message it is. Only the top level is looked at. Its
// state is a few bytes, however large the message is.
type envelope struct {
	id []byte // the new id; nil keeps the old one

	depth   int
	object  bool // the message is an object
	key     []byte
	expects bool // a key is next
	text    bool // within a string
	keyText bool // within a key that is collected
	escaped bool
	drop    bool // the value under way is not copied: it is the old id

	resultAt                              int // where the result begins, in the piece that had its brace
	sawID, sawResult, sawError, sawMethod bool
}

// maxKey is the length of the longest key that is recognised, with its quotes and every letter escaped.
const maxKey = 2 + 6*len("method")

// needsNoEdits reports whether the rest of the message can pass unchanged.
func (e *envelope) needsNoEdits() bool {
	return e.sawID && e.sawResult && !e.drop
}

// feed appends src, the next part of the message, to dst with the edits made.
func (e *envelope) feed(dst, src []byte) []byte {
	for i := range src {
		c := src[i]
		if e.text {
			if !e.drop {
				dst = append(dst, c)
			}
			e.takeTextByte(c)
			continue
		}
		switch c {
		case ' ', '\t', '\r', '\n':
			dst = append(dst, c)
		case '"':
			dst = e.beginText(dst)
		case '{', '[':
			if !e.drop {
				dst = append(dst, c)
			}
			if e.openValue(c) {
				e.resultAt = i
			}
		case '}', ']':
			e.endValue()
			e.expects, e.depth = false, max(0, e.depth-1)
			if !e.drop {
				dst = append(dst, c)
			}
		case ',':
			e.endValue()
			e.expects = e.object && e.depth == 1
			if !e.drop {
				dst = append(dst, c)
			}
		case ':':
			if e.drop {
				continue
			}
			dst = append(dst, c)
			if e.endKey() {
				dst = e.beginValue(dst)
			}
		default:
			if !e.drop {
				dst = append(dst, c)
			}
		}
	}
	return dst
}

// takeTextByte processes a byte inside a string, and keeps it if the string is a key.
func (e *envelope) takeTextByte(c byte) {
	if e.keyText && len(e.key) < maxKey {
		e.key = append(e.key, c)
	}
	switch {
	case e.escaped:
		e.escaped = false
	case c == '\\':
		e.escaped = true
	case c == '"':
		e.text, e.keyText = false, false
	}
}

// beginText processes the opening quote of a string, and appends it to dst unless the value is replaced.
func (e *envelope) beginText(dst []byte) []byte {
	e.text = true
	if e.expects {
		e.keyText, e.expects = true, false
		e.key = append(e.key[:0], '"')
	}
	if e.drop {
		return dst
	}
	return append(dst, '"')
}

// openValue processes the opening bracket of an object or array, and reports whether it is that of the result.
func (e *envelope) openValue(c byte) bool {
	e.depth++
	switch {
	case e.depth == 1 && c == '{':
		e.object, e.expects = true, true
	case e.object && e.depth == 2 && c == '{' && string(e.key) == `"result"`:
		e.key = e.key[:0]
		return true
	}
	return false
}

// endKey reports whether the colon just read ends a key of the message itself; it replaces escapes in the key.
func (e *envelope) endKey() bool {
	if len(e.key) < 2 || !e.object || e.depth != 1 {
		return false
	}
	if slices.Contains(e.key, '\\') {
		e.key = rawjson.Quote(nil, rawjson.Unquote(nil, e.key))
	}
	return true
}

// beginValue records which member begins, and appends the new id to dst if that is to be replaced.
func (e *envelope) beginValue(dst []byte) []byte {
	switch string(e.key) {
	case `"id"`:
		e.sawID = true
		if e.id != nil {
			e.drop = true
			dst = append(dst, e.id...)
		}
	case `"result"`:
		e.sawResult = true
		return dst
	case `"error"`:
		e.sawError = true
		return dst
	case `"method"`:
		e.sawMethod = true
	}
	e.key = e.key[:0]
	return dst
}

// endValue ends the value of a member; the old id is then over.
func (e *envelope) endValue() {
	if e.drop && e.depth == 1 {
		e.drop = false
	}
}

// editFrame returns an edited frame; its head is a copy, its rest is read from that of f.
func (e *envelope) editFrame(f *transport.Frame) *transport.Frame {
	out := &transport.Frame{Event: f.Event, Head: e.feed(make([]byte, 0, len(f.Head)+len(e.id)+16), f.Head)}
	if f.Rest == nil {
		return out
	}
	if e.needsNoEdits() {
		out.Rest = f.Rest
		return out
	}
	out.Rest = &editedRest{e: e, from: f.Rest}
	return out
}

// editedRest is the rest of a frame, edited while it is read.
type editedRest struct {
	e     *envelope
	from  io.Reader
	in    [16 << 10]byte
	out   []byte
	ready []byte
	err   error
}

// Read returns the rest of the message with the edits made. Once nothing more is to be edited, it reads straight from the source.
func (r *editedRest) Read(p []byte) (int, error) {
	if r.e.needsNoEdits() && len(r.ready) == 0 && r.err == nil {
		return r.from.Read(p)
	}
	for len(r.ready) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		var n int
		n, r.err = r.from.Read(r.in[:])
		r.out = r.e.feed(r.out[:0], r.in[:n])
		r.ready = r.out
	}
	n := copy(p, r.ready)
	r.ready = r.ready[n:]
	return n, nil
}

// kindOf returns the kind of a message; Invalid for a whole one that cannot be read. Of a large one only the beginning is known: with a method it
// counts as a request if its id stands there and as a notification otherwise; without a method as a response, because only responses get large.
func kindOf(f *transport.Frame) jsonrpc.Kind {
	if f.Whole() {
		head, err := jsonrpc.Scan(f.Head)
		if err != nil {
			return jsonrpc.Invalid
		}
		return head.Kind
	}
	var e envelope
	e.feed(make([]byte, 0, len(f.Head)), f.Head)
	switch {
	case e.sawResult || e.sawError || !e.sawMethod:
		return jsonrpc.Response
	case e.sawID:
		return jsonrpc.Request
	}
	return jsonrpc.Notification
}
