package gateway

import (
	"context"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// maxInitialize bounds, in bytes, an answer to initialize or server/discover that is read; a larger one is passed on unread.
const maxInitialize = 1 << 20

// handleInitialize forwards initialize or server/discover, and remembers who the client is and what the server can do. If a server has
// resources but no tools, the capability tools is added to its answer, so that the client finds the tools that read large resources.
func (s *Session) handleInitialize(ctx context.Context, m transport.Message, p params, x *exchange) {
	if m.Head.Method == "initialize" {
		client, _ := rawjson.Text(m.Raw, "params", "clientInfo", "name")
		s.mu.Lock()
		s.client = client
		s.mu.Unlock()
	}
	s.o.Next.Send(ctx, m, transport.Funcs{
		OnOpen: x.Open,
		OnReceive: func(f *transport.Frame) {
			defer x.recover()
			if f.Bare() || f.Start().Head.Kind != jsonrpc.Response || f.ReadAll(maxInitialize) != nil {
				s.pass(ctx, f, m.Head, m.Principal, x)
				return
			}
			x.Receive(&transport.Frame{Head: s.withToolsCapability(f.Head), Event: f.Event})
		},
		OnDone: x.Done,
	})
}

// withToolsCapability records the protocol version and the capabilities in the server's answer, and returns the answer, with the capability
// tools added where only resources are declared.
func (s *Session) withToolsCapability(message []byte) []byte {
	head, err := jsonrpc.Scan(message)
	if err != nil || head.Result.IsZero() || message[head.Result.Start] != '{' {
		return message
	}
	body := head.Result.Of(message)
	if v, ok := rawjson.Text(body, "protocolVersion"); ok {
		s.mu.Lock()
		s.version = v
		s.mu.Unlock()
	}
	capabilities := rawjson.Get(body, "capabilities")
	if capabilities.IsZero() || body[capabilities.Start] != '{' {
		return message
	}
	tools := rawjson.Get(body, "capabilities", "tools")
	alone := tools.IsZero() && !rawjson.Get(body, "capabilities", "resources").IsZero()
	s.o.Catalogue.setAlone(alone)
	if !alone || s.o.Bare {
		return message
	}
	with, err := rawjson.Set(capabilities.Of(body), "tools", []byte("{}"))
	if err != nil {
		return message
	}
	at := rawjson.Span{Start: head.Result.Start + capabilities.Start, End: head.Result.Start + capabilities.End}
	out, err := rawjson.Splice(message, []rawjson.Edit{{Span: at, With: with}})
	if err != nil {
		return message
	}
	return out
}
