package gateway

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	mcpbridge "github.com/plimsoll/plimsoll/tools/mcp/bridge"
	mcpclient "github.com/plimsoll/plimsoll/tools/mcp/client"
	"github.com/plimsoll/plimsoll/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/tools/mcp/transport"
)

// keptOpen is a Peer of somebody else: closing it does nothing.
type keptOpen struct{ transport.Peer }

func (keptOpen) Close() error { return nil }

// End implements [transport.Ender] where the Peer does.
func (k keptOpen) End(ctx context.Context, header http.Header, to transport.Receiver) {
	if e, ok := k.Peer.(transport.Ender); ok {
		e.End(ctx, header, to)
		return
	}
	to.Done(nil)
}

// gone is the way to a server that there is none to.
type gone struct{ err error }

func (g gone) Send(_ context.Context, _ transport.Message, to transport.Receiver) { to.Done(g.err) }
func (g gone) Listen(ctx context.Context, _ http.Header, to transport.Receiver) {
	<-ctx.Done()
	to.Done(nil)
}
func (g gone) Close() error { return nil }

// way is the way to a server for a client of one era, which finds out with the first
// request whether the server is of that era too.
//
// A client with a session sends initialize, and a server that knows it is taken to be of
// that era: nothing else is ever asked of it. One that refuses is asked for its era. For a
// client without sessions the server is asked first: a server of the older era may do
// anything with a request that comes before initialize.
type way struct {
	s      *Server
	modern bool
	header http.Header
	ctx    context.Context // ends with Close
	end    context.CancelFunc
	standing

	mu      sync.Mutex
	next    transport.Peer // nil until it is known
	decided chan struct{}  // closed when next will stay
	attempt *attempt       // to find out, under way
	closed  bool
}

// attempt is one try to find the era of a server, for which requests wait. One that fails
// fails them; the next request tries again.
type attempt struct {
	done chan struct{}
	err  error // valid when done is closed
}

func (s *Server) way(modern bool, header http.Header) (*way, error) {
	w := &way{s: s, modern: modern, header: header, decided: make(chan struct{})}
	w.ctx, w.end = context.WithCancel(context.Background())
	e := s.speaks()
	switch {
	case !modern:
		p, err := s.process(Dialing{Header: header})
		if err != nil {
			return nil, err
		}
		if e.modern && !e.legacy {
			p = mcpbridge.Legacy(p, s.bridging())
		}
		w.set(p, !e.unknown())
	case e.modern:
		p, err := s.modernWay(header)
		if err != nil {
			return nil, err
		}
		w.set(p, true)
	case e.legacy:
		w.set(w.cross(nil), true)
	}
	return w, nil
}

// modernWay is the way to a server without sessions: one process for all clients, one
// connection for each client of a remote server.
func (s *Server) modernWay(header http.Header) (transport.Peer, error) {
	if s.o.Remote {
		return s.process(Dialing{Header: header})
	}
	return s.join()
}

// cross gives clients without sessions a server that has them: each client gets a way of
// its own. first, when there is one, is used for the first of them.
func (w *way) cross(first transport.Peer) transport.Peer {
	o := w.s.bridging()
	var mu sync.Mutex
	o.Open = func(context.Context, transport.Message) (transport.Peer, error) {
		mu.Lock()
		defer mu.Unlock()
		if p := first; p != nil {
			first = nil
			return p, nil
		}
		return w.s.process(Dialing{Header: w.header})
	}
	return &crossed{Peer: mcpbridge.Modern(nil, o), bridge: w.s.o.Bridge, spare: func() transport.Peer {
		mu.Lock()
		defer mu.Unlock()
		p := first
		first = nil
		return p
	}}
}

// crossed closes the process that nobody has used.
type crossed struct {
	transport.Peer
	spare  func() transport.Peer
	bridge bool
}

// olderEra is what a probe for the newer era is told: any error that is none of that era's
// sends a client that knows both back to initialize.
const olderEra = "this server speaks MCP up to 2025-11-25; begin with initialize"

func (c *crossed) Send(ctx context.Context, m transport.Message, to transport.Receiver) {
	if m.Head.Method != "server/discover" || c.bridge {
		c.Peer.Send(ctx, m, to)
		return
	}
	if p := c.spare(); p != nil { // it was only started to be asked for its era
		go func() { _ = p.Close() }()
	}
	transport.Reply(to, jsonrpc.ErrorResponse(m.Head.ID, jsonrpc.CodeInvalidRequest, olderEra, nil))
}

func (c *crossed) Close() error {
	err := c.Peer.Close()
	if p := c.spare(); p != nil {
		err = errors.Join(err, p.Close())
	}
	return err
}

func (w *way) set(p transport.Peer, decided bool) {
	w.mu.Lock()
	w.next = p
	closed := w.closed
	if decided {
		close(w.decided)
	}
	w.mu.Unlock()
	if closed {
		_ = p.Close()
		return
	}
	w.attach(p, nil)
}

