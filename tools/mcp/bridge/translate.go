package bridge

import (
	"fmt"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/tools/mcp/transport"
)

// translated makes a response of the server one for the client.
func (c *call) translated(f *transport.Frame, id jsonrpc.ID) *transport.Frame {
	e := &envelope{id: []byte(id), code: codeDown}
	e.mark = c.members(f)
	if c.missing != nil && f.Whole() && !rawjson.Get(f.Head, "error").IsZero() {
		text, _ := rawjson.Text(f.Head, "error", "message")
		return &transport.Frame{Event: f.Event, Head: jsonrpc.ErrorResponse(id, jsonrpc.CodeCapability,
			"the server needs a capability that the client did not declare: "+short(text),
			fmt.Appendf(nil, `{"requiredCapabilities":%s}`, c.missing))}
	}
	return e.apply(f)
}

// cacheable are the methods whose results say how long they may be kept. A legacy server
// does not know: so not at all, and for this client alone.
var cacheable = map[string]bool{
	"tools/list": true, "prompts/list": true, "resources/list": true, "resources/templates/list": true, "resources/read": true,
}

// members gives what 2026-07-28 wants in a result and this one does not have. Of a large
// result the beginning is all there is to see; no older server has these members.
func (c *call) members(f *transport.Frame) []byte {
	var result []byte
	if f.Whole() {
		result = rawjson.Get(f.Head, "result").Of(f.Head)
		if !isObject(result) {
			return nil
		}
	}
	lacks := func(key string) bool { return result == nil || rawjson.Get(result, key).IsZero() }
	var b []byte
	add := func(key string, value []byte) {
		if len(b) > 0 {
			b = append(b, ',')
		}
		b = append(append(rawjson.Quote(b, key), ':'), value...)
	}
	if lacks("resultType") {
		add("resultType", []byte(`"complete"`))
	}
	if cacheable[c.method] {
		if lacks("ttlMs") {
			add("ttlMs", []byte("0"))
		}
		if lacks("cacheScope") {
			add("cacheScope", []byte(`"private"`))
		}
	}
	if result != nil && isObject(c.s.info) && lacks("_meta") {
		add("_meta", fmt.Appendf(nil, `{%q:%s}`, metaServer, c.s.info))
	}
	return b
}
