package jsonrpc

import (
	"encoding/json"
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// Start describes a message by its beginning.
type Start struct {
	// Head has the members that are whole. Its Kind is Invalid when what came does not
	// tell, and Spans of what is not whole are zero.
	Head Head
	// Open is the member whose value the beginning ends in, "" when there is none.
	Open string
}

// ScanStart reads the head of a message from its beginning, which may end anywhere: a
// large result is a response before its end has come. It is not an error when nothing is
// found; the whole message will tell.
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

// openMember returns the key of the member that begins at or behind byte at, if its value has
// begun too; opening is the byte that must stand before it.
func openMember(begin []byte, at int, opening byte) string {
	at = space(begin, at)
	if at >= len(begin) || begin[at] != opening {
		return ""
	}
	key, err := rawjson.Value(begin, at+1)
	if err != nil || begin[key.Start] != '"' {
		return ""
	}
	colon := space(begin, key.End)
	if colon >= len(begin) || begin[colon] != ':' || space(begin, colon+1) >= len(begin) {
		return ""
	}
	return string(rawjson.Unquote(nil, key.Of(begin)))
}

// space returns the end of the white space that begins at byte at.
func space(b []byte, at int) int {
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
