package bridge

import (
	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/tools/mcp/transport"
)

// progress puts the client's token in the place of ours.
func (s *session) progress(message, params []byte, c *call) {
	token := rawjson.Get(params, "progressToken")
	if token.IsZero() {
		return
	}
	ours := jsonrpc.ID(token.Of(params))
	if c == nil || !c.answersTo(ours) {
		c = s.latest(func(c *call) bool { return c.answersTo(ours) })
	}
	if c == nil {
		return
	}
	w := c.current()
	if w == nil || w.token == nil {
		return
	}
	at := rawjson.Get(message, "params", "progressToken")
	if out, err := rawjson.Splice(message, []rawjson.Edit{{Span: at, With: w.token}}); err == nil {
		w.receive(&transport.Frame{Head: out})
	}
}

// logged passes a log message to the request that asked for its level.
func (s *session) logged(f *transport.Frame, params []byte, c *call) {
	name, _ := rawjson.Text(params, "level")
	level := levelOf(name)
	wants := func(c *call) bool {
		w := c.current()
		return w != nil && w.level >= 0 && level >= w.level
	}
	if c == nil {
		c = s.latest(wants)
	}
	if c == nil || !wants(c) {
		return
	}
	if w := c.current(); w != nil {
		w.receive(f)
	}
}
