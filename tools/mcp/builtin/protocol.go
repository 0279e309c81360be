package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/limit"
)

// Keys of _meta.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaServer       = "io.modelcontextprotocol/serverInfo"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
	metaToken        = "progressToken"
)

// params holds the members of a request's params that the server uses. Spans lie in the message.
type params struct {
	name, cursor, arguments, notifications, wanted rawjson.Span
	version                                        string // the one in _meta, as requests of the sessionless version have
	capable                                        bool   // _meta has the client's capabilities
	token                                          []byte // raw
}

// modern reports whether the request is of the sessionless version.
func (p *params) modern() bool { return p.version >= "2026" }

// read sets the members of p that the params of a request have; missing or null params set none. The error names the wrong member.
func (p *params) read(m *transport.Message) error {
	at := m.Head.Params
	if at.IsZero() || string(at.Of(m.Raw)) == "null" {
		return nil
	}
	if m.Raw[at.Start] != '{' {
		return fmt.Errorf("params is %s; it must be an object", limit.Short(string(at.Of(m.Raw)), maxShown))
	}
	var meta rawjson.Span
	for v, err := range rawjson.Members(m.Raw, at.Start) {
		if err != nil {
			return fmt.Errorf("params cannot be read: %w", err)
		}
		switch string(v.Key) {
		case "name":
			p.name = v.Value
		case "cursor":
			p.cursor = v.Value
		case "arguments":
			p.arguments = v.Value
		case "notifications":
			p.notifications = v.Value
		case "protocolVersion":
			p.wanted = v.Value
		case "_meta":
			meta = v.Value
		}
	}
	if meta.IsZero() || m.Raw[meta.Start] != '{' {
		return nil
	}
	for v, err := range rawjson.Members(m.Raw, meta.Start) {
		if err != nil {
			return fmt.Errorf("params._meta cannot be read: %w", err)
		}
		raw := v.Value.Of(m.Raw)
		switch string(v.Key) {
		case metaVersion:
			if raw[0] == '"' {
				p.version = string(rawjson.Unquote(nil, raw))
			}
		case metaCapabilities:
			p.capable = raw[0] == '{'
		case metaToken:
			if len(raw) <= jsonrpc.MaxIDBytes && strings.IndexByte(`"-0123456789`, raw[0]) >= 0 && json.Valid(raw) {
				p.token = raw
			}
		}
	}
	return nil
}

// answerRequest answers a request. tools/call and tools/list are answered from a new goroutine.
func (s *Server) answerRequest(ctx context.Context, w *connection, m transport.Message, to transport.Receiver) {
	var p params
	refuse := func(code int, text string, data []byte) {
		transport.Reply(to, jsonrpc.ErrorResponse(m.Head.ID, code, text, data))
	}
	if err := p.read(&m); err != nil {
		refuse(jsonrpc.CodeParams, "Invalid params: "+err.Error(), nil)
		return
	}
	switch {
	case p.modern() && p.version != modernVersion:
		data := append(append([]byte(`{"supported":`), s.fixed.versions...), `,"requested":`...)
		data = append(rawjson.Quote(data, limit.Short(p.version, maxShown)), '}')
		refuse(jsonrpc.CodeVersion, "Unsupported protocol version", data)
		return
	case p.modern() && !p.capable:
		refuse(jsonrpc.CodeParams, "Invalid params: _meta has no "+metaCapabilities, nil)
		return
	}
	method := m.Head.Method
	if p.modern() {
		switch method {
		case "initialize", "ping", "logging/setLevel": // 2026-07-28 does not have these
			method = ""
		}
	}
	result := func(members ...[]byte) {
		body := append([]byte{'{'}, bytes.Join(members, []byte{','})...)
		transport.Reply(to, jsonrpc.ResultResponse(m.Head.ID, append(body, '}')))
	}
	switch method {
	case "initialize":
		version, err := s.chooseVersion(p.wanted.Of(m.Raw))
		if err != nil {
			refuse(jsonrpc.CodeParams, "Invalid params: "+err.Error(), nil)
			return
		}
		result([]byte(`"protocolVersion":"`+version+`"`), s.fixed.about, append([]byte(`"serverInfo":`), s.fixed.info...))
	case "server/discover":
		result([]byte(cacheable), append([]byte(`"supportedVersions":`), s.fixed.versions...), s.fixed.about,
			fmt.Appendf(nil, `"_meta":{%q:%s}`, metaServer, s.fixed.info))
	case "ping", "logging/setLevel":
		result()
	case "tools/list":
		s.answerList(&p, &m, to, refuse, result)
	case "subscriptions/listen":
		s.subscribe(&p, &m, to, refuse, result)
	case "tools/call":
		s.startCall(ctx, w, &p, &m, to, refuse)
	default:
		refuse(jsonrpc.CodeMethod, fmt.Sprintf("Method not found: %q; this server has tools only", limit.Short(m.Head.Method, maxShown)), nil)
	}
}

// cacheable holds the members that 2026-07-28 requires in a result that may be cached: the list does not change while the server runs, but
// the next process may be of another version.
const cacheable = `"resultType":"complete","ttlMs":300000,"cacheScope":"public"`

