package client

import (
	"bytes"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/tools/mcp/jsonrpc"
)

// subscription is the key under which a server of 2026-07-28 names, in the _meta of a
// notification, the subscriptions/listen request that it belongs to.
const subscription = "io.modelcontextprotocol/subscriptionId"

func progressToken(raw []byte) rawjson.Span {
	return rawjson.Get(raw, "params", "_meta", "progressToken")
}

// hasPlainMembers reports whether the members that name a request are in a message once, and as they
// are written in the specification. Of two a server may go by the one that is not renamed,
// and some take "ID" for "id": in a shared process a client could so answer, cancel or
// report the progress of another's request.
func hasPlainMembers(raw []byte) bool {
	at := 0
	for _, names := range [][]string{{"id", "params"}, {"requestId", "_meta"}, {"progressToken"}} {
		seen, below := map[string]bool{}, -1
		for m, err := range rawjson.Members(raw, at) {
			if err != nil {
				return at > 0 // what is no object has no members; the message was scanned
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

// rename puts the server's id and progress token into a request.
func rename(raw []byte, token rawjson.Span, c *call) []byte {
	edits := []rawjson.Edit{{Span: rawjson.Get(raw, "id"), With: []byte(c.id)}}
	if !token.IsZero() {
		edits = append(edits, rawjson.Edit{Span: token, With: []byte(c.token)})
	}
	return splice(raw, edits...)
}

// splice makes edits whose spans were found in raw, in any order.
func splice(raw []byte, edits ...rawjson.Edit) []byte {
	sorting.By(edits, func(a, b rawjson.Edit) int { return a.Span.Start - b.Span.Start })
	out, err := rawjson.Splice(raw, edits)
	if err != nil {
		return raw // spans of one message do not overlap
	}
	return out
}

// withID gives a message another id.
func withID(raw []byte, id jsonrpc.ID) []byte {
	span := rawjson.Get(raw, "id")
	if span.IsZero() {
		return raw
	}
	return splice(raw, rawjson.Edit{Span: span, With: []byte(id)})
}
