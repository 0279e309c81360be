package bridge

import (
	"fmt"
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/limit"
)

// Keys of _meta that 2026-07-28 reserves.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaClient       = "io.modelcontextprotocol/clientInfo"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaLevel        = "io.modelcontextprotocol/logLevel"
	metaServer       = "io.modelcontextprotocol/serverInfo"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
)

// members iterates over the members of a raw object; over none if it is empty.
func members(object []byte) func(func(rawjson.Member, error) bool) {
	if len(object) == 0 {
		return func(func(rawjson.Member, error) bool) {}
	}
	return rawjson.Members(object, 0)
}

// replaceParams returns the message with other params; nil removes them.
func replaceParams(message []byte, head jsonrpc.Head, params []byte) ([]byte, error) {
	if params == nil {
		return rawjson.Remove(message, "params")
	}
	if head.Params.IsZero() {
		return rawjson.Set(message, "params", params)
	}
	return rawjson.Splice(message, []rawjson.Edit{{Span: head.Params, With: params}})
}

// withID returns the message with another id.
func withID(message []byte, id jsonrpc.ID) ([]byte, error) {
	return rawjson.Set(message, "id", []byte(id))
}

// setMeta returns params with members of its _meta set; params may be nil. A nil value removes the member.
func setMeta(params []byte, pairs ...pair) ([]byte, error) {
	if len(params) == 0 {
		params = []byte("{}")
	}
	meta := []byte("{}")
	if v := rawjson.Get(params, "_meta"); !v.IsZero() && params[v.Start] == '{' {
		meta = v.Of(params)
	}
	var err error
	for _, p := range pairs {
		if p.value == nil {
			meta, err = rawjson.Remove(meta, p.key)
		} else {
			meta, err = rawjson.Set(meta, p.key, p.value)
		}
		if err != nil {
			return nil, err
		}
	}
	return rawjson.Set(params, "_meta", meta)
}

// A pair is a member of an object, with a raw value.
type pair struct {
	key   string
	value []byte
}

// dropMeta returns params without some members of its _meta, and without _meta if that becomes empty.
func dropMeta(params []byte, keys ...string) ([]byte, error) {
	v := rawjson.Get(params, "_meta")
	if v.IsZero() || params[v.Start] != '{' {
		return params, nil
	}
	meta, err := rawjson.Remove(v.Of(params), keys...)
	if err != nil {
		return nil, err
	}
	if isEmpty(meta) {
		return rawjson.Remove(params, "_meta")
	}
	return rawjson.Set(params, "_meta", meta)
}

func isEmpty(object []byte) bool {
	for range rawjson.Members(object, 0) {
		return false
	}
	return true
}

func isObject(value []byte) bool { return len(value) > 0 && value[0] == '{' }

// clipped returns a peer's text cut to about maxErrorOut bytes, for an error.
func clipped(text string) string {
	return strings.TrimSpace(limit.Cut(strings.ToValidUTF8(text, "?"), maxErrorOut, func(int) string { return " … " }))
}

// failure is an error that is answered as a JSON-RPC error.
type failure struct {
	code int
	text string
	data []byte
}

// Error implements error.
func (f *failure) Error() string { return f.text }

func fail(code int, format string, a ...any) *failure {
	return &failure{code: code, text: fmt.Sprintf(format, a...)}
}

// response returns the failure as the response to the request id.
func (f *failure) response(id jsonrpc.ID) []byte {
	return jsonrpc.ErrorResponse(id, f.code, f.text, f.data)
}
