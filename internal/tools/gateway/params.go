package gateway

import (
	"bytes"
	"fmt"
	"net/http"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/internal/traceparent"
	"github.com/plimsoll/plimsoll/journal"
)

// Keys of _meta.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaClientInfo   = "io.modelcontextprotocol/clientInfo"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaToken        = "progressToken"
	metaTrace        = "traceparent"
)

// tasksExtension is the name of tasks in the capabilities of 2026-07-28.
const tasksExtension = "io.modelcontextprotocol/tasks"

// params are the members of a request's params that the gateway uses.
type params struct {
	name            string // of a tool
	arguments, meta rawjson.Span
	token           []byte // raw progress token
	version         string // of the protocol, in requests of the sessionless version
	client          string // clientInfo.name in _meta of a request of the sessionless version
	traceParent     string // the client's span; "" if there is none or it is invalid (SEP-414)
}

// modern reports whether the request is of the sessionless version.
func (p params) modern() bool { return p.version >= "2026" }

// parseParams reads those params of a message that the gateway needs; what is missing or has another type is left empty.
func parseParams(m transport.Message) params {
	var p params
	if m.Head.Params.IsZero() || m.Raw[m.Head.Params.Start] != '{' {
		return p
	}
	for v, err := range rawjson.Members(m.Raw, m.Head.Params.Start) {
		if err != nil {
			return p
		}
		switch string(v.Key) {
		case "name":
			if m.Raw[v.Value.Start] == '"' {
				p.name = string(rawjson.Unquote(nil, v.Value.Of(m.Raw)))
			}
		case "arguments":
			p.arguments = v.Value
		case "_meta":
			p.meta = v.Value
		}
	}
	if p.meta.IsZero() || m.Raw[p.meta.Start] != '{' {
		return p
	}
	for v, err := range rawjson.Members(m.Raw, p.meta.Start) {
		if err != nil {
			return p
		}
		raw := v.Value.Of(m.Raw)
		switch string(v.Key) {
		case metaToken:
			if len(raw) <= jsonrpc.MaxIDBytes && raw[0] != '{' && raw[0] != '[' && string(raw) != "null" {
				p.token = raw
			}
		case metaVersion:
			if raw[0] == '"' {
				p.version = string(rawjson.Unquote(nil, raw))
			}
		case metaTrace:
			if raw[0] == '"' && len(raw) <= traceparent.MaxBytes {
				if parent, ok := traceparent.Parse(string(rawjson.Unquote(nil, raw))); ok {
					p.traceParent = parent.String()
				}
			}
		case metaClientInfo:
			p.client, _ = rawjson.Text(raw, "name")
		}
	}
	return p
}

// cloneMessage returns a message with a copy of the bytes, which stay valid.
func cloneMessage(m transport.Message) transport.Message {
	m.Raw = bytes.Clone(m.Raw)
	return m
}

// withParams returns m as a request with this id, method and raw params; its head is scanned anew.
func withParams(m transport.Message, id jsonrpc.ID, method string, raw []byte) (transport.Message, error) {
	m.Raw = jsonrpc.NewRequest(id, method, raw)
	head, err := jsonrpc.Scan(m.Raw)
	m.Head = head
	return m, err
}

// newRequest returns a request of the gateway itself on behalf of a client's message m: for the same server session, protocol version and client.
// members are the raw members of its params apart from _meta, without braces.
func newRequest(m transport.Message, p params, id jsonrpc.ID, method string, members []byte) (transport.Message, error) {
	raw := []byte{'{'}
	if p.modern() {
		meta, err := rawjson.Remove(p.meta.Of(m.Raw), metaToken)
		if err != nil {
			return transport.Message{}, err
		}
		raw = append(append(raw, `"_meta":`...), meta...)
		if len(members) > 0 {
			raw = append(raw, ',')
		}
	}
	raw = append(append(raw, members...), '}')
	m.Header = headerFor(m.Header, method, "")
	return withParams(m, id, method, raw)
}

// headerFor returns a copy of a client's header for a request of another method. Mcp-Method and, unless name is "", Mcp-Name are set if the client
// has sent Mcp-Method; Mcp-Param-* and Last-Event-Id are removed. nil stays nil.
func headerFor(h http.Header, method, name string) http.Header {
	if h == nil {
		return nil
	}
	h = h.Clone()
	for k := range h {
		if len(k) > len("Mcp-Param-") && k[:len("Mcp-Param-")] == "Mcp-Param-" {
			delete(h, k)
		}
	}
	h.Del("Mcp-Name")
	if h.Get("Mcp-Method") != "" {
		h.Set("Mcp-Method", method)
		if name != "" {
			h.Set("Mcp-Name", name)
		}
	}
	h.Del("Last-Event-Id")
	return h
}

// Members that name a call.
var (
	envelopeMembers = []string{"method", "params"}
	callMembers     = []string{"name", "arguments"}
)

// ambiguousPart describes the part of a message that a server may read as another call than the gateway does, or returns "". JSON names are
// case-sensitive, yet a server in Go takes "Name" for "name", and libraries differ in which of two members of one name counts: a client
// that may not use all tools could name one tool to the gateway and another to the server.
func ambiguousPart(m transport.Message) string {
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
				return fmt.Sprintf("%s is not %q", quoteName(string(member.Key)), name)
			}
		}
	}
	return ""
}

// refuseAmbiguous refuses a message that a server might read as a call of a forbidden tool, and reports whether it did: a request is answered
// with an error, anything else is dropped. Call it only if some tools are forbidden.
func (s *Session) refuseAmbiguous(m transport.Message, to transport.Receiver) bool {
	what := ambiguousPart(m)
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
