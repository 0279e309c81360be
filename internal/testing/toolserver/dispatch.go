package toolserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
)

var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// start makes the exchange for a request and answers it until it is done.
func (c *session) start(ctx context.Context, h jsonrpc.Head, message []byte, header http.Header, to sink) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	c.mu.Lock()
	c.open[h.ID] = stop
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.open, h.ID)
		c.mu.Unlock()
	}()
	x := &exchange{
		c: c, s: c.s, ctx: ctx, to: to, header: header, id: h.ID, method: h.Method, params: h.Params.Of(message),
	}
	var p struct {
		Meta meta `json:"_meta"`
	}
	_ = json.Unmarshal(x.params, &p)
	x.meta = p.Meta
	x.modern = c.s.speaksModern() && h.Method != "initialize" && (p.Meta.Version != nil || c.s.o.Versions == ModernOnly || h.Method == "server/discover")
	x.serve()
}

// dispatch answers a request by its method. errNoAnswer means that there is to be no answer.
func (x *exchange) dispatch() (body, error) {
	if x.modern {
		if err := x.checkMeta(); err != nil {
			return nil, err
		}
		if result, err, ok := x.modernOnly(); ok {
			return result, err
		}
	} else {
		if result, err, ok := x.legacyOnly(); ok {
			return result, err
		}
	}
	switch x.method {
	case "tools/list":
		return x.listTools()
	case "tools/call":
		return x.callTool()
	case "resources/list":
		return x.listResources()
	case "resources/templates/list":
		return x.listTemplates()
	case "resources/read":
		return x.readResource()
	case "prompts/list":
		return x.listPrompts()
	case "prompts/get":
		return x.getPrompt()
	case "completion/complete":
		return x.completion()
	}
	return nil, noMethod(x.method)
}

func noMethod(method string) error {
	return &Error{Code: jsonrpc.CodeMethod, Message: "Method not found: " + method, status: http.StatusNotFound}
}

func badParams(format string, a ...any) error {
	return &Error{Code: jsonrpc.CodeParams, Message: fmt.Sprintf(format, a...)}
}

// checkMeta holds a request to the members that 2026-07-28 requires.
func (x *exchange) checkMeta() error {
	v := x.meta.Version
	if v == nil {
		e := badParams("Invalid params: _meta has no io.modelcontextprotocol/protocolVersion").(*Error)
		e.status = http.StatusBadRequest
		return e
	}
	if *v != Modern {
		data, _ := json.Marshal(map[string]any{"supported": x.s.supported(), "requested": *v})
		return &Error{Code: jsonrpc.CodeVersion, Message: "Unsupported protocol version", Data: data, status: http.StatusBadRequest}
	}
	if x.meta.Capabilities == nil {
		e := badParams("Invalid params: _meta has no io.modelcontextprotocol/clientCapabilities").(*Error)
		e.status = http.StatusBadRequest
		return e
	}
	if x.meta.Level != "" && !slices.Contains(levels, x.meta.Level) {
		return badParams("Invalid log level: %s", x.meta.Level)
	}
	return nil
}

// modernOnly answers the methods that only 2026-07-28 has, and refuses those that it has no longer; false for any other method.
func (x *exchange) modernOnly() (body, error, bool) {
	switch x.method {
	case "server/discover":
		x.s.count.discovered.Add(1)
		return x.complete(3_600_000, value(map[string]any{
			"supportedVersions": []string{Modern}, "capabilities": x.s.capabilities(true),
			"instructions": "A server to test with.",
		})), nil, true
	case "subscriptions/listen":
		result, err := x.listen()
		return result, err, true
	case "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "initialize":
		return nil, noMethod(x.method), true
	}
	return nil, nil, false
}

