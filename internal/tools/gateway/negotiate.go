package gateway

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/bridge"
	mcpclient "github.com/plimsoll/plimsoll/internal/tools/mcp/client"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// A client's connection to a server is chosen here, and nowhere else: [nextStep] returns the next step for a client of
// one protocol version when this or that is known of the server, and a [negotiation] does it and learns from the answers.
//
//	nothing known ──initialize is answered──────────► sessions
//	      │
//	      ├──initialize is refused──► server/discover ──► sessionless, or sessions and the refusal stands
//	      │
//	      └──a client without sessions──► server/discover ──► sessions, sessionless or both
//
// What was learned holds for all clients: of processes until the last one ends, of a remote server for [versionAge].

// step is the next action for a client whose protocol version is being negotiated.
type step uint8

const (
	// connect gives the client a process or connection of its own, without a bridge.
	connect step = iota
	// share gives the client a Peer on the process that all clients without sessions share; for a remote server, a connection.
	share
	// bridgeUp is connect, behind a bridge from sessions to the sessionless version.
	bridgeUp
	// fallBack refuses all requests of a client of the sessionless version, so that it begins again with initialize.
	fallBack
	// tryInitialize is connect, until the answer to initialize shows the version.
	tryInitialize
	// discover sends the server server/discover first: one with sessions may do anything with a request that comes before initialize.
	discover
)

// nextStep returns what to do for a client, given its version and what is known of the server. Messages are translated only for a server that has
// refused initialize, whose older clients then get the sessionless version; if both sides speak the same version they are passed on.
func nextStep(sessionless bool, server versions) step {
	switch {
	case !sessionless && server.sessions:
		return connect
	case !sessionless && server.sessionless && server.refused:
		return bridgeUp
	case !sessionless:
		return tryInitialize
	case server.sessionless:
		return share
	case server.sessions && server.asked:
		return fallBack
	}
	return discover
}

// passesThrough reports whether a client's session is with the remote server itself: both speak the client's version, or the server's
// versions are not known and its answer to the client's own request will show them.
func passesThrough(sessionless bool, server versions) bool {
	next := nextStep(sessionless, server)
	return next != bridgeUp && next != fallBack
}

// isSessionless reports whether a message on standard streams is a request in the sessionless version. For anything but a request, which does not
// show its version, it returns otherwise.
func isSessionless(m transport.Message, otherwise bool) bool {
	switch {
	case m.Head.Kind != jsonrpc.Request:
		return otherwise
	case m.Head.Method == "initialize":
		return false
	}
	return m.Head.Method == "server/discover" || parseParams(m).modern()
}

// negotiation is a client's connection to a server whose protocol version may still have to be found out.
type negotiation struct {
	s           *Server
	sessionless bool // the client's version
	header      http.Header
	ctx         context.Context // ends with Close
	end         context.CancelFunc
	listeners

	mu      sync.Mutex
	next    transport.Peer // nil while the server is asked
	decided chan struct{}  // closed once next is final
	asking  *discovery     // the one under way, or nil
	closed  bool
}

// discovery is one server/discover that requests wait for. If it fails those requests fail, and the next request starts another.
type discovery struct {
	done chan struct{}
	err  error // valid when done is closed
}

// negotiate returns a client's connection to the server; the first request may have to wait until the server's versions are known. header
// is passed to a remote server. It fails if a connection is needed at once and cannot be made.
func (s *Server) negotiate(sessionless bool, header http.Header) (*negotiation, error) {
	n := &negotiation{s: s, sessionless: sessionless, header: header, decided: make(chan struct{})}
	n.ctx, n.end = context.WithCancel(context.Background())
	next := nextStep(sessionless, s.knownVersions())
	if next == discover {
		return n, nil
	}
	p, err := n.takeStep(next, nil)
	if err != nil {
		return nil, err
	}
	n.setConnection(p, next != tryInitialize)
	return n, nil
}

// takeStep takes a step and returns the connection to use. started, if not nil, is the connection over which the server was asked for its
// versions: it is used, or closed.
func (n *negotiation) takeStep(next step, started transport.Peer) (transport.Peer, error) {
	switch next {
	case fallBack:
		if started != nil {
			_ = started.Close()
		}
		return fallingBack{}, nil
	case share:
		if started != nil && n.s.o.Remote {
			return started, nil
		}
		if started != nil {
			n.s.offerShared(started)
		}
		if !n.s.o.Remote {
			return n.s.joinShared()
		}
	}
	p, err := n.s.dial(Dialing{Header: n.header})
	if err == nil && next == bridgeUp {
		p = bridge.Legacy(p, n.s.bridgeOptions())
	}
	return p, err
}

// setConnection makes p the connection; with decided, it is final. If the negotiation was closed, p is closed.
func (n *negotiation) setConnection(p transport.Peer, decided bool) {
	n.mu.Lock()
	n.next = p
	closed := n.closed
	if decided {
		close(n.decided)
	}
	n.mu.Unlock()
	if closed {
		_ = p.Close()
		return
	}
	n.replaceTargets(p, nil)
}