// chooseVersion returns the protocol version for initialize: the wanted one (raw JSON) if it is known, else the newest with sessions. It is an
// error if wanted is not a string.
func (s *Server) chooseVersion(wanted []byte) (string, error) {
	if len(wanted) < 2 || wanted[0] != '"' {
		return "", fmt.Errorf("initialize needs protocolVersion, a string such as %q", legacyVersions[0])
	}
	version := string(rawjson.Unquote(nil, wanted))
	if slices.Contains(legacyVersions, version) {
		return version, nil
	}
	return legacyVersions[0], nil
}

// answerList answers tools/list, in a new goroutine; the list is one page, so any cursor is refused.
func (s *Server) answerList(p *params, m *transport.Message, to transport.Receiver, refuse func(int, string, []byte), result func(...[]byte)) {
	if !p.cursor.IsZero() && string(p.cursor.Of(m.Raw)) != "null" {
		refuse(jsonrpc.CodeParams, fmt.Sprintf("Invalid cursor: %s; the list has one page, ask for it without a cursor", limit.Short(string(p.cursor.Of(m.Raw)), maxShown)), nil)
		return
	}
	modern := p.modern()
	go func() { // the client may send on before it reads
		defer func() {
			if recover() != nil {
				s.countPanic("")
			}
		}()
		if modern {
			result([]byte(cacheable), s.fixed.tools)
			return
		}
		result(s.fixed.tools)
	}()
}

// subscribe answers subscriptions/listen: it acknowledges that there are no notifications, and ends.
func (s *Server) subscribe(p *params, m *transport.Message, to transport.Receiver, refuse func(int, string, []byte), result func(...[]byte)) {
	if p.notifications.IsZero() || m.Raw[p.notifications.Start] != '{' {
		refuse(jsonrpc.CodeParams, "Invalid params: subscriptions/listen needs notifications, an object", nil)
		return
	}
	meta := fmt.Appendf(nil, `"_meta":{%q:%s}`, metaSubscription, m.Head.ID)
	ack := append(append([]byte{'{'}, meta...), `,"notifications":{}}`...)
	to.Receive(&transport.Frame{Head: jsonrpc.NewRequest("", "notifications/subscriptions/acknowledged", ack)})
	result([]byte(`"resultType":"complete"`), meta)
}

// startCall checks a tools/call and begins it in a new goroutine. An unknown tool, arguments that are no object, and a call beyond MaxCalls are
// refused.
func (s *Server) startCall(ctx context.Context, w *connection, p *params, m *transport.Message, to transport.Receiver, refuse func(int, string, []byte)) {
	name := p.name.Of(m.Raw)
	if len(name) < 2 || name[0] != '"' {
		refuse(jsonrpc.CodeParams, "Invalid params: tools/call needs name, a string", nil)
		return
	}
	tool := s.tools[string(rawjson.Unquote(nil, name))]
	if tool == nil {
		asked := limit.Short(string(rawjson.Unquote(nil, name)), maxShown)
		refuse(jsonrpc.CodeParams, fmt.Sprintf("Unknown tool: %q%s; tools/list names all of them", asked, suggestion(asked, s.names)), nil)
		return
	}
	arguments := p.arguments.Of(m.Raw)
	switch {
	case len(arguments) == 0 || string(arguments) == "null":
		arguments = []byte("{}")
	case arguments[0] != '{':
		refuse(jsonrpc.CodeParams, fmt.Sprintf("Invalid params: the arguments of %s are %s; they must be an object", tool.Name, limit.Short(string(arguments), maxShown)), nil)
		return
	case !json.Valid(arguments):
		refuse(jsonrpc.CodeParams, fmt.Sprintf("Invalid params: the arguments of %s are no valid JSON", tool.Name), nil)
		return
	}
	c := &call{
		s: s, w: w, tool: tool, id: m.Head.ID, modern: p.modern(), token: bytes.Clone(p.token), to: to,
		request: Call{Tool: tool.Name, Arguments: bytes.Clone(arguments), Principal: m.Principal, Header: m.Header, MaxText: m.MaxText},
	}
	c.request.Progress = c.progress
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	switch busy, closed := s.admit(c); {
	case closed:
		c.cancel(errClosed)
		to.Done(errClosed)
	case busy:
		c.cancel(errClosed)
		s.refused.Add(1)
		s.event(tool.Name, "busy")
		refuse(jsonrpc.CodeInternal, fmt.Sprintf("%d calls are being worked on, and no more are taken; %s was not called: wait for one of them to end, then call again", s.o.MaxCalls, tool.Name), nil)
	default:
		go c.run()
	}
}

// cancelled cancels the call that a notification names. If several calls have that id it is not known which is meant, and none is
// cancelled: clients of HTTP without sessions cancel by closing the answer.
func (w *connection) cancelled(m transport.Message) {
	id := jsonrpc.ID(rawjson.Get(m.Raw, "params", "requestId").Of(m.Raw))
	mine := func(c *call) bool { return c.w == w && c.id == id && c.request.Principal == m.Principal }
	count := 0
	w.s.mu.Lock()
	for c := range w.s.under {
		if mine(c) {
			count++
		}
	}
	w.s.mu.Unlock()
	if count == 1 {
		w.s.cancelCalls(errCancelled, mine, false)
	}
}
