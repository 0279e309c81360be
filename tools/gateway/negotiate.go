package gateway

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/plimsoll/plimsoll/tools/mcp/bridge"
	mcpclient "github.com/plimsoll/plimsoll/tools/mcp/client"
	"github.com/plimsoll/plimsoll/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/tools/mcp/transport"
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

// A step is the next action for a client whose protocol version is being negotiated.
type step uint8

const (
	// connect gives the client a process or connection of its own, as it is.
	connect step = iota
	// share gives it a part of the process of all clients without sessions; of a remote server a connection.
	share
	// bridgeUp is connect, behind a bridge from sessions to the sessionless version.
	bridgeUp
	// fallBack refuses what a client of the sessionless version asks: it begins again, with initialize.
	fallBack
	// tryInitialize is connect, until the answer to initialize shows the version.
	tryInitialize
	// discover asks the server first: one with sessions may do anything with a request that comes before initialize.
	discover
)

// nextStep returns the next step for a client of one version, with what is known of the server. A client is never translated at a server
// that understands it: only a server that has refused initialize gets an older client's requests in the sessionless version.
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

// passesThrough reports whether a client of a remote server has its session with the server itself: where both speak its version,
// or where that is not known and the client's own request will show.
func passesThrough(sessionless bool, server versions) bool {
	next := nextStep(sessionless, server)
	return next != bridgeUp && next != fallBack
}

// sessionlessRequest reports whether a message on standard streams is of the sessionless version; other is the result for
// notifications, which do not tell.
func sessionlessRequest(m transport.Message, other bool) bool {
	switch {
	case m.Head.Kind != jsonrpc.Request:
		return other
	case m.Head.Method == "initialize":
		return false
	}
	return m.Head.Method == "server/discover" || paramsOf(m).modern()
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
	decided chan struct{}  // closed when next will stay
	asking  *discovery     // under way
	closed  bool
}

// discovery is one server/discover for which requests wait. One that fails fails them; the next request asks again.
type discovery struct {
	done chan struct{}
	err  error // valid when done is closed
}

// negotiate connects a client, which may have to wait with its first request. header is passed to a remote server.
func (s *Server) negotiate(sessionless bool, header http.Header) (*negotiation, error) {
	n := &negotiation{s: s, sessionless: sessionless, header: header, decided: make(chan struct{})}
	n.ctx, n.end = context.WithCancel(context.Background())
	next := nextStep(sessionless, s.speaks())
	if next == discover {
		return n, nil
	}
	p, err := n.take(next, nil)
	if err != nil {
		return nil, err
	}
	n.set(p, next != tryInitialize)
	return n, nil
}

// take does a step. started, where it is not nil, was started to ask the server and is used for it.
func (n *negotiation) take(next step, started transport.Peer) (transport.Peer, error) {
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
			n.s.share(started)
		}
		if !n.s.o.Remote {
			return n.s.join()
		}
	}
	p, err := n.s.process(Dialing{Header: n.header})
	if err == nil && next == bridgeUp {
		p = bridge.Legacy(p, n.s.bridging())
	}
	return p, err
}

// set makes p the connection; decided is true when it will stay.
func (n *negotiation) set(p transport.Peer, decided bool) {
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
	n.attach(p, nil)
}

// Send implements [transport.Peer].
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

// discover asks the server and takes the step that its answer means.
func (n *negotiation) discover(m transport.Message, d *discovery) {
	p, err := n.discovered(m)
	if d.err = err; err == nil {
		n.set(p, true)
	}
	n.mu.Lock() // not before: a request in between would ask again
	n.asking = nil
	n.mu.Unlock()
	close(d.done)
}

func (n *negotiation) discovered(m transport.Message) (transport.Peer, error) {
	p, err := n.s.process(Dialing{Shared: true, Header: n.header})
	if err != nil {
		return nil, err
	}
	v, err := n.s.detect(n.ctx, p, transport.Message{Principal: m.Principal})
	if err != nil {
		_ = p.Close()
		return nil, err
	}
	return n.take(nextStep(true, v), p)
}

// Close implements [transport.Peer].
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

// initializeProbe receives the answer to the initialize of a client whose server may be sessionless and refuse it.
type initializeProbe struct {
	n       *negotiation
	ctx     context.Context
	m       transport.Message
	to      transport.Receiver
	opened  *transport.Answer
	refusal []byte
	answer  bool
}

func (t *initializeProbe) Open(a transport.Answer) {
	if a.Status >= http.StatusBadRequest {
		t.opened = &a
		return
	}
	t.to.Open(a)
}

func (t *initializeProbe) Receive(f *transport.Frame) {
	head := jsonrpc.ScanStart(f.Head)
	if head.Head.Kind != jsonrpc.Response {
		t.to.Receive(f)
		return
	}
	if (head.Open == "error" || !head.Head.Error.IsZero()) && f.ReadAll(maxInitialize) == nil {
		t.refusal = bytes.Clone(f.Head)
		return
	}
	t.answer = true
	t.n.settle(versions{sessions: true})
	t.to.Receive(f)
}

func (t *initializeProbe) Done(err error) {
	if t.answer || t.ctx.Err() != nil || err != nil && t.refusal == nil && t.opened == nil && !refused(err) {
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

// refused reports whether err is an HTTP status by which the server refused the request.
func refused(err error) bool {
	_, ok := errors.AsType[*mcpclient.StatusError](err)
	return ok
}

// bridgeAfterRefusal asks a server that refused initialize for its versions. It gives the connection to send initialize to again, or nil where
// the refusal stands.
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
		p = bridge.Legacy(next, n.s.bridging())
		n.next = p
	}
	n.mu.Unlock()
	n.attach(p, nil)
	n.settle(v)
	return p
}

// settle fixes the connection for good, and records the versions that this shows the server to speak.
func (n *negotiation) settle(v versions) {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.decided:
		return
	default:
		close(n.decided)
	}
	n.s.setVersions(n.s.speaks().merge(v))
}
