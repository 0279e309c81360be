// Package client speaks to MCP servers, whatever they do. It is the last [transport.Peer] of the gateway's chain.
//
//	s := client.Stdio(client.StdioOptions{Name: "files", Launch: client.Exec(exec.Command("mcp-files"))})
//	s.Send(ctx, message, receiver)
//
// [Stdio] speaks to a process: it starts the server with the first message and restarts it with a growing pause. [HTTP] speaks streamable HTTP. No
// message is ever sent twice: a request whose server ended, or whose answer broke off, fails with [Lost] or [CutError].
//
// A server's message passes as it is, with a head of at most 64 KiB and a buffer of 32 KiB; where the id stands behind a result that is too large
// for memory, it lies in a file until its id was found. What is no message, or an answer to nobody, is counted in the journal. Requests of a server
// on standard streams go to the clients that listen, else with the latest open request, else up to 64 of them wait. A process that several clients
// use must be Shared.
//
// All methods may be called from any goroutine. Frames are handed over by the goroutine that reads the server: a Receive that waits stops that
// server's pipe. Close waits for a Receive under way.
package client

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// client is one client of a Server.
type client struct {
	s *Server

	mu        sync.Mutex
	closed    bool
	listeners []*listener
	waiting   [][]byte // messages for the first listener
	bytes     int      // in waiting
}

// Bounds of the messages that wait for a listener, in messages and bytes: enough for those sent before it listens.
const (
	maxWaiting      = 64
	maxWaitingBytes = 64 << 10
)

// A listener is a client's stream for messages that belong to no request.
type listener struct {
	to         transport.Receiver
	deliveryMu sync.Mutex
	over       bool
}

// receive passes a message on, unless the listener has finished.
func (l *listener) receive(f *transport.Frame) {
	l.deliveryMu.Lock()
	defer l.deliveryMu.Unlock()
	if !l.over {
		l.to.Receive(f)
	}
}

// finish calls the receiver's Done, once.
func (l *listener) finish(err error) {
	l.deliveryMu.Lock()
	defer l.deliveryMu.Unlock()
	if !l.over {
		l.over = true
		l.to.Done(err)
	}
}

// Send implements [transport.Peer]. A request waits in the queue of the server, which is started if needed; the first initialize of a
// shared server is sent and later ones are answered here. Any other message is done once it is queued, or dropped if the server must not
// get it.
func (c *client) Send(ctx context.Context, m transport.Message, to transport.Receiver) {
	s := c.s
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	switch {
	case closed:
		to.Done(ErrClosed)
	case ctx.Err() != nil:
		to.Done(context.Cause(ctx))
	case s.o.Shared && !hasPlainMembers(m.Raw) && m.Head.Kind == jsonrpc.Request:
		transport.Reply(to, jsonrpc.ErrorResponse(m.Head.ID, jsonrpc.CodeInvalidRequest,
			"the message names its id, its progress token or what lies around them twice, or in another case; write each once", nil))
	case s.o.Shared && !hasPlainMembers(m.Raw):
		to.Done(nil)
	case m.Head.Kind == jsonrpc.Request:
		if s.o.Shared && m.Head.Method == "initialize" {
			s.shareHandshake(ctx, c, m, to)
			return
		}
		c.sendRequest(ctx, m, to)
	default:
		raw, pass := c.prepare(m)
		if !pass {
			to.Done(nil)
			return
		}
		// Done is called once the message is in the queue: nothing comes back for it.
		to.Done(s.enqueue(ctx, &entry{raw: raw}))
	}
}

// sendRequest queues a request for the server and watches it. In a shared process the server gets an id and a progress token that are unique
// among all clients. Too many open requests, or an id that is in use, are answered with an error.
func (c *client) sendRequest(ctx context.Context, m transport.Message, to transport.Receiver) {
	s := c.s
	r := &call{client: c, id: m.Head.ID, original: m.Head.ID, method: m.Head.Method, to: to}
	if r.method == "initialize" && len(m.Raw) <= maxHandshake {
		r.raw = m.Raw
	}
	token := progressToken(m.Raw)
	r.token, r.originalToken = string(token.Of(m.Raw)), string(token.Of(m.Raw))
	raw := m.Raw
	s.mu.Lock()
	s.serial++
	r.at = s.serial
	if s.o.Shared {
		r.id = jsonrpc.ID(fmt.Sprintf(`"plimsoll-%d"`, s.serial))
		if r.token != "" {
			r.token = string(r.id)
		}
	}
	_, taken := s.open[r.id]
	full := len(s.open) >= maxOpen
	if !taken && !full {
		s.open[r.id] = r
		delete(s.recent.states, r.id)
		if r.token != "" {
			s.tokens[r.token] = r
		}
	}
	s.mu.Unlock()
	if taken || full {
		text := fmt.Sprintf("a request with the id %s still waits for its answer: give every request an id of its own", r.id)
		if full {
			text = fmt.Sprintf("%d requests wait for an answer of the MCP server %s: wait for some of them", maxOpen, s.o.Name)
		}
		transport.Reply(to, jsonrpc.ErrorResponse(m.Head.ID, jsonrpc.CodeInvalidRequest, text, nil))
		return
	}
	if s.o.Shared {
		raw = rewriteIDs(m, token, r)
	}
	if err := s.enqueue(ctx, &entry{raw: raw, call: r}); err != nil {
		s.removeOpen(r)
		r.finish(err)
		return
	}
	s.watchCall(ctx, r)
}