// Send implements [transport.Peer]. Until the connection is decided, an initialize is watched for a refusal, and any other request first waits
// until the server's versions are known.
func (n *negotiation) Send(ctx context.Context, m transport.Message, to transport.Receiver) {
	n.mu.Lock()
	next := n.next
	select {
	case <-n.decided:
		n.mu.Unlock()
		next.Send(ctx, m, to)
		return
	default:
	}
	if next != nil { // tryInitialize
		n.mu.Unlock()
		if m.Head.Method == "initialize" {
			to = &initializeProbe{n: n, ctx: ctx, m: m, to: to}
		}
		next.Send(ctx, m, to)
		return
	}
	d := n.asking
	if n.closed {
		n.mu.Unlock()
		to.Done(errServerClosed)
		return
	}
	if d == nil {
		d = &discovery{done: make(chan struct{})}
		n.asking = d
		go n.discover(m, d)
	}
	n.mu.Unlock()
	go func() { // few: the MCP server in front bounds how many requests wait
		select {
		case <-d.done:
		case <-ctx.Done():
			to.Done(ctx.Err())
			return
		}
		if d.err != nil {
			to.Done(d.err)
			return
		}
		n.mu.Lock()
		next := n.next
		n.mu.Unlock()
		next.Send(ctx, m, to)
	}()
}

// discover asks the server for its versions, sets the connection accordingly, and ends d. After an error the next request asks again.
func (n *negotiation) discover(m transport.Message, d *discovery) {
	p, err := n.connectByVersion(m)
	if d.err = err; err == nil {
		n.setConnection(p, true)
	}
	n.mu.Lock() // not before: a request in between would ask again
	n.asking = nil
	n.mu.Unlock()
	close(d.done)
}

// connectByVersion asks the server for its versions over a new connection, and returns the connection to use.
func (n *negotiation) connectByVersion(m transport.Message) (transport.Peer, error) {
	p, err := n.s.dial(Dialing{Shared: true, Header: n.header})
	if err != nil {
		return nil, err
	}
	v, err := n.s.detect(n.ctx, p, transport.Message{Principal: m.Principal})
	if err != nil {
		_ = p.Close()
		return nil, err
	}
	return n.takeStep(nextStep(true, v), p)
}

// Close ends the streams and closes the connection, after a question for the server's versions that is under way has ended.
func (n *negotiation) Close() error {
	n.mu.Lock()
	closed, next, d := n.closed, n.next, n.asking
	n.closed = true
	n.mu.Unlock()
	n.end()
	n.shut()
	if d != nil {
		<-d.done // what it started ends with it
	}
	if closed || next == nil {
		return nil
	}
	return next.Close()
}

// initializeProbe receives the answer to a client's initialize from a server that may be sessionless and refuse it. It holds a refusal back
// until the server was asked for its versions.
type initializeProbe struct {
	n       *negotiation
	ctx     context.Context
	m       transport.Message
	to      transport.Receiver
	opened  *transport.Answer
	refusal []byte
	answer  bool // the server answered with a result
}

// Open holds an error status back, as the server may only refuse initialize, and passes any other on.
func (t *initializeProbe) Open(a transport.Answer) {
	if a.Status >= http.StatusBadRequest {
		t.opened = &a
		return
	}
	t.to.Open(a)
}

// Receive keeps an error back, as the server may speak only the sessionless version. A result decides the connection.
func (t *initializeProbe) Receive(f *transport.Frame) {
	head := f.Start()
	if head.Head.Kind != jsonrpc.Response {
		t.to.Receive(f)
		return
	}
	if (head.Open == "error" || !head.Head.Error.IsZero()) && f.ReadAll(maxInitialize) == nil {
		t.refusal = bytes.Clone(f.Head)
		return
	}
	t.answer = true
	t.n.decide(versions{sessions: true})
	t.to.Receive(f)
}

// Done passes an answer on. After a refusal it asks the server for its versions, in a new goroutine, and sends initialize again over a bridge, or
// passes the refusal on.
func (t *initializeProbe) Done(err error) {
	if t.answer || t.ctx.Err() != nil || err != nil && t.refusal == nil && t.opened == nil && !isStatusError(err) {
		t.to.Done(err) // a server that died or is not there is not asked again what it speaks
		return
	}
	go func() {
		defer func() {
			if recover() != nil { // it costs this call, not the gateway
				t.to.Done(errServerClosed)
			}
		}()
		if p := t.n.bridgeAfterRefusal(t.ctx, t.m.Principal); p != nil {
			p.Send(t.ctx, t.m, t.to)
			return
		}
		if t.opened != nil {
			t.to.Open(*t.opened)
		}
		if t.refusal != nil {
			t.to.Receive(&transport.Frame{Head: t.refusal})
		}
		t.to.Done(err)
	}()
}

// isStatusError reports whether err is an HTTP error status from the server.
func isStatusError(err error) bool {
	_, ok := errors.AsType[*mcpclient.StatusError](err)
	return ok
}

// bridgeAfterRefusal asks a server that refused initialize for its versions. It makes a bridged connection, over which initialize is to be sent
// again, and returns it; nil if the server is not sessionless and the refusal stands.
func (n *negotiation) bridgeAfterRefusal(ctx context.Context, principal string) transport.Peer {
	n.mu.Lock()
	next := n.next
	n.mu.Unlock()
	v, err := n.s.detect(ctx, next, transport.Message{Principal: principal})
	if err != nil || !v.sessionless {
		return nil
	}
	v.refused = true
	n.mu.Lock()
	p := n.next
	if p == next { // nobody else has put a bridge there meanwhile
		p = bridge.Legacy(next, n.s.bridgeOptions())
		n.next = p
	}
	n.mu.Unlock()
	n.replaceTargets(p, nil)
	n.decide(v)
	return p
}

// decide makes the connection final, unless it is already, and adds v to the versions that the server is known to speak.
func (n *negotiation) decide(v versions) {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.decided:
		return
	default:
		close(n.decided)
	}
	n.s.setVersions(n.s.knownVersions().merge(v))
}
