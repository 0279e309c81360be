package gateway

import (
	"context"
	"net/http"
	"sync"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// listeners let clients listen before the server is known. A peer attached later replaces the earlier peers, or is added to them; every
// client then listens to it.
type listeners struct {
	guard   sync.Mutex
	targets []target
	listens map[*listen]bool
	over    bool
}

// A target is a peer that all clients listen to.
type target struct {
	p    transport.Peer
	wrap func(transport.Receiver) transport.Receiver
}

// listen is one client that listens.
type listen struct {
	ctx    context.Context
	header http.Header
	stop   context.CancelFunc // ends listening to the current targets

	mu   sync.Mutex // held while the receiver is called
	to   transport.Receiver
	over bool
}

func (l *listen) Open(transport.Answer) {}

// Receive passes a message to the client, unless its stream has ended.
func (l *listen) Receive(f *transport.Frame) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.to.Receive(f)
	}
}

// Done does nothing: that one server has ended is not the end, another may be attached.
func (l *listen) Done(error) {}

// finish tells the client that its stream has ended, once.
func (l *listen) finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.over = true
		l.to.Done(nil)
	}
}

// replaceTargets makes all clients listen to p instead of the earlier peers. wrap, if not nil, wraps each receiver.
func (s *listeners) replaceTargets(p transport.Peer, wrap func(transport.Receiver) transport.Receiver) {
	s.guard.Lock()
	defer s.guard.Unlock()
	s.targets = []target{{p, wrap}}
	for l := range s.listens {
		l.stop()
		s.start(l)
	}
}

// addTarget makes all clients listen to p as well. Their streams to the earlier peers are opened anew. wrap, if not nil, wraps each receiver.
func (s *listeners) addTarget(p transport.Peer, wrap func(transport.Receiver) transport.Receiver) {
	s.guard.Lock()
	defer s.guard.Unlock()
	s.targets = append(s.targets, target{p, wrap})
	for l := range s.listens {
		l.stop()
		s.start(l)
	}
}

// start opens streams to all targets for one client. The caller holds s.guard.
func (s *listeners) start(l *listen) {
	ctx, cancel := context.WithCancel(l.ctx)
	l.stop = cancel
	for _, t := range s.targets {
		var to transport.Receiver = l
		if t.wrap != nil {
			to = t.wrap(to)
		}
		go t.p.Listen(ctx, l.header, to)
	}
}

// Listen implements [transport.Peer]; it returns when ctx has ended, and at once if the listeners were shut before.
func (s *listeners) Listen(ctx context.Context, header http.Header, to transport.Receiver) {
	l := &listen{ctx: ctx, header: header, to: to}
	s.guard.Lock()
	if s.listens == nil {
		s.listens = map[*listen]bool{}
	}
	closed := s.over
	if !closed {
		s.listens[l] = true
		s.start(l)
	}
	s.guard.Unlock()
	if !closed {
		<-ctx.Done()
		s.guard.Lock()
		l.stop()
		delete(s.listens, l)
		s.guard.Unlock()
	}
	l.finish()
}

// shut ends the streams to the servers, for good. Listen of a client still returns only when its ctx ends.
func (s *listeners) shut() {
	s.guard.Lock()
	defer s.guard.Unlock()
	s.over = true
	for l := range s.listens {
		l.stop()
	}
}

// notifyAll sends a message made by the gateway to every client that listens.
func (s *listeners) notifyAll(message []byte) {
	s.guard.Lock()
	all := make([]*listen, 0, len(s.listens))
	for l := range s.listens {
		all = append(all, l)
	}
	s.guard.Unlock()
	for _, l := range all {
		l.Receive(&transport.Frame{Head: message})
	}
}
