package gateway

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/bridge"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// local connects one client on standard streams to a server. The client's first request shows its protocol version. A client that begins
// with server/discover is still finding out the version: the server itself answers over a connection that the client then uses with
// whichever version it chooses.
type local struct {
	open func(modern bool) (transport.Peer, error)
	// direct opens a connection on which nothing is asked or bridged; nil when there is none.
	direct func() (transport.Peer, error)
	listeners

	mu             sync.Mutex
	legacy, modern transport.Peer
	probe          transport.Peer // made by direct, once the client has sent server/discover
	closed         bool
}

// newLocal returns the Peer for a client on standard streams, which shows only with its first request which version it speaks.
func newLocal(s *Server) *local {
	return &local{
		open: func(modern bool) (transport.Peer, error) {
			n, err := s.negotiate(modern, nil)
			if err != nil {
				return nil, err
			}
			return s.newSession(n, false), nil
		},
		direct: func() (transport.Peer, error) {
			p, err := s.dial(Dialing{})
			if err != nil {
				return nil, err
			}
			return s.newSession(p, false), nil
		},
	}
}

// Send implements [transport.Peer]: it sends the message over the connection for its version. If there is none and none can be made, a
// request is answered with the error and any other message is dropped.
func (l *local) Send(ctx context.Context, m transport.Message, to transport.Receiver) {
	p, err := l.peerFor(m)
	switch {
	case err == nil:
		if m.Head.Method == "server/discover" {
			to = &discoverReceiver{Receiver: to, l: l, p: p}
		}
		p.Send(ctx, m, to)
	case m.Head.Kind == jsonrpc.Request:
		transport.Reply(to, jsonrpc.ErrorResponse(m.Head.ID, jsonrpc.CodeInternal, err.Error(), nil))
	default:
		to.Done(nil)
	}
}

// peerFor returns the connection for a message, and makes it if there is none: one for clients with sessions, one for those without. A
// server/discover gets a connection of its own, which later becomes that of the version that the client goes on with.
func (l *local) peerFor(m transport.Message) (transport.Peer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errServerClosed
	}
	modern := isSessionless(m, l.legacy == nil && l.modern != nil)
	p := &l.legacy
	if modern {
		p = &l.modern
	}
	switch {
	case *p != nil:
		return *p, nil
	case !modern && l.probe != nil:
		// The client went back to initialize, or did not wait for an answer that never comes.
		l.legacy = l.probe
		return l.legacy, nil
	case m.Head.Method == "server/discover" && l.direct != nil:
		if l.probe != nil {
			return l.probe, nil
		}
		p = &l.probe
	}
	made, err := l.connect(modern, p == &l.probe)
	if err != nil {
		return nil, err
	}
	*p = made
	l.addTarget(made, nil)
	return made, nil
}

// connect opens a connection for clients of that version, with direct one on which nothing is asked or bridged.
func (l *local) connect(modern, direct bool) (transport.Peer, error) {
	if direct {
		return l.direct()
	}
	return l.open(modern)
}

// discoverReceiver receives the server's answer to a client's server/discover: if the server speaks the sessionless version, the same
// connection serves the client's sessionless requests.
type discoverReceiver struct {
	transport.Receiver
	l *local
	p transport.Peer
}

// Receive makes the connection over which server/discover was asked the sessionless one, if the answer names that version.
func (r *discoverReceiver) Receive(f *transport.Frame) {
	if f.Whole() && bridge.VersionOf(f.Head) == bridge.Sessionless {
		r.l.mu.Lock()
		if r.l.probe == r.p && r.l.modern == nil {
			r.l.modern = r.p
		}
		r.l.mu.Unlock()
	}
	r.Receiver.Receive(f)
}

// Close closes all connections and ends the streams. Later messages are refused.
func (l *local) Close() error {
	l.mu.Lock()
	l.closed = true
	peers := []transport.Peer{l.legacy, l.modern, l.probe}
	l.mu.Unlock()
	l.shut()
	var err error
	for i, p := range peers {
		if p != nil && !slices.Contains(peers[:i], p) {
			err = errors.Join(err, p.Close())
		}
	}
	return err
}
