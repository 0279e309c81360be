package jsonrpc

import (
	"github.com/plimsoll/plimsoll/internal/jsonstream"
	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// Place is a range of bytes of a message that may be larger than memory.
type Place struct{ Start, End int64 }

// Finder reads a message that is written to it, in pieces of any size, and finds its head
// without holding more than that. The zero value is ready. Its Write never fails.
type Finder struct {
	lexer   jsonstream.Lexer
	started bool
	bad     bool
	key     string // of the member that is being read
	word    []byte // the beginning of its value
	size    int64  // of all of it
	head    Head
	id      Place
}

// Write implements io.Writer. It never fails: bytes that are not JSON make the head that of an invalid message.
func (f *Finder) Write(p []byte) (int, error) {
	if !f.started {
		f.lexer.Reset((*visitor)(f))
		f.started = true
	}
	f.bad = f.bad || f.lexer.Feed(p) != nil
	return len(p), nil
}

// Head returns the head of a message that was written, and the place of its id. The head is like that of [Scan], except that a span only says
// whether the member is there (not zero). Input that is not a message has the kind Invalid.
func (f *Finder) Head() (Head, Place) {
	h := f.head
	switch {
	case f.bad || !f.started || f.lexer.Trailed || f.lexer.Finish() != nil:
		return Head{}, Place{}
	case h.Method != "" && h.ID != "":
		h.Kind = Request
	case h.Method != "":
		h.Kind = Notification
	case !h.Result.IsZero() || !h.Error.IsZero():
		h.Kind = Response
	}
	return h, f.id
}

// visitor takes the members of the message.
type visitor Finder

// Value implements [jsonstream.Visitor]: it enters the message, and notes the name of each of its members.
func (f *visitor) Value(literal, name []byte, _ byte) jsonstream.Action {
	if f.key == "" && f.word == nil {
		f.word = make([]byte, 0, 64)
		return jsonstream.Enter // the message itself
	}
	f.key, f.word, f.size = string(name), f.word[:0], 0
	if f.key == "id" {
		f.id.Start = f.lexer.Offset()
	}
	return jsonstream.Raw
}

// Piece implements [jsonstream.Visitor]: it keeps the beginning of the value under way, and its size.
func (f *visitor) Piece(p []byte) {
	f.size += int64(len(p))
	f.word = append(f.word, p[:min(len(p), MaxIDBytes-len(f.word))]...)
}

// End implements [jsonstream.Visitor]: it records the member that has just ended.
func (f *visitor) End() {
	// Spans of values that may be beyond an int's reach are not told: only that they are there.
	there := Span{Start: 0, End: 1}
	long := f.size > int64(len(f.word))
	switch f.key {
	case "id":
		f.head.ID = ""
		if !long {
			f.head.ID = idOf(f.word)
		}
		f.id.End = f.id.Start + f.size
	case "method":
		if f.word[0] == '"' && !long {
			f.head.Method = string(rawjson.Unquote(nil, f.word))
		}
	case "params":
		f.head.Params = there
	case "result":
		f.head.Result = there
	case "error":
		f.head.Error = there
	}
}

// Leave implements [jsonstream.Visitor]; it does nothing.
func (f *visitor) Leave() {}