// Send implements [transport.Peer].
func (w *way) Send(ctx context.Context, m transport.Message, to transport.Receiver) {
	w.mu.Lock()
	next := w.next
	select {
	case <-w.decided:
		w.mu.Unlock()
		next.Send(ctx, m, to)
		return
	default:
	}
	if next != nil { // the client is of the older era, and perhaps the server
		if m.Head.Method != "initialize" {
			w.mu.Unlock()
			next.Send(ctx, m, to)
			return
		}
		w.mu.Unlock()
		next.Send(ctx, m, &trial{w: w, ctx: ctx, m: m, to: to})
		return
	}
	a := w.attempt
	if w.closed {
		w.mu.Unlock()
		to.Done(errServerClosed)
		return
	}
	if a == nil {
		a = &attempt{done: make(chan struct{})}
		w.attempt = a
		go w.find(m, a)
	}
	w.mu.Unlock()
	go func() { // few: the endpoint bounds how many requests wait
		select {
		case <-a.done:
		case <-ctx.Done():
			to.Done(ctx.Err())
			return
		}
		if a.err != nil {
			to.Done(a.err)
			return
		}
		w.mu.Lock()
		next := w.next
		w.mu.Unlock()
		next.Send(ctx, m, to)
	}()
}

// find asks the server for its era on behalf of a client without sessions.
func (w *way) find(m transport.Message, a *attempt) {
	p, err := w.found(m)
	if a.err = err; err == nil {
		w.set(p, true)
	}
	w.mu.Lock() // not before: a request in between would try again
	w.attempt = nil
	w.mu.Unlock()
	close(a.done)
}

func (w *way) found(m transport.Message) (transport.Peer, error) {
	p, err := w.s.process(Dialing{Shared: true, Header: w.header})
	if err != nil {
		return nil, err
	}
	e, err := w.s.detect(w.ctx, p, transport.Message{Principal: m.Principal})
	switch {
	case err != nil:
		_ = p.Close()
		return nil, err
	case e.modern && w.s.o.Remote:
		return p, nil
	case e.modern:
		w.s.share(p)
		return w.s.join()
	}
	return w.cross(p), nil
}

// share makes a process the shared one, if there is none yet.
func (s *Server) share(p transport.Peer) {
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

// Close implements [transport.Peer].
func (w *way) Close() error {
	w.mu.Lock()
	closed, next, a := w.closed, w.next, w.attempt
	w.closed = true
	w.mu.Unlock()
	w.end()
	w.shut()
	if a != nil {
		<-a.done // what it started ends with it
	}
	if closed || next == nil {
		return nil
	}
	return next.Close()
}

// trial receives the answer to the initialize of a client whose server may be of the newer
// era and refuse it.
type trial struct {
	w       *way
	ctx     context.Context
	m       transport.Message
	to      transport.Receiver
	opened  *transport.Answer
	refusal []byte
	answer  bool
}

func (t *trial) Open(a transport.Answer) {
	if a.Status >= http.StatusBadRequest {
		t.opened = &a
		return
	}
	t.to.Open(a)
}

func (t *trial) Receive(f *transport.Frame) {
	head := jsonrpc.ScanStart(f.Head)
	if head.Head.Kind != jsonrpc.Response {
		t.to.Receive(f)
		return
	}
	if (head.Open == "error" || !head.Head.Error.IsZero()) && f.ReadAll(maxGreeting) == nil {
		t.refusal = bytes.Clone(f.Head)
		return
	}
	t.answer = true
	t.w.settled(eras{legacy: true})
	t.to.Receive(f)
}

func (t *trial) Done(err error) {
	if t.answer || t.ctx.Err() != nil || err != nil && t.refusal == nil && t.opened == nil && !refused(err) {
		t.to.Done(err) // a server that died or is not there is not asked again what it speaks
		return
	}
	go func() {
		w := t.w
		defer func() {
			if recover() != nil { // it costs this call, not the gateway
				t.to.Done(errServerClosed)
			}
		}()
		w.mu.Lock()
		next := w.next
		w.mu.Unlock()
		e, failed := w.s.detect(t.ctx, next, transport.Message{Principal: t.m.Principal})
		if failed == nil && e.modern && !e.legacy {
			w.mu.Lock()
			bridge := w.next
			if bridge == next { // nobody else has put one there meanwhile
				bridge = mcpbridge.Legacy(next, w.s.bridging())
				w.next = bridge
			}
			w.mu.Unlock()
			w.attach(bridge, nil)
			w.settled(e)
			bridge.Send(t.ctx, t.m, t.to)
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

// refused says that err is a server's refusal, of the HTTP request.
func refused(err error) bool {
	_, ok := errors.AsType[*mcpclient.StatusError](err)
	return ok
}

// settled says that the way stays as it is.
func (w *way) settled(e eras) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.decided:
		return
	default:
		close(w.decided)
	}
	if known := w.s.speaks(); known.unknown() || known.modern && e.legacy {
		e.modern = e.modern || known.modern
		w.s.learned(e)
	}
}

// speaksLegacy asks a server of the newer era whether it speaks the older one too.
func speaksLegacy(ctx context.Context, next transport.Peer, first transport.Message) bool {
	raw := jsonrpc.NewRequest(`"plimsoll-discover"`, "server/discover", []byte(`{"_meta":{"`+metaVersion+`":"`+mcpbridge.ModernVersion+
		`","`+metaClientInfo+`":{"name":"plimsoll","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}`))
	head, err := jsonrpc.Scan(raw)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	answer, err := transport.Ask(ctx, next, transport.Message{Raw: raw, Head: head, Header: first.Header, Principal: first.Principal}, maxGreeting)
	if err != nil {
		return false
	}
	versions := rawjson.Get(answer, "result", "supportedVersions")
	if versions.IsZero() {
		return false
	}
	for v, err := range rawjson.Elements(answer, versions.Start) {
		if err == nil && v.Len() > 4 && string(answer[v.Start:v.End]) < `"2026` {
			return true
		}
	}
	return false
}
