package gateway

import (
	"bytes"
	"fmt"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/tools/mcp/transport"
)

// Members that name a call.
var (
	envelopeMembers = []string{"method", "params"}
	callMembers     = []string{"name", "arguments"}
)

// ambiguous describes the part of a message that servers may take for another call than the one
// this gateway checks, "" when there is none. Names in JSON are exact, yet a server in Go takes "Name"
// for "name", and which of two members of one name counts differs between libraries. So a
// client that may not use all tools could name one to us and another to the server.
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

// ambiguousMember looks for members whose name differs from one of names only in case, or that occur twice.
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

// refuseAmbiguous refuses a message that a server might read as a call of a forbidden tool. It is used only where some tools
// are forbidden.
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
