package gateway

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/internal/tools/result"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/tools/spool"
)

// exchange is the receiver of one request: it calls the client's Done once, whatever happens on the way, and then forgets the request. A
// panic costs only that request.
type exchange struct {
	s       *Session
	id      jsonrpc.ID
	to      transport.Receiver
	tracked bool
	token   string      // the raw progress token; "" if the request has none
	goesOn  atomic.Bool // the answer was a task, so progress may still come

	once sync.Once  // the request is forgotten
	mu   sync.Mutex // held while the client's receiver is called
	done bool
}

// Open implements [transport.Receiver]: it passes an answer on, unless the exchange has ended.
func (x *exchange) Open(a transport.Answer) {
	defer x.recover()
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.done {
		x.to.Open(a)
	}
}

// Receive implements [transport.Receiver]. Frames that come after Done are dropped.
func (x *exchange) Receive(f *transport.Frame) {
	defer x.recover()
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.done {
		x.to.Receive(f)
	}
}

// Done implements [transport.Receiver]. It frees the request's id and then passes the end on; a second call does nothing.
func (x *exchange) Done(err error) {
	x.forget()
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.done {
		x.done = true
		x.to.Done(err)
	}
}

// forget makes the request's id, and its progress token, free again. It runs before the client can learn that the request has ended, so that the
// client may use the id at once. A second call does nothing.
func (x *exchange) forget() {
	x.once.Do(func() {
		if x.tracked {
			x.s.mu.Lock()
			delete(x.s.open, x.id)
			x.s.mu.Unlock()
			if x.token != "" && !x.goesOn.Load() {
				x.s.tokens.put(x.token, spent)
			}
		}
	})
}

// reply answers the request with a message made here.
func (x *exchange) reply(message []byte) {
	x.Receive(&transport.Frame{Head: message})
	x.Done(nil)
}

// recover must be deferred by each function that works on a message. If that panics, the request is answered with an error.
func (x *exchange) recover() {
	p := recover()
	if p == nil {
		return
	}
	x.s.event(journal.ToolRefused{Server: x.s.o.Name, Why: "protocol"})
	message := jsonrpc.ErrorResponse(x.id, jsonrpc.CodeInternal, "the gateway failed on this request; others are not affected", nil)
	defer func() { _ = recover() }() // the client's receiver may be what panicked
	x.forget()
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.done {
		x.done = true
		x.to.Receive(&transport.Frame{Head: message})
		x.to.Done(nil)
	}
}

// watchedReceiver wraps a receiver so that changes of the list of tools are noticed and no message is too large. asked is the request that
// is being answered; the zero value if there is none.
func (s *Session) watchedReceiver(ctx context.Context, asked transport.Message, to transport.Receiver) transport.Receiver {
	return &changeWatcher{s, ctx, asked.Head, asked.Principal, to}
}

// A changeWatcher is the receiver that watchedReceiver returns.
type changeWatcher struct {
	s     *Session
	ctx   context.Context
	asked jsonrpc.Head
	who   string // the principal that asked
	transport.Receiver
}

// Receive drops progress of a request that has been answered, notices changes of the list of tools, and passes the message on, bounded.
func (w *changeWatcher) Receive(f *transport.Frame) {
	if w.s.isStale(f) {
		return
	}
	w.s.noticeListChanged(f)
	w.s.passBounded(w.ctx, f, w.asked, w.who, w.Receiver)
}

// MaxPassed bounds, in bytes, a message that is neither a tool's or resource's result nor a list of tools; prompts with images in them are
// smaller.
const MaxPassed = 16 << 20

// passBounded passes a message on to the receiver. asked is the request that it may answer. An answer larger than [MaxPassed] is replaced by an
// error that names the server and the bound; a larger message of any other kind is dropped. The results of calls and lists of tools are passed
// unchanged, as they are bounded elsewhere.
func (s *Session) passBounded(ctx context.Context, f *transport.Frame, asked jsonrpc.Head, who string, to transport.Receiver) {
	if s.boundStatus(ctx, f, who, to) {
		return
	}
	switch asked.Method {
	case "tools/list", "tools/call", "resources/read", "tasks/result", result.GetTask: // bounded elsewhere
		to.Receive(f)
		return
	}
	if f.Rest == nil {
		to.Receive(f)
		return
	}
	event := f.Event
	outcome := result.Bound(ctx, f, result.Options{
		Method: cmp.Or(asked.Method, "notifications"), ID: asked.ID, MaxFrame: MaxPassed, TempDir: s.o.TempDir, Source: spool.Source{Server: s.o.Name},
		Deliver: func(out *transport.Frame) {
			out.Event = event
			to.Receive(out)
		},
	})
	if _, over := errors.AsType[*result.TooLarge](outcome.Cut); over {
		s.event(journal.ToolNoise{Server: s.o.Name, What: "too_large", Bytes: outcome.Upstream})
	}
}

var listChanged = []byte("notifications/tools/list_changed")

// noticeListChanged marks the catalogue as changed if a message is the server's notification that its list of tools has changed.
func (s *Session) noticeListChanged(f *transport.Frame) {
	if !f.Whole() || len(f.Head) > 4<<10 || !bytes.Contains(f.Head, listChanged) {
		return
	}
	if h, err := jsonrpc.Scan(f.Head); err == nil && h.Method == string(listChanged) {
		s.o.Catalogue.changed()
	}
}