// prepare returns a notification or response as it is to be sent. pass is false if the server must not get it: a response to a request of an
// earlier run of the server, a second notifications/initialized of a shared one, or a cancellation of nothing. It records the client's
// notifications/initialized.
func (c *client) prepare(m transport.Message) (raw []byte, pass bool) {
	s := c.s
	if m.Head.Kind == jsonrpc.Response {
		s.mu.Lock()
		defer s.mu.Unlock()
		// A request of a run of the server that has ended is not answered to the next run.
		g := s.health.generation
		return m.Raw, g != nil && g.serverRequests.take(m.Head.ID)
	}
	switch m.Head.Method {
	case "notifications/initialized":
		s.mu.Lock()
		defer s.mu.Unlock()
		again := s.handshake.initialized != nil
		if len(m.Raw) <= maxHandshake {
			s.handshake.initialized = bytes.Clone(m.Raw)
		}
		return m.Raw, !s.o.Shared || !again
	case "notifications/cancelled":
		return c.cancelNamed(m)
	}
	return m.Raw, true
}

// cancelNamed ends the request that a cancellation names, and returns the cancellation for the server. pass is false if the server need not get
// it: it never got the request, it does not run, or it is shared and the request is not open.
func (c *client) cancelNamed(m transport.Message) (raw []byte, pass bool) {
	s := c.s
	which := rawjson.Get(m.Raw, "params", "requestId")
	id := jsonrpc.ID(which.Of(m.Raw))
	var found *call
	s.mu.Lock()
	for _, r := range s.open {
		if r.client == c && r.original == id {
			found = r
		}
	}
	s.mu.Unlock()
	if found == nil || found.method == "initialize" || !s.removeOpen(found) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return m.Raw, !s.o.Shared && s.health.generation != nil
	}
	s.mu.Lock()
	s.recent.remember(found.id, late)
	written := found.gen != nil
	s.mu.Unlock()
	found.finish(ErrCancelled)
	raw = m.Raw
	if s.o.Shared {
		raw = splice(m.Raw, rawjson.Edit{Span: which, With: []byte(found.id)})
	}
	return raw, written
}

// Listen implements [transport.Peer] and returns at once. The messages that were kept for a listener come first. Done is called when ctx
// ends or the client is closed.
func (c *client) Listen(ctx context.Context, _ http.Header, to transport.Receiver) {
	l := &listener{to: to}
	l.deliveryMu.Lock() // the waiting messages come first
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		l.deliveryMu.Unlock()
		l.finish(ErrClosed)
		return
	}
	c.listeners = append(c.listeners, l)
	waiting := c.waiting
	c.waiting, c.bytes = nil, 0
	c.mu.Unlock()
	for _, message := range waiting {
		to.Receive(&transport.Frame{Head: message})
	}
	l.deliveryMu.Unlock()
	context.AfterFunc(ctx, func() {
		c.removeListener(l)
		l.finish(nil)
	})
}

// removeListener removes a listener, if it is there. It does not call its Done.
func (c *client) removeListener(l *listener) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, have := range c.listeners {
		if have == l {
			c.listeners = append(c.listeners[:i:i], c.listeners[i+1:]...)
			return
		}
	}
}

// newestListener returns the newest listener, or nil. Of two streams of one client, the older one may be broken without that having been noticed.
func (c *client) newestListener() *listener {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.listeners) == 0 {
		return nil
	}
	return c.listeners[len(c.listeners)-1]
}

// keepForListener stores a message for the next listener and reports whether it did. It does not if there is no room or the client is closed. If
// there is a listener by now, it is returned and nothing is stored.
func (c *client) keepForListener(message []byte) (l *listener, kept bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.listeners) > 0 {
		return c.listeners[len(c.listeners)-1], false
	}
	if c.closed || len(c.waiting) >= maxWaiting || c.bytes+len(message) > maxWaitingBytes {
		return nil, false
	}
	c.waiting = append(c.waiting, bytes.Clone(message))
	c.bytes += len(message)
	return nil, true
}

// stopListening closes the client for listeners: those there are get Done(err), and messages that wait for one are dropped.
func (c *client) stopListening(err error) {
	c.mu.Lock()
	listeners := c.listeners
	c.listeners, c.closed, c.waiting = nil, true, nil
	c.mu.Unlock()
	for _, l := range listeners {
		l.finish(err)
	}
}

// Close implements [transport.Peer] for a client that joined: it cancels the client's open requests. The server keeps running.
func (c *client) Close() error {
	s := c.s
	c.stopListening(ErrClosed)
	s.mu.Lock()
	for i, have := range s.clients {
		if have == c {
			s.clients = append(s.clients[:i:i], s.clients[i+1:]...)
			break
		}
	}
	var mine []*call
	for _, r := range s.open {
		if r.client == c {
			mine = append(mine, r)
		}
	}
	s.mu.Unlock()
	for _, r := range mine {
		if s.removeOpen(r) {
			s.mu.Lock()
			s.recent.remember(r.id, late)
			s.mu.Unlock()
			s.sendCancelled(r, ErrClosed)
			r.finish(ErrClosed)
		}
	}
	return nil
}
