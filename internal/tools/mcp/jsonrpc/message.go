// Package jsonrpc reads the envelope of JSON-RPC 2.0 messages and frames them on streams, without decoding what is inside. Everything that passes
// MCP messages on is built of it.
//
// [Scan] finds the id, the method and where params, result and error lie in the raw bytes of a message; [ScanStart] does what it can of that with
// the beginning of one. Ids are compared as they were written. [LineReader] (standard streams) and [sse.Reader] (HTTP) give each message as a head
// that is held and a rest that is read as the caller goes, so that a message of any size passes in constant memory; [WriteLine] and [EventWriter]
// write them again, and change only line breaks between values.
//
// A stream that ends within a message gives io.ErrUnexpectedEOF where its bytes end, never a message that looks whole. A reader holds 4 KiB while
// messages are small, and at most its hold and 32 KiB. Functions may be called from any goroutine; readers and writers belong to one at a time.
package jsonrpc

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// Kind is the kind of a message.
type Kind uint8

// The kinds.
const (
	Invalid Kind = iota
	Request
	Notification
	Response
)

// ID is the id of a request as its sender wrote it: a JSON number, or a JSON string with
// its quotes. "" is none. Two IDs are the same when their bytes are.
type ID string

// Span is a range of bytes of a message.
type Span = rawjson.Span

// Head holds the parts of a message that a relay needs, and their places.
type Head struct {
	Kind   Kind
	ID     ID
	Method string
	// Params, Result and Error are the values of these members, where there are any, and IDAt the place of the id.
	Params, Result, Error, IDAt Span
}

// MaxIDBytes bounds an id: it is kept while its request is open.
const MaxIDBytes = 1 << 10

// Scan reads the head of a whole message. A batch (an array), a message without a member that
// its kind needs and text that is no JSON object are errors, which name the missing part.
func Scan(message []byte) (Head, error) {
	if _, err := rawjson.Only(message); err != nil {
		return Head{}, err
	}
	var h Head
	var method Span
	for m, err := range rawjson.Members(message, 0) {
		if err != nil {
			return Head{}, err
		}
		switch string(m.Key) {
		case "method":
			method = m.Value
		case "id":
			h.IDAt = m.Value
		case "params":
			h.Params = m.Value
		case "result":
			h.Result = m.Value
		case "error":
			h.Error = m.Value
		}
	}
	if raw := h.IDAt.Of(message); len(raw) > 0 && string(raw) != "null" {
		if len(raw) > MaxIDBytes {
			return Head{}, fmt.Errorf("byte %d: an id of %d bytes, at most %d are taken", h.IDAt.Start, len(raw), MaxIDBytes)
		}
		if h.ID = idOf(raw); h.ID == "" {
			return Head{}, fmt.Errorf("byte %d: an id is a string or a number", h.IDAt.Start)
		}
	}
	switch {
	case !method.IsZero():
		if message[method.Start] != '"' {
			return Head{}, fmt.Errorf("byte %d: a method is a string", method.Start)
		}
		if h.Method = string(rawjson.Unquote(nil, method.Of(message))); h.Method == "" {
			return Head{}, fmt.Errorf("byte %d: the method has no name", method.Start)
		}
		h.Kind = Request
		if h.ID == "" {
			h.Kind = Notification
		}
	case !h.Result.IsZero() || !h.Error.IsZero():
		h.Kind = Response // without an id it says that a message could not be read
	default:
		return Head{}, fmt.Errorf("neither method nor result nor error: no JSON-RPC message")
	}
	return h, nil
}

// Error codes of JSON-RPC 2.0 and of MCP.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethod         = -32601
	CodeParams         = -32602
	CodeInternal       = -32603
	// CodeVersion is UnsupportedProtocolVersion, CodeCapability
	// MissingRequiredClientCapability and CodeHeader HeaderMismatch of MCP 2026-07-28.
	CodeHeader     = -32020
	CodeCapability = -32021
	CodeVersion    = -32022
)

// ErrorResponse returns a response with an error. data is raw JSON; nil leaves it out. An empty id becomes null.
func ErrorResponse(id ID, code int, text string, data []byte) []byte {
	b := beginResponse(id)
	b = fmt.Appendf(b, `"error":{"code":%d,"message":`, code)
	b = rawjson.Quote(b, text)
	if data != nil {
		b = append(append(b, `,"data":`...), data...)
	}
	return append(b, "}}"...)
}

