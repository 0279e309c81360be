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
	"fmt"

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

// ErrorResponse makes the response that says a request failed. data is raw JSON; nil
// leaves it out. An empty id becomes null.
func ErrorResponse(id ID, code int, text string, data []byte) []byte {
	b := envelope(id)
	b = fmt.Appendf(b, `"error":{"code":%d,"message":`, code)
	b = rawjson.Quote(b, text)
	if data != nil {
		b = append(append(b, `,"data":`...), data...)
	}
	return append(b, "}}"...)
}

// ResultResponse makes the response with this result, which is raw JSON.
func ResultResponse(id ID, result []byte) []byte {
	b := append(envelope(id), `"result":`...)
	return append(append(b, result...), '}')
}

// NewRequest makes a request; params is raw JSON, nil leaves it out. An empty id makes it a notification.
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

func envelope(id ID) []byte {
	if id == "" {
		id = "null"
	}
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	return append(b, ',')
}