// legacyOnly answers the methods that only versions with sessions have, and refuses all before the session is initialized; false for any
// other method.
func (x *exchange) legacyOnly() (body, error, bool) {
	c := x.c
	c.mu.Lock()
	initialized := c.initialized
	c.mu.Unlock()
	switch x.method {
	case "initialize":
		result, err := x.initialize()
		return result, err, true
	case "ping":
		return nil, nil, true
	}
	if !initialized {
		if x.s.o.SilentProbe {
			return nil, errNoAnswer, true
		}
		return nil, &Error{Code: jsonrpc.CodeInvalidRequest, Message: "Bad Request: server not initialized"}, true
	}
	switch x.method {
	case "logging/setLevel":
		var p struct{ Level string }
		_ = json.Unmarshal(x.params, &p)
		if !slices.Contains(levels, p.Level) {
			return nil, badParams("Invalid log level: %s", p.Level), true
		}
		c.mu.Lock()
		c.level = p.Level
		c.mu.Unlock()
		return nil, nil, true
	case "resources/subscribe", "resources/unsubscribe":
		var p struct{ URI string }
		_ = json.Unmarshal(x.params, &p)
		on := x.method == "resources/subscribe"
		c.mu.Lock()
		if c.subscribed[p.URI] != on {
			x.s.count.subscribed.Add(map[bool]int64{true: 1, false: -1}[on])
		}
		c.subscribed[p.URI] = on
		c.mu.Unlock()
		return nil, nil, true
	case "server/discover", "subscriptions/listen":
		return nil, noMethod(x.method), true
	}
	return nil, nil, false
}

func (x *exchange) initialize() (body, error) {
	if x.s.o.Versions == ModernOnly {
		var p struct{ ProtocolVersion string }
		_ = json.Unmarshal(x.params, &p)
		data, _ := json.Marshal(map[string]any{"supported": []string{Modern}, "requested": p.ProtocolVersion})
		return nil, &Error{Code: jsonrpc.CodeVersion, Message: "initialize is not supported; this server speaks " + Modern, Data: data}
	}
	var p struct {
		ProtocolVersion string          `json:"protocolVersion"`
		Capabilities    json.RawMessage `json:"capabilities"`
	}
	if err := json.Unmarshal(x.params, &p); err != nil || p.ProtocolVersion == "" {
		return nil, badParams("initialize needs protocolVersion")
	}
	version := p.ProtocolVersion
	if !isOlder(version) {
		version = LatestOlder
	}
	c := x.c
	c.mu.Lock()
	c.initialized, c.version, c.capabilities = true, version, append(json.RawMessage(nil), p.Capabilities...)
	c.mu.Unlock()
	return value(map[string]any{
		"protocolVersion": version, "capabilities": x.s.capabilities(false),
		"serverInfo":   json.RawMessage(x.s.info()),
		"instructions": "A server to test with.",
	}), nil
}

func (s *Server) capabilities(modern bool) map[string]any {
	caps := map[string]any{
		"tools": map[string]any{"listChanged": true}, "prompts": map[string]any{"listChanged": true},
		"resources": map[string]any{"listChanged": true, "subscribe": true},
		"logging":   struct{}{}, "completions": struct{}{},
	}
	if s.o.Tasks {
		if modern {
			caps["extensions"] = map[string]any{"io.modelcontextprotocol/tasks": struct{}{}}
		} else {
			caps["tasks"] = map[string]any{
				"list": struct{}{}, "cancel": struct{}{},
				"requests": map[string]any{"tools": map[string]any{"call": struct{}{}}},
			}
		}
	}
	return caps
}

// listen acknowledges a subscription and holds it open until the request is cancelled. There is no other answer.
func (x *exchange) listen() (body, error) {
	var p struct {
		Notifications *filter `json:"notifications"`
	}
	if err := json.Unmarshal(x.params, &p); err != nil || p.Notifications == nil {
		return nil, badParams("subscriptions/listen needs notifications")
	}
	l := &listen{id: x.id, to: x.to, filter: *p.Notifications}
	ack, _ := json.Marshal(map[string]any{"notifications": l.filter})
	l.ready.Lock()
	x.s.mu.Lock()
	x.s.listens[l] = true
	x.s.mu.Unlock()
	err := x.to.message(jsonrpc.NewRequest("", "notifications/subscriptions/acknowledged", l.stamp(ack)))
	l.ready.Unlock()
	defer func() {
		x.s.mu.Lock()
		delete(x.s.listens, l)
		x.s.mu.Unlock()
	}()
	if err != nil {
		return nil, err
	}
	<-x.ctx.Done()
	return nil, errNoAnswer
}
