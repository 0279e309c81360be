package gateway

import (
	"bytes"
	"fmt"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/journal"
)

// Members that name a call.
var (
	envelopeMembers = []string{"method", "params"}
	callMembers     = []string{"name", "arguments"}
)

// ambiguous describes the part of a message that a server may read as another call than the gateway does, or returns "". JSON names are
// case-sensitive, yet a server in Go takes "Name" for "name", and libraries differ in which of two members of one name counts: a client
// that may not use all tools could name one tool to the gateway and another to the server.
func ambiguous(m transport.Message) string {
	if what := ambiguousMember(m.Raw, 0, envelopeMembers); what != "" {
		return what
	}
	if p := m.Head.Params; m.Head.Method == "tools/call" && !p.IsZero() && m.Raw[p.Start] == '{' {
		if name := rawjson.Get(m.Raw, "params", "name"); !name.IsZero() && m.Raw[name.Start] != '"' {
			return `"name" is not a string` // in JavaScript tools[["write"]] is tools["write"]
		}
		return ambiguousMember(m.Raw, p.Start, callMembers)
	}
	return ""
}

// ambiguousMember describes the first member of the object at text[at:] whose name differs from one of names only in case or occurs twice;
// "" if there is none. names has at most two elements.
func ambiguousMember(text []byte, at int, names []string) string {
	var seen [2]bool
	for member, err := range rawjson.Members(text, at) {
		if err != nil {
			return ""
		}
		for i, name := range names {
			switch {
			case string(member.Key) == name && !seen[i]:
				seen[i] = true
			case string(member.Key) == name:
				return fmt.Sprintf("%q is there twice", name)
			case bytes.EqualFold(member.Key, []byte(name)):
				return fmt.Sprintf("%s is not %q", quoted(string(member.Key)), name)
			}
		}
	}
	return ""
}

// refuseAmbiguous refuses a message that a server might read as a call of a forbidden tool, and reports whether it did: a request is
// answered with an error, anything else is dropped. It is called only where some tools are forbidden.
func (s *Session) refuseAmbiguous(m transport.Message, to transport.Receiver) bool {
	what := ambiguous(m)
	if what == "" && m.Head.Kind != jsonrpc.Request && m.Head.Method == "tools/call" {
		what = "it has no id, so it could not be answered" // and a server may do it all the same
	}
	if what == "" {
		return false
	}
	x := &exchange{s: s, id: m.Head.ID, to: to}
	if m.Head.Kind == jsonrpc.Request {
		s.refuse(x, "", "denied", fmt.Sprintf("Invalid message: %s. Where only some tools are allowed a message must say exactly which it calls.", what))
		return true
	}
	s.event(journal.ToolRefused{Server: s.o.Name, Why: "denied"})
	to.Done(nil)
	return true
}
