package server

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/sse"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// store bounds the bytes of events held by all sessions of a handler.
type store struct {
	max        int64
	used, kept atomic.Int64
}

// event is one message on its way to a client.
type event struct {
	seq      uint64
	data     []byte
	fields   sse.Event // the server's; only used in passed sessions
	response bool
	code     int64 // of an error response
}

// handoff is a message that is not stored: the goroutine that serves the client writes it while the one that brought it waits.
type handoff struct {
	event
	rest io.Reader
	by   *reader // the one that writes it; nil before that
	done chan struct{}
	err  error // valid when done is closed
}

// reader is an HTTP request that reads a stream. A stream has at most one: a newer one replaces the older, whose client has probably left.
type reader struct{ replaced chan struct{} }

func newReader() *reader { return &reader{replaced: make(chan struct{})} }

// stream is a sequence of messages for one client: the answer to a POST, or the server's own requests and
// notifications. It is a transport.Receiver.
//
// Small messages are stored within the bounds of the session and of the handler, so that a slow reader does not stop
// the server; beyond these bounds, and for large ones, the server waits. Events that were written are kept for a while
// for a client that resumes (Last-Event-ID).
type stream struct {
	s         *session
	n         uint64     // its number in the session
	ask       jsonrpc.ID // the id of the request that it answers; "" if there is none
	resumable bool
	onlyJSON  bool // the client does not accept events
	begins    bool // the stream answers initialize
	known     bool // the session was known when the request came
	method    string
	sessionID string // the one that the client sent
	wake      chan struct{}
	cancel    context.CancelFunc // cancels the request

	// Guarded by s.mu.
	answer    *transport.Answer
	events    []event // those before next were written
	next      int
	seq       uint64 // of the newest
	primed    bool   // the client knows an event id of this stream
	answered  bool
	taken     bool // the client cancelled the request, so it must not get an error
	done      bool
	abandoned bool // there will be no reader; further messages are dropped
	err       error
	reader    *reader
	big       *handoff
}

func (st *stream) signal() {
	select {
	case st.wake <- struct{}{}:
	default:
	}
}

// eventID returns the id of an event for the client: the numbers of the stream and of the event.
func (st *stream) eventID(seq uint64) string {
	return strconv.FormatUint(st.n, 10) + "-" + strconv.FormatUint(seq, 10)
}

// parseEventID parses an id that eventID made, into the numbers of the stream and of the event; false for any other text.
func parseEventID(id string) (n, seq uint64, ok bool) {
	left, right, found := strings.Cut(id, "-")
	n, err1 := strconv.ParseUint(left, 10, 64)
	seq, err2 := strconv.ParseUint(right, 10, 64)
	return n, seq, found && err1 == nil && err2 == nil
}

// headOf returns the head of a frame. Only the beginning of a large one is known: if that has no method, it counts as a response.
func headOf(f *transport.Frame) jsonrpc.Head {
	if f.Whole() {
		head, _ := jsonrpc.Scan(f.Head)
		return head
	}
	head := f.Start().Head
	if head.Kind == jsonrpc.Invalid {
		head.Kind = jsonrpc.Response
	}
	return head
}

// Open implements transport.Receiver: it keeps the status and headers for the client's answer.
func (st *stream) Open(a transport.Answer) {
	st.s.h.safely(func() {
		a.Header = a.Header.Clone()
		st.s.trackPassed(st, a)
		st.s.mu.Lock()
		if st.answer == nil {
			st.answer = &a
		}
		st.s.mu.Unlock()
		st.signal()
	})
}

// Receive implements transport.Receiver: it passes the message to the client.
func (st *stream) Receive(f *transport.Frame) {
	st.s.h.safely(func() {
		if !st.pushMessage(f, headOf(f)) {
			st.s.h.dropped.Add(1)
		}
	})
}

// Done implements transport.Receiver. It ends the stream: if its request has no answer yet and err is not nil, the error becomes its
// answer, except in a session that is passed through. A second call does nothing.
func (st *stream) Done(err error) {
	st.s.h.safely(func() {
		s := st.s
		s.mu.Lock()
		defer s.mu.Unlock()
		if st.done {
			return
		}
		if err != nil && st.ask != "" && !st.answered && !st.taken && !s.Passed {
			st.answered = true
			st.appendForced(event{data: jsonrpc.ErrorResponse(st.ask, jsonrpc.CodeInternal, err.Error(), nil), response: true, code: jsonrpc.CodeInternal})
		}
		st.err, st.done = err, true
		if st.ask != "" {
			s.waiting--
			if s.open[st.ask] == st {
				delete(s.open, st.ask)
			}
		}
		if st.cancel != nil {
			st.cancel()
		}
		st.dropIfDone()
		st.signal()
	})
}

