package server

import (
	"strings"

	"github.com/plimsoll/plimsoll/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/tools/mcp/transport"
)

// router takes what a server sends that belongs to no request it names, and finds the
// stream of the session that it goes to. It is a transport.Receiver.
type router struct{ s *session }

// listen begins to take what the server sends of its own accord, unless the server has its
// own streams for that.
func (s *session) listen() {
	if !s.modern {
		s.listening = &stream{s: s, wake: make(chan struct{}, 1), resumable: true}
		s.streams[0] = s.listening
	}
	s.h.background(func() { s.Peer.Listen(s.ctx, nil, router{s}) })
}

// Open implements transport.Receiver.
func (r router) Open(transport.Answer) {}

// Done implements transport.Receiver.
func (r router) Done(error) {}

// Receive implements transport.Receiver.
func (r router) Receive(f *transport.Frame) {
	r.s.h.safely(func() {
		head := headOf(f)
		if head.Kind == jsonrpc.Response {
			r.s.h.dropped.Add(1) // to a request that nobody here sent
			return
		}
		if st := r.s.pick(head); st != nil && st.push(f, head) {
			return
		}
		r.s.h.dropped.Add(1)
		if head.Kind == jsonrpc.Request {
			r.s.decline(head.ID)
		}
	})
}

// pick finds the stream for a message of the server. Standard streams do not name the request
// of the client that a request or a log line of the server belongs to. When only one is
// open it is that one. Otherwise it is the listening stream, and when the client has none
// open the newest that takes events. A message that concerns no request goes to the listening
// stream first.
func (s *session) pick(head jsonrpc.Head) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	var newest *stream
	open := 0
	for _, st := range s.streams {
		if st.ask == "" || st.reader == nil || st.onlyJSON || st.answered || st.done || st.abandoned {
			continue
		}
		open++
		if newest == nil || st.n > newest.n {
			newest = st
		}
	}
	ofNone := strings.HasSuffix(head.Method, "/list_changed") || head.Method == "notifications/resources/updated"
	switch {
	case open == 1 && !ofNone:
		return newest
	case s.listening == nil:
		return nil
	case s.listening.reader == nil && newest != nil:
		return newest
	}
	return s.listening
}

// decline answers a request of the server that no client will see, so that the server does
// not wait for it.
func (s *session) decline(id jsonrpc.ID) {
	raw := jsonrpc.ErrorResponse(id, jsonrpc.CodeInternal, "the client has no stream open that could take this request", nil)
	head, err := jsonrpc.Scan(raw)
	if err != nil {
		return
	}
	s.h.background(func() {
		s.Peer.Send(s.ctx, transport.Message{Raw: raw, Head: head, Principal: s.principal}, transport.Funcs{})
	})
}
