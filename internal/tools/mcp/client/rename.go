package client

import (
	"bytes"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// subscription is the key under which a server of 2026-07-28 names, in the _meta of a
// notification, the subscriptions/listen request that it belongs to.
const subscription = "io.modelcontextprotocol/subscriptionId"

func progressToken(raw []byte) rawjson.Span {
	return rawjson.Get(raw, "params", "_meta", "progressToken")
}

// hasPlainMembers reports whether the members that identify a request are in a message at most once, and spelled as in the specification.
// Of two, a server may use the one that is not replaced, and some accept "ID" for "id": in a shared process a client could so answer,
// cancel or report the progress of another client's request.
func hasPlainMembers(raw []byte) bool {
	at := 0
	for _, names := range [][]string{{"id", "params"}, {"requestId", "_meta"}, {"progressToken"}} {
		seen, below := map[string]bool{}, -1
		for m, err := range rawjson.Members(raw, at) {
			if err != nil {
				return at > 0 // below the top it is not an object, so it has no members
			}
			for _, name := range names {
				if !bytes.EqualFold(m.Key, []byte(name)) {
					continue
				}
				if seen[name] || string(m.Key) != name {
					return false
				}
				seen[name] = true
				if name == names[len(names)-1] {
					below = m.Value.Start
				}
			}
		}
		if below < 0 || raw[below] != '{' {
			break
		}
		at = below
	}
	return true
}

// rename returns a request with the id and progress token of c for the server; token is where the client's token is.
func rename(m transport.Message, token rawjson.Span, c *call) []byte {
	edits := []rawjson.Edit{{Span: m.Head.IDAt, With: []byte(c.id)}}
	if !token.IsZero() {
		edits = append(edits, rawjson.Edit{Span: token, With: []byte(c.token)})
	}
	return splice(m.Raw, edits...)
}

// splice returns raw with the edits, whose spans are from raw, in any order.
func splice(raw []byte, edits ...rawjson.Edit) []byte {
	sorting.By(edits, func(a, b rawjson.Edit) int { return a.Span.Start - b.Span.Start })
	out, err := rawjson.Splice(raw, edits)
	if err != nil {
		return raw // spans of one message do not overlap
	}
	return out
}

// withID returns a message with another id; unchanged if it has none.
func withID(raw []byte, id jsonrpc.ID) []byte {
	span := rawjson.Get(raw, "id")
	if span.IsZero() {
		return raw
	}
	return splice(raw, rawjson.Edit{Span: span, With: []byte(id)})
}
