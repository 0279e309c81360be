package gateway

import (
	"context"
	"errors"
	"sync"

	"github.com/plimsoll/plimsoll/tools/jsonrpc"
	"github.com/plimsoll/plimsoll/tools/peer"
)

// local is the way to a server for one client on standard streams. Its first request tells
// its era; a client that tries the newer one first and then goes back gets what it asks for.
type local struct {
	open func(modern bool) (peer.Peer, error)
	standing

	mu             sync.Mutex
	legacy, modern peer.Peer
	closed         bool
}

func newLocal(s *Server) *local {
	return &local{open: func(modern bool) (peer.Peer, error) {
		w, err := s.way(modern, nil)
		if err != nil {
			return nil, err
		}
		return s.session(w, false), nil
	}}
}

// Send implements [peer.Peer].
func (l *local) Send(ctx context.Context, m peer.Message, to peer.Receiver) {
	p, err := l.pick(m)
	switch {
	case err == nil:
		p.Send(ctx, m, to)
	case m.Head.Kind == jsonrpc.Request:
		peer.Reply(to, jsonrpc.ErrorResponse(m.Head.ID, jsonrpc.CodeInternal, err.Error(), nil))
	default:
		to.Done(nil)
	}
}

func (l *local) pick(m peer.Message) (peer.Peer, error) {
	modern := m.Head.Kind == jsonrpc.Request && m.Head.Method != "initialize" &&
		(m.Head.Method == "server/discover" || paramsOf(m).modern())
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errServerClosed
	}
	if m.Head.Kind != jsonrpc.Request && l.legacy == nil && l.modern != nil {
		modern = true // a notification does not tell
	}
	p := &l.legacy
	if modern {
		p = &l.modern
	}
	if *p != nil {
		return *p, nil
	}
	made, err := l.open(modern)
	if err != nil {
		return nil, err
	}
	*p = made
	l.add(made, nil)
	return made, nil
}

// Close implements [peer.Peer].
func (l *local) Close() error {
	l.mu.Lock()
	l.closed = true
	legacy, modern := l.legacy, l.modern
	l.mu.Unlock()
	l.shut()
	var err error
	for _, p := range []peer.Peer{legacy, modern} {
		if p != nil {
			err = errors.Join(err, p.Close())
		}
	}
	return err
}