// pushMessage passes a message to the client, or keeps it for one that resumes. A large one waits until it was written. It returns false if the
// message was dropped and the server may have to know.
func (st *stream) pushMessage(f *transport.Frame, head jsonrpc.Head) bool {
	s := st.s
	ev := event{fields: f.Event, response: head.Kind == jsonrpc.Response}
	if ev.response && !head.Error.IsZero() {
		ev.code = errorCode(f.Head, head)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ev.response {
		if st.answered {
			return false
		}
		st.answered = true
		st.learnVersion(f, head)
	}
	for {
		switch {
		case st.abandoned || st.done:
			return head.Kind != jsonrpc.Request // the client has left; only a request must be answered
		case st.onlyJSON && !ev.response:
			return false
		case f.Whole() && st.reserve(int64(len(f.Head))):
			ev.data = append([]byte(nil), f.Head...)
			st.appendEvent(ev)
			return true
		case st.reader == nil:
			if !f.Whole() { // small enough to be kept?
				s.mu.Unlock()
				err := f.ReadAll(min(s.h.o.MaxStoredSession, peerHold))
				s.mu.Lock()
				if err == nil {
					continue
				}
			}
			if ev.response && st.resumable && st.ask != "" {
				ev.data = jsonrpc.ErrorResponse(st.ask, jsonrpc.CodeInternal,
					"the client was away when the answer came, and the answer was too large to be kept; call again", nil)
				st.appendForced(ev)
			}
			return false
		case st.big != nil:
			other := st.big
			s.mu.Unlock()
			<-other.done
			s.mu.Lock()
		default:
			big := &handoff{event: ev, rest: f.Rest, done: make(chan struct{})}
			big.data = f.Head
			st.big = big
			st.signal()
			s.mu.Unlock()
			<-big.done
			s.mu.Lock()
			if big.err == nil {
				return true
			}
			if !f.Whole() { // a part of it was read, so it cannot be sent again
				f = &transport.Frame{Head: jsonrpc.ErrorResponse(st.ask, jsonrpc.CodeInternal,
					fmt.Sprintf("the answer was broken off: %v; call again", big.err), nil)}
				if !ev.response || st.ask == "" {
					return false
				}
				ev.code = jsonrpc.CodeInternal
			}
		}
	}
}

// peerHold bounds a large message that is read into memory for a client that is away, in bytes.
const peerHold = 64 << 10

// errorCode returns the code of an error response; 0 if there is none.
func errorCode(message []byte, head jsonrpc.Head) int64 {
	span := rawjson.Get(head.Error.Of(message), "code")
	if span.IsZero() {
		return 0
	}
	code, _ := strconv.ParseInt(string(span.Of(head.Error.Of(message))), 10, 64)
	return code
}

// learnVersion stores the protocol version from the answer to initialize. The caller holds s.mu.
func (st *stream) learnVersion(f *transport.Frame, head jsonrpc.Head) {
	if st.begins && f.Whole() && !head.Result.IsZero() {
		st.s.version, _ = rawjson.Text(head.Result.Of(f.Head), "protocolVersion")
	}
}

// appendForced adds a small event that must not be lost, regardless of the bounds. The caller holds s.mu.
func (st *stream) appendForced(ev event) {
	if st.abandoned {
		return
	}
	n := int64(len(ev.data))
	st.s.stored += n
	st.s.h.stored.used.Add(n)
	st.appendEvent(ev)
}

// appendEvent adds an event whose bytes are already counted. The caller holds s.mu.
func (st *stream) appendEvent(ev event) {
	st.seq++
	ev.seq = st.seq
	st.events = append(st.events, ev)
	st.signal()
}

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

// Open implements transport.Receiver; it does nothing.
func (r router) Open(transport.Answer) {}

// Done implements transport.Receiver; it does nothing.
func (r router) Done(error) {}

// Receive implements transport.Receiver for messages that the server sends by itself: it puts one into the stream that it belongs to.
// Without such a stream it is dropped and counted, and a request is declined.
func (r router) Receive(f *transport.Frame) {
	r.s.h.safely(func() {
		head := headOf(f)
		if head.Kind == jsonrpc.Response {
			r.s.h.dropped.Add(1) // it answers a request that was not sent here
			return
		}
		if st := r.s.streamFor(head); st != nil && st.pushMessage(f, head) {
			return
		}
		r.s.h.dropped.Add(1)
		if head.Kind == jsonrpc.Request {
			r.s.decline(head.ID)
		}
	})
}

// streamFor returns the stream for a message of the server. A server on standard streams does not say to which request of the client its own
// request or log message belongs: if only one is open, it is that one. Otherwise it is the stream for GET or, if that is not open, the newest
// answer that takes events. A message that belongs to no request (list_changed, resources/updated) goes to the stream for GET first. It is nil
// in a modern session in which not exactly one request is open.
func (s *session) streamFor(head jsonrpc.Head) *stream {
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
