package bridge

import (
	"io"
	"slices"
	"strconv"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/tools/mcp/transport"
)

// envelope edits the outside of a response while it flows by: the id, the first members of
// the result and the code of an error. What lies deeper passes as it is. It keeps a few
// bytes of state however large the message is.
type envelope struct {
	id   []byte          // in the place of the id; nil leaves it
	mark []byte          // members for the beginning of the result, without braces
	code func(int64) int // in the place of an error's code; nil leaves it

	depth   int
	inside  where
	key     []byte
	expects bool // a key is next
	text    bool // within a string
	keyText bool // within a key that is collected
	escaped bool
	drop    bool   // the value under way is left out
	number  []byte // the value of code
	inCode  bool
	pending bool // mark is to be written before the next byte that is no white space

	resultAt                              int // where the result's brace is in the piece that had it
	sawID, sawResult, sawError, sawMethod bool
}

type where uint8

const (
	outside where = iota
	inTop
	inError
)

// maxKey is the longest key that is looked for, with its quotes and every letter escaped.
const maxKey = 2 + 6*len("method")

// settled says that nothing more is to be edited.
func (e *envelope) settled() bool {
	return e.sawID && e.sawResult && !e.pending && !e.drop
}

// feed appends src to dst with its edits.
func (e *envelope) feed(dst, src []byte) []byte {
	for i := range src {
		c := src[i]
		if e.text {
			if !e.drop {
				dst = append(dst, c)
			}
			e.inText(c)
			continue
		}
		switch c {
		case ' ', '\t', '\r', '\n':
			if e.inCode && len(e.number) > 0 {
				dst = e.endCode(dst)
			}
			dst = append(dst, c)
			continue
		}
		if e.pending {
			dst = append(dst, e.mark...)
			if c != '}' {
				dst = append(dst, ',')
			}
			e.pending = false
		}
		switch c {
		case '"':
			dst = e.beginText(dst)
		case '{', '[':
			if !e.drop {
				dst = append(dst, c)
			}
			if e.open(c) {
				e.resultAt = i
			}
		case '}', ']':
			dst = e.endValue(dst)
			e.close()
			if !e.drop {
				dst = append(dst, c)
			}
		case ',':
			dst = e.endValue(dst)
			e.expects = e.at(inTop, 1) || e.at(inError, 2)
			if !e.drop {
				dst = append(dst, c)
			}
		case ':':
			if e.drop {
				continue
			}
			dst = append(dst, c)
			if e.keyEnds() {
				dst = e.beginValue(dst)
			}
		default:
			switch {
			case e.inCode:
				if len(e.number) < 24 {
					e.number = append(e.number, c)
				}
			case !e.drop:
				dst = append(dst, c)
			}
		}
	}
	return dst
}

func (e *envelope) at(w where, depth int) bool { return e.inside == w && e.depth == depth }

func (e *envelope) inText(c byte) {
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

// open takes the beginning of an object or array, and says whether it is the result.
func (e *envelope) open(c byte) bool {
	e.depth++
	switch {
	case e.depth == 1 && c == '{' && e.inside == outside:
		e.inside, e.expects = inTop, true
	case e.at(inTop, 2) && c == '{' && string(e.key) == `"error"`:
		e.inside, e.expects = inError, true
		e.key = e.key[:0]
	case e.at(inTop, 2) && c == '{' && string(e.key) == `"result"`:
		e.pending = len(e.mark) > 0
		e.key = e.key[:0]
		return true
	}
	return false
}

func (e *envelope) close() {
	e.expects = false
	if e.at(inError, 2) {
		e.inside = inTop
	}
	e.depth = max(0, e.depth-1)
}

// keyEnds says that the colon belongs to a key that was collected, and normalises it.
func (e *envelope) keyEnds() bool {
	if len(e.key) < 2 || e.inside == outside || e.inside == inTop && e.depth != 1 || e.inside == inError && e.depth != 2 {
		return false
	}
	if slices.Contains(e.key, '\\') {
		e.key = rawjson.Quote(nil, rawjson.Unquote(nil, e.key))
	}
	return true
}

func (e *envelope) beginValue(dst []byte) []byte {
	if e.inside == inError {
		e.inCode = e.code != nil && string(e.key) == `"code"`
		e.key = e.key[:0]
		e.number = e.number[:0]
		return dst
	}
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

func (e *envelope) endValue(dst []byte) []byte {
	if e.inCode {
		dst = e.endCode(dst)
	}
	if e.drop && e.depth == 1 {
		e.drop = false
	}
	return dst
}

func (e *envelope) endCode(dst []byte) []byte {
	e.inCode = false
	if n, err := strconv.ParseInt(string(e.number), 10, 64); err == nil {
		return strconv.AppendInt(dst, int64(e.code(n)), 10)
	}
	return append(dst, e.number...)
}

// apply edits a frame; the result shares nothing with what it was made from.
func (e *envelope) apply(f *transport.Frame) *transport.Frame {
	out := &transport.Frame{Event: f.Event, Head: e.feed(make([]byte, 0, len(f.Head)+len(e.mark)+len(e.id)+16), f.Head)}
	if f.Rest == nil {
		return out
	}
	if e.settled() {
		out.Rest = f.Rest
		return out
	}
	out.Rest = &edited{e: e, from: f.Rest}
	return out
}

// edited is the rest of a frame with the edits that its head had no place for.
type edited struct {
	e     *envelope
	from  io.Reader
	in    [16 << 10]byte
	out   []byte
	ready []byte
	err   error
}

// Read implements io.Reader.
func (r *edited) Read(p []byte) (int, error) {
	if r.e.settled() && len(r.ready) == 0 && r.err == nil {
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

// kindOf says what the beginning of a message is of, by the first member that tells.
// Of a message whose beginning does not tell, it is a response: only those grow large.
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
