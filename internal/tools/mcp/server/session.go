package server

import (
	"container/list"
	"context"
	"crypto/rand"
	"net/http"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// session is a connection to a server that several HTTP requests share.
type session struct {
	h         *Handler
	principal string
	id        string // Mcp-Session-Id; "" if the client has none
	modern    bool
	Session

	ctx   context.Context
	end   context.CancelFunc
	once  sync.Once
	key   string        // in the handler's map; "" until it is in there
	place *list.Element // guarded by the handler's mutex, as are busy and last
	busy  int           // HTTP requests being served
	last  time.Time

	mu        sync.Mutex
	version   string // the one that initialize agreed on
	streams   map[uint64]*stream
	numbers   uint64
	open      map[jsonrpc.ID]*stream // requests that wait for an answer, if their ids are from one client
	waiting   int                    // number of all requests that wait for an answer
	listening *stream                // the stream for GET; nil in passed and modern sessions
	ended     []*stream              // ended streams that a client may resume, the oldest first
	stored    int64                  // bytes of all events
	kept      int64                  // bytes of the events that were already written
	over      bool                   // the server has ended the session
}

// key returns the key of a session in the map: an id belongs to the principal that got it; modern requests share one.
func key(principal, id string, modern bool) string {
	if modern {
		return "modern\x00" + principal
	}
	return "session\x00" + principal + "\x00" + id
}

// newSession returns a session over the connection from Options.Open. It is not in the map of sessions yet.
func (h *Handler) newSession(way Session, principal string, modern bool) *session {
	s := &session{
		h: h, principal: principal, modern: modern, Session: way, last: time.Now(),
		streams: map[uint64]*stream{}, open: map[jsonrpc.ID]*stream{},
	}
	s.ctx, s.end = context.WithCancel(h.ctx)
	return s
}

// findSession returns the known session of a request, or nil, and counts the request as one that uses it. The caller must release it.
func (h *Handler) findSession(principal, id string, modern bool) *session {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.sessions[key(principal, id, modern)]
	if s != nil {
		s.busy++
		s.last = time.Now()
		h.recent.MoveToBack(s.place)
	}
	return s
}

// openSession opens a new connection to the server. The caller must release the session.
func (h *Handler) openSession(c *conn, o Opening) (*session, *Refusal) {
	way, err := h.o.Open(c.r.Context(), o)
	if err != nil {
		return nil, asRefusal(err, http.StatusBadGateway)
	}
	s := h.newSession(way, o.Principal, o.Modern)
	s.busy = 1
	if !s.Passed && !o.Modern && !o.Begins {
		s.close()
		return nil, noSession()
	}
	if s.Passed {
		return s, nil
	}
	s.listen()
	if !o.Modern {
		s.id = rand.Text()
	}
	return s.register(s.id)
}

// register puts a session into the map under id, unless it is there. If another request has put one there meanwhile, that one is returned
// and s is closed; of sessions that are passed through the newer one counts. If there are too many, the least recently used one that serves
// no request is closed for it. The refusal is for too many busy sessions, or a closed handler; s is closed then, unless it is passed
// through.
func (s *session) register(id string) (*session, *Refusal) {
	h := s.h
	k := key(s.principal, id, s.modern)
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		s.close()
		return nil, closingRefusal()
	}
	if s.key != "" {
		h.mu.Unlock()
		return s, nil
	}
	if other := h.sessions[k]; other != nil {
		if !s.Passed || s.modern {
			other.busy++
			h.recent.MoveToBack(other.place)
			h.mu.Unlock()
			s.close()
			return other, nil
		}
		// The server began a new session under an id it gave before, "" included: what is
		// known of the old one no longer holds.
		h.forget(other)
		if other.busy == 0 {
			defer other.close()
		}
	}
	victim, bad := h.makeRoom()
	if bad != nil {
		h.mu.Unlock()
		if !s.Passed { // one that is passed goes on, unknown to later requests
			s.close()
		}
		return nil, bad
	}
	if victim != nil {
		h.evicted.Add(1)
		defer victim.close()
	}
	s.id, s.key = id, k
	h.sessions[k] = s
	s.place = h.recent.PushBack(s)
	h.startSweeper()
	h.mu.Unlock()
	return s, nil
}

// closingRefusal returns the refusal of a handler that was closed.
func closingRefusal() *Refusal {
	return &Refusal{Status: http.StatusServiceUnavailable, Code: jsonrpc.CodeInternal, Text: "the gateway is going down"}
}

