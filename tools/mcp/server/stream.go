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
	"github.com/plimsoll/plimsoll/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/tools/mcp/transport"
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
	fields   sse.Event // as a server gave them; a passed stream has no others
	response bool
	code     int64 // of an error response
}

// handoff is a message that is not held: the goroutine that serves the client writes it
// while the one that brought it waits.
type handoff struct {
	event
	rest io.Reader
	by   *reader // who writes it
	done chan struct{}
	err  error // read when done is closed
}

// reader is an HTTP request that takes the events of a stream. There is at most one: a
// newer takes the place of an older, whose client is thought to be gone.
type reader struct{ replaced chan struct{} }

func newReader() *reader { return &reader{replaced: make(chan struct{})} }

// stream is a sequence of messages for one client: the answer to a POST, or what the server
// sends of its own accord. It is a transport.Receiver.
//
// Small messages are held within the bounds of the session and of the handler, so that a
// slow reader does not stop the server; beyond these bounds, and for large ones, the server
// waits. What was written stays for a while for a client that comes back (Last-Event-ID).
type stream struct {
	s         *session
	n         uint64     // its number in the session
	ask       jsonrpc.ID // of the request that it answers
	resumable bool
	onlyJSON  bool // the client takes no events
	begins    bool // it answers initialize
	known     bool // the session was known when the request came
	method    string
	sessionID string // that the client sent
	wake      chan struct{}
	cancel    context.CancelFunc // of the request

	// Guarded by s.mu.
	answer    *transport.Answer
	events    []event // those before next were written
	next      int
	seq       uint64 // of the newest
	primed    bool   // the client knows an event id of this stream
	answered  bool
	taken     bool // back by the client: an error would be an answer that it does not want
	done      bool
	abandoned bool // nobody will read; whatever comes is dropped
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

// eventID names an event for the client: the stream and how far it is.
func (st *stream) eventID(seq uint64) string {
	return strconv.FormatUint(st.n, 10) + "-" + strconv.FormatUint(seq, 10)
}

func parseEventID(id string) (n, seq uint64, ok bool) {
	left, right, found := strings.Cut(id, "-")
	n, err1 := strconv.ParseUint(left, 10, 64)
	seq, err2 := strconv.ParseUint(right, 10, 64)
	return n, seq, found && err1 == nil && err2 == nil
}

// headOf reads what a frame is. Of a large one only the beginning is seen: a message
// without a method in it is a response.
func headOf(f *transport.Frame) jsonrpc.Head {
	if f.Whole() {
		head, _ := jsonrpc.Scan(f.Head)
		return head
	}
	head := jsonrpc.ScanStart(f.Head).Head
	if head.Kind == jsonrpc.Invalid {
		head.Kind = jsonrpc.Response
	}
	return head
}

// Open implements transport.Receiver.
func (st *stream) Open(a transport.Answer) {
	st.s.h.safely(func() {
		a.Header = a.Header.Clone()
		st.s.takeAnswer(st, a)
		st.s.mu.Lock()
		if st.answer == nil {
			st.answer = &a
		}
		st.s.mu.Unlock()
		st.signal()
	})
}

// Receive implements transport.Receiver.
func (st *stream) Receive(f *transport.Frame) {
	st.s.h.safely(func() {
		if !st.push(f, headOf(f)) {
			st.s.h.dropped.Add(1)
		}
	})
}

// Done implements transport.Receiver.
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
			st.force(event{data: jsonrpc.ErrorResponse(st.ask, jsonrpc.CodeInternal, err.Error(), nil), response: true, code: jsonrpc.CodeInternal})
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
		st.settle()
		st.signal()
	})
}

// push brings a message to the client, or keeps it for one that may come back. It tells
// whether it did.
func (st *stream) push(f *transport.Frame, head jsonrpc.Head) bool {
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
		st.learn(f, head)
	}
	for {
		switch {
		case st.abandoned || st.done:
			return head.Kind != jsonrpc.Request // of a client that left: nobody misses it
		case st.onlyJSON && !ev.response:
			return false
		case f.Whole() && st.reserve(int64(len(f.Head))):
			ev.data = append([]byte(nil), f.Head...)
			st.append(ev)
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
				st.force(ev)
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
			if !f.Whole() { // some of it is read: only what is left could be had
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

// peerHold bounds the part of a large message that is gathered for a client that is away, in bytes.
const peerHold = 64 << 10

func errorCode(message []byte, head jsonrpc.Head) int64 {
	span := rawjson.Get(head.Error.Of(message), "code")
	if span.IsZero() {
		return 0
	}
	code, _ := strconv.ParseInt(string(span.Of(head.Error.Of(message))), 10, 64)
	return code
}

// learn takes from the answer to initialize what the session goes by; s.mu is held.
func (st *stream) learn(f *transport.Frame, head jsonrpc.Head) {
	if st.begins && f.Whole() && !head.Result.IsZero() {
		st.s.version, _ = rawjson.Text(head.Result.Of(f.Head), "protocolVersion")
	}
}

// force adds an event of few bytes that must not be lost; s.mu is held.
func (st *stream) force(ev event) {
	if st.abandoned {
		return
	}
	n := int64(len(ev.data))
	st.s.stored += n
	st.s.h.stored.used.Add(n)
	st.append(ev)
}

// append adds an event whose bytes are accounted for; s.mu is held.
func (st *stream) append(ev event) {
	st.seq++
	ev.seq = st.seq
	st.events = append(st.events, ev)
	st.signal()
}
