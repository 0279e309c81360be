package server

import (
	"context"
	"net/http"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// serveGet serves a GET: the stream of the server's own requests and notifications, or the rest of an answer whose connection was lost.
func (h *Handler) serveGet(c *conn, principal string) *Refusal {
	s, known, bad := h.sessionFor(c, principal)
	if bad != nil {
		return bad
	}
	defer s.release()
	if s.Passed {
		return s.passStream(c, known, func(ctx context.Context, st *stream) { s.Peer.Listen(ctx, c.r.Header, st) })
	}
	if _, takesEvents := acceptedForms(c.r.Header); !takesEvents {
		return &Refusal{Status: http.StatusNotAcceptable, Text: "the Accept header must list text/event-stream"}
	}
	st, rd := s.listening, newReader()
	after, resumes := uint64(0), false
	if last := c.r.Header.Get(headerLast); last != "" {
		n, seq, ok := parseEventID(last)
		s.mu.Lock()
		st = s.streams[n]
		s.mu.Unlock()
		if !ok || st == nil {
			return badRequest(jsonrpc.CodeInvalidRequest, "Last-Event-ID names a stream that is not kept any more; call again")
		}
		after, resumes = seq, true
	}
	if !st.attachReader(rd, after, resumes) {
		return badRequest(jsonrpc.CodeInvalidRequest, "Last-Event-ID names a stream that is not kept any more; call again")
	}
	if err := st.beginEvents(c); err != nil {
		c.broken = true
		st.detachReader(rd)
		return nil
	}
	st.serve(c, rd)
	return nil
}

// attachReader makes rd the reader of the stream, in place of any other. With resumes, it begins after the event with the number after, otherwise
// where the last reader stopped. It returns false if the stream was discarded.
func (st *stream) attachReader(rd *reader, after uint64, resumes bool) bool {
	s := st.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if st.abandoned {
		return false
	}
	if st.reader != nil {
		close(st.reader.replaced)
	}
	st.reader = rd
	for i, ended := range s.ended {
		if ended == st {
			s.ended = append(s.ended[:i:i], s.ended[i+1:]...)
			break
		}
	}
	if !resumes {
		return true
	}
	for st.next > 0 && st.events[st.next-1].seq > after {
		st.next--
		n := int64(len(st.events[st.next].data))
		s.kept -= n
		s.h.stored.kept.Add(-n)
	}
	for st.next < len(st.events) && st.events[st.next].seq <= after {
		st.markWritten(true)
	}
	return true
}

// serveDelete serves a DELETE, by which a client ends its session; one that the server keeps itself is ended there.
func (h *Handler) serveDelete(c *conn, principal string) *Refusal {
	s, known, bad := h.sessionFor(c, principal)
	if bad != nil {
		return bad
	}
	defer s.release()
	if !s.Passed {
		s.remove()
		c.begin(http.StatusNoContent, "", -1)
		return nil
	}
	ender, ok := s.Peer.(transport.Ender)
	if !ok {
		return notAllowed("GET, POST")
	}
	bad = s.passStream(c, known, func(ctx context.Context, st *stream) { ender.End(ctx, c.r.Header, st) })
	s.mu.Lock()
	over := s.over
	s.mu.Unlock()
	if over {
		s.forgetPassed()
	}
	return bad
}

// sessionFor returns the session that a GET or DELETE names; the caller must release it. known is false for a session that only the server knows.
func (h *Handler) sessionFor(c *conn, principal string) (s *session, known bool, bad *Refusal) {
	id := c.r.Header.Get(headerSession)
	if s = h.findSession(principal, id, false); s != nil {
		return s, true, nil
	}
	s, bad = h.openSession(c, Opening{Header: c.r.Header, Principal: principal, SessionID: id})
	if bad != nil && bad.Status == http.StatusNotFound {
		switch {
		case isModernVersion(c.r.Header.Get(headerVersion)):
			return nil, false, notAllowed("POST") // there are neither sessions nor streams to GET
		case id == "":
			return nil, false, badRequest(jsonrpc.CodeInvalidRequest, "Mcp-Session-Id is missing; begin with initialize, sent by POST")
		}
	}
	return s, false, bad
}

// passStream passes a GET or DELETE to the server by calling ask, and serves the server's answer to the client. known is false if the session was
// not known before the request. The refusal is that of newStream; nil if the stream was served.
func (s *session) passStream(c *conn, known bool, ask func(context.Context, *stream)) *Refusal {
	st, bad := s.newStream("")
	if bad != nil {
		return bad
	}
	rd := st.reader
	ctx, cancel := context.WithCancel(c.r.Context())
	s.mu.Lock()
	st.known, st.sessionID, st.method = known, c.r.Header.Get(headerSession), c.r.Method
	st.cancel = cancel
	s.mu.Unlock()
	stop := context.AfterFunc(s.ctx, cancel)
	defer stop()
	s.h.background(func() {
		defer func() {
			if recover() != nil {
				s.h.countPanic()
				st.Done(errFailed)
			}
		}()
		ask(ctx, st)
	})
	st.serve(c, rd)
	return nil
}
