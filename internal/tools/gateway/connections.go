package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/journal"
)

// noCloser is a Peer that its user does not own: Close does nothing.
type noCloser struct{ transport.Peer }

func (noCloser) Close() error { return nil }

// End implements [transport.Ender] if the Peer does; else it only ends the answer.
func (k noCloser) End(ctx context.Context, header http.Header, to transport.Receiver) {
	if e, ok := k.Peer.(transport.Ender); ok {
		e.End(ctx, header, to)
		return
	}
	to.Done(nil)
}

// failedTransport answers every request with the error that prevented the connection.
type failedTransport struct{ err error }

// Send ends m with the error.
func (f failedTransport) Send(_ context.Context, _ transport.Message, to transport.Receiver) {
	to.Done(f.err)
}

func (f failedTransport) Listen(ctx context.Context, _ http.Header, to transport.Receiver) {
	<-ctx.Done()
	to.Done(nil)
}

func (f failedTransport) Close() error { return nil }

// dial makes a new connection to the server. It fails if the server is closed, or MaxProcesses of a local server are running.
func (s *Server) dial(d Dialing) (transport.Peer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, errServerClosed
	case !s.o.Remote && !s.o.Builtin && s.living >= s.o.MaxProcesses:
		s.o.event(journal.ToolRefused{Server: s.o.Name, Why: "busy"})
		return nil, fmt.Errorf("%d processes of the MCP server %s are running, no more are started; end a session or raise max_processes", s.living, s.o.Name)
	}
	s.living++
	return &countedPeer{Peer: s.o.Dial(d), s: s}, nil
}

// countEnded counts a process that has ended. With the last one it forgets the server's protocol versions, because the next process may be
// of another version.
func (s *Server) countEnded() {
	s.mu.Lock()
	if s.living--; s.living == 0 && !s.o.Remote && !s.o.Builtin {
		s.versions = versions{}
	}
	s.mu.Unlock()
}

// countedPeer is a process that is counted against MaxProcesses until it is closed.
type countedPeer struct {
	transport.Peer
	s    *Server
	once sync.Once
}

func (c *countedPeer) Close() error {
	err := c.Peer.Close()
	c.once.Do(c.s.countEnded)
	return err
}

// joinablePeer is a connection whose Join returns a Peer for one more client.
type joinablePeer interface{ Join() transport.Peer }

// joinShared returns a Peer on the process that clients without sessions share, and starts that process if there is none. The process ends when
// the last of these Peers is closed.
func (s *Server) joinShared() (transport.Peer, error) {
	s.mu.Lock()
	if s.shared == nil {
		s.mu.Unlock()
		p, err := s.dial(Dialing{Shared: true})
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		if s.shared == nil && !s.closed {
			s.shared = p
		} else {
			defer p.Close() // somebody else was faster
		}
	}
	defer s.mu.Unlock()
	if s.shared == nil {
		return nil, errServerClosed
	}
	s.users++
	mine := s.shared
	if c, ok := mine.(*countedPeer); ok {
		if j, ok := c.Peer.(joinablePeer); ok {
			mine = j.Join()
		}
	}
	return &sharedPeer{Peer: mine, s: s, own: mine != s.shared}, nil
}

// A sharedPeer is one client's use of the shared process.
type sharedPeer struct {
	transport.Peer
	s    *Server
	own  bool // the Peer is this client's alone
	once sync.Once
}

// Close ends this client's use of the shared process; the last one closes the process. A second call does nothing.
func (j *sharedPeer) Close() error {
	var err error
	j.once.Do(func() {
		if j.own {
			err = j.Peer.Close()
		}
		s := j.s
		s.mu.Lock()
		var last transport.Peer
		if s.users--; s.users == 0 {
			last, s.shared = s.shared, nil
		}
		s.mu.Unlock()
		if last != nil {
			err = errors.Join(err, last.Close())
		}
	})
	return err
}

// offerShared makes p the shared process. If there is one already, or the server is closed, it closes p instead.
func (s *Server) offerShared(p transport.Peer) {
	s.mu.Lock()
	taken := s.shared == nil && !s.closed
	if taken {
		s.shared = p
	}
	s.mu.Unlock()
	if !taken {
		_ = p.Close()
	}
}

// beginWithInitialize is the error text for a client that uses the sessionless version: an error that is not one of that version's own
// makes a client that knows both versions begin again with initialize.
const beginWithInitialize = "this server speaks MCP up to 2025-11-25; begin with initialize"

// fallingBack is a Peer that refuses every request of a client of the sessionless version, so that the client begins again with initialize.
type fallingBack struct{}

// Send refuses a request; it drops any other message.
func (fallingBack) Send(_ context.Context, m transport.Message, to transport.Receiver) {
	if m.Head.Kind != jsonrpc.Request {
		to.Done(nil)
		return
	}
	transport.Reply(to, jsonrpc.ErrorResponse(m.Head.ID, jsonrpc.CodeInvalidRequest, beginWithInitialize, nil))
}

func (fallingBack) Listen(ctx context.Context, _ http.Header, to transport.Receiver) {
	context.AfterFunc(ctx, func() { to.Done(nil) })
}

func (fallingBack) Close() error { return nil }