// ResultResponse returns a response with this result, which is raw JSON.
func ResultResponse(id ID, result []byte) []byte {
	b := append(beginResponse(id), `"result":`...)
	return append(append(b, result...), '}')
}

// NewRequest returns a request; params is raw JSON, nil leaves it out. An empty id makes it a notification.
func NewRequest(id ID, method string, params []byte) []byte {
	b := []byte(`{"jsonrpc":"2.0",`)
	if id != "" {
		b = append(append(append(b, `"id":`...), id...), ',')
	}
	b = append(b, `"method":`...)
	b = rawjson.Quote(b, method)
	if params != nil {
		b = append(append(b, `,"params":`...), params...)
	}
	return append(b, '}')
}

// beginResponse returns the beginning of a response to the request id, up to its result or error; "" stands for null.
func beginResponse(id ID) []byte {
	if id == "" {
		id = "null"
	}
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	return append(b, ',')
}

// Start describes a message by its beginning.
type Start struct {
	// Head has the members that are whole. Its Kind is Invalid when what came does not
	// tell, and Spans of what is not whole are zero.
	Head Head
	// Open is the member whose value the beginning ends in, "" when there is none.
	Open string
}

// ScanStart reads the head of a message of which only the beginning is at hand, which may end anywhere. What it does not find is zero,
// which is no error.
func ScanStart(begin []byte) Start {
	var s Start
	end, opening := 0, byte('{')
	for m, err := range rawjson.Members(begin, 0) {
		if err != nil {
			break
		}
		if m.Value.End == len(begin) && begin[m.Value.Start] != '"' && begin[m.Value.Start] != '{' && begin[m.Value.Start] != '[' {
			break // a number, perhaps with more digits to come
		}
		end, opening = m.Value.End, ','
		switch string(m.Key) {
		case "method":
			if begin[m.Value.Start] == '"' {
				s.Head.Method = string(rawjson.Unquote(nil, m.Value.Of(begin)))
			}
		case "id":
			s.Head.ID, s.Head.IDAt = idOf(m.Value.Of(begin)), m.Value
		case "params":
			s.Head.Params = m.Value
		case "result":
			s.Head.Result = m.Value
		case "error":
			s.Head.Error = m.Value
		}
	}
	s.Open = openMember(begin, end, opening)
	switch {
	case s.Head.Method != "" && s.Head.ID != "":
		s.Head.Kind = Request
	case s.Head.Method != "" && (s.Open == "" || strings.HasPrefix(s.Head.Method, "notifications/")):
		// MCP has no request of such a name: its params may be long.
		s.Head.Kind = Notification
	case s.Open == "result" || s.Open == "error" || !s.Head.Result.IsZero() || !s.Head.Error.IsZero():
		s.Head.Kind = Response
	}
	return s
}

// openMember returns the key of the member that begins at byte at or later, if its value has begun too; "" otherwise. opening is the byte that
// must come before the member.
func openMember(begin []byte, at int, opening byte) string {
	at = skipSpace(begin, at)
	if at >= len(begin) || begin[at] != opening {
		return ""
	}
	key, err := rawjson.Value(begin, at+1)
	if err != nil || begin[key.Start] != '"' {
		return ""
	}
	colon := skipSpace(begin, key.End)
	if colon >= len(begin) || begin[colon] != ':' || skipSpace(begin, colon+1) >= len(begin) {
		return ""
	}
	return string(rawjson.Unquote(nil, key.Of(begin)))
}

// skipSpace returns the end of the white space that begins at byte at.
func skipSpace(b []byte, at int) int {
	for at < len(b) && (b[at] == ' ' || b[at] == '\n' || b[at] == '\t' || b[at] == '\r') {
		at++
	}
	return at
}

// idOf returns the id that raw is: "" when it is null, too long or no string or number of JSON.
// It is held to the letter of JSON, where rawjson is lenient (00, 1e, "\q"), for an answer
// repeats it.
func idOf(raw []byte) ID {
	if len(raw) == 0 || len(raw) > MaxIDBytes || raw[0] != '"' && raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') || !json.Valid(raw) {
		return ""
	}
	return ID(raw)
}