// makeRoom ensures that there is room for one more session. If there are too many, it removes from the map the least recently used one that
// serves no request, and returns it to be closed. If there is none, it returns a refusal. The caller holds h.mu.
func (h *Handler) makeRoom() (victim *session, bad *Refusal) {
	if len(h.sessions) < h.o.MaxSessions {
		return nil, nil
	}
	for e := h.recent.Front(); e != nil; e = e.Next() {
		if s := e.Value.(*session); s.busy == 0 {
			h.forget(s)
			return s, nil
		}
	}
	h.journalRefused("busy")
	return nil, &Refusal{
		Status: http.StatusServiceUnavailable, Code: jsonrpc.CodeInternal,
		Text: "too many sessions are in use; try again later", Header: http.Header{"Retry-After": {"10"}},
	}
}

// forget removes a session from the map. The caller holds h.mu.
func (h *Handler) forget(s *session) {
	if s.key != "" && h.sessions[s.key] == s {
		delete(h.sessions, s.key)
		h.recent.Remove(s.place)
	}
}

// release records that a request no longer uses the session. A session that is not in the map any more is closed after its last request.
func (s *session) release() {
	s.h.mu.Lock()
	s.busy--
	s.last = time.Now()
	lost := s.busy == 0 && s.h.sessions[s.key] != s
	s.h.mu.Unlock()
	if lost {
		s.close()
	}
}

// remove ends a session: its id is unknown from now on.
func (s *session) remove() {
	s.h.mu.Lock()
	s.h.forget(s)
	s.h.mu.Unlock()
	s.close()
}

// close ends everything that the session is doing, and closes its peer in the background. A second call does nothing.
func (s *session) close() {
	s.once.Do(func() {
		s.end()
		s.mu.Lock()
		for _, st := range s.streams {
			st.discard()
		}
		s.ended = nil
		s.mu.Unlock()
		s.h.background(func() { _ = s.Peer.Close() })
	})
}

// background calls f in a new goroutine, which Handler.Close waits for. If Close is waiting already, it calls f at once and returns after it.
func (h *Handler) background(f func()) {
	h.mu.Lock()
	if h.waited {
		h.mu.Unlock()
		h.safely(f)
		return
	}
	h.wg.Add(1)
	h.mu.Unlock()
	go func() {
		defer h.wg.Done()
		h.safely(f)
	}()
}

// startSweeper starts the timer that ends idle sessions, unless it runs already or there are no sessions. The caller holds h.mu.
func (h *Handler) startSweeper() {
	if h.sweeper == nil && !h.closed && len(h.sessions) > 0 {
		h.sweeper = time.AfterFunc(max(h.o.Idle/4, time.Millisecond), func() { h.safely(h.closeIdle) })
	}
}

// closeIdle closes the sessions that serve no request and were not used for Idle, and sets the timer for the next time.
func (h *Handler) closeIdle() {
	var idle []*session
	h.mu.Lock()
	h.sweeper = nil
	for e := h.recent.Front(); e != nil; e = e.Next() {
		s := e.Value.(*session)
		if s.busy == 0 && time.Since(s.last) >= h.o.Idle {
			idle = append(idle, s)
		}
	}
	for _, s := range idle {
		h.forget(s)
	}
	h.startSweeper()
	h.mu.Unlock()
	for _, s := range idle {
		s.close()
	}
}

// newMessage returns a client's message for the peer. It has the client's HTTP headers only if the session is passed or its Headers is set:
// otherwise they would name a session of the gateway's own.
func (s *session) newMessage(c *conn, raw []byte, head jsonrpc.Head) transport.Message {
	m := transport.Message{Raw: raw, Head: head, Principal: s.principal}
	if s.Passed || s.Headers {
		m.Header = c.r.Header
	}
	return m
}

// newStream returns a stream with a first reader, for the answer to a client's request. ask is the id of that request, "" if the message has none.
// The refusal is for too many open requests or an id that is in use.
func (s *session) newStream(ask jsonrpc.ID) (*stream, *Refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &stream{s: s, ask: ask, wake: make(chan struct{}, 1), reader: newReader()}
	st.resumable = !s.Passed && !s.modern
	if ask != "" {
		if s.waiting >= s.h.o.MaxOpen {
			s.h.journalRefused("busy")
			return nil, &Refusal{
				Status: http.StatusTooManyRequests, Code: jsonrpc.CodeInternal,
				Text: "too many requests wait for an answer; wait for some of them", Header: http.Header{"Retry-After": {"1"}},
			}
		}
		if st.resumable {
			if s.open[ask] != nil {
				return nil, badRequest(jsonrpc.CodeInvalidRequest, "a request with this id is being answered; give each its own")
			}
			s.open[ask] = st
		}
		s.waiting++
	}
	s.numbers++
	st.n = s.numbers
	s.streams[st.n] = st
	return st, nil
}
