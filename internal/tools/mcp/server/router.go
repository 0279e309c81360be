package server

import (
	"strings"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// router is the transport.Receiver of the server's messages that belong to no request; it passes each to a stream of the session.
type router struct{ s *session }

// listen begins to receive the server's own requests and notifications. A session without modern gets the stream for GET.
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
			r.s.h.dropped.Add(1) // it answers a request that was not sent here
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

// pick returns the stream for a message of the server. On standard streams the server does not say to which request of the client a request
// or log message belongs: if only one is open it is that one. Otherwise it is the stream for GET or, if the client has that not open, the
// newest answer that takes events. A message that belongs to no request (list_changed, resources/updated) goes to the stream for GET first.
// In a modern session without a single open request it is nil.
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

// decline answers a request of the server that no client will get, so that the server does not wait for an answer.
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
