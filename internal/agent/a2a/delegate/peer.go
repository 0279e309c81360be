package delegate

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// peer is one client's connection: an MCP server with the card's skills, made when the card is first read.
type peer struct {
	a *Agent

	mu     sync.Mutex
	closed bool
	card   *card // that the server is of
	server *builtin.Server
	conn   transport.Peer // nil until the card was read
}

var errClosed = errors.New("the connection to the agent was closed")

// Join returns another peer: a gateway that shares a connection between clients gives each its own.
func (p *peer) Join() transport.Peer { return p.a.Dial() }

// Send implements [transport.Peer].
func (p *peer) Send(ctx context.Context, m transport.Message, to transport.Receiver) {
	p.mu.Lock()
	conn, closed := p.conn, p.closed
	p.mu.Unlock()
	asks := m.Head.Method == "initialize" || m.Head.Method == "server/discover" || m.Head.Method == "tools/list"
	switch {
	case closed:
		to.Done(errClosed)
	case m.Head.Kind != jsonrpc.Request && conn == nil:
		to.Done(nil)
	case conn != nil && !asks:
		conn.Send(ctx, m, to)
	default:
		go func() { // few: the MCP server in front bounds how many requests wait
			conn, err := p.connect(ctx, asks)
			if err != nil {
				transport.Reply(to, jsonrpc.ErrorResponse(m.Head.ID, jsonrpc.CodeInternal, err.Error(), nil))
				return
			}
			conn.Send(ctx, m, to)
		}()
	}
}

// connect returns the connection to a server of the agent's card. With fresh an old card is read again; the server changes with the card,
// but not while calls are open.
func (p *peer) connect(ctx context.Context, fresh bool) (transport.Peer, error) {
	c, err := p.a.current(ctx, fresh)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return nil, errClosed
	case p.card == c, p.server != nil && p.server.Stats().Open > 0: // a new card waits for the end of the calls
		return p.conn, nil
	}
	server, err := c.serve(p)
	if err != nil {
		return nil, err
	}
	p.card, p.server, p.conn = c, server, server.Dial()
	return p.conn, nil
}

// Listen implements [transport.Peer]. It sends no notifications: clients see a new card when they list the tools.
func (p *peer) Listen(ctx context.Context, _ http.Header, to transport.Receiver) {
	context.AfterFunc(ctx, func() { to.Done(nil) })
}

// Close implements [transport.Peer]. It returns when the open calls have ended and their tasks were cancelled.
func (p *peer) Close() error {
	p.mu.Lock()
	server := p.server
	p.closed = true
	p.mu.Unlock()
	if server != nil {
		return server.Close()
	}
	return nil
}
