package client

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// call is a request that waits for its answer.
type call struct {
	client   *client
	id       jsonrpc.ID // the id that the server got
	original jsonrpc.ID // the id that the client wrote
	method   string
	raw      []byte // the message if it is initialize, else nil
	// token is the progress token that the server got, originalToken the client's;
	// both are raw JSON, "" if the request has none.
	token, originalToken string
	to                   transport.Receiver
	at                   uint64      // its number among all requests, in their order
	gen                  *generation // the run of the server that it was written to; nil while it waits

	ended      atomic.Pointer[error] // why it ended early, which stops a large answer; else nil
	deliveryMu sync.Mutex            // held while the receiver is called, whose calls must not overlap
	over       bool                  // Done was called
	stop       func() bool           // stops watching the context
	timer      *time.Timer
}

// receive passes a frame to the receiver, and calls Done if it is the last one. If the last frame could not be read whole, it returns false and
// Done was not called.
func (c *call) receive(f *transport.Frame, last bool) (whole bool) {
	c.deliveryMu.Lock()
	defer c.deliveryMu.Unlock()
	if c.over {
		return true
	}
	rest := &cancellableRest{call: c, src: f.Rest}
	if f.Rest != nil {
		f.Rest = rest
	}
	c.to.Receive(f)
	if !last {
		return true
	}
	if rest.err != nil {
		return false
	}
	c.end(nil)
	return true
}

// finish calls the receiver's Done with err, unless it was called before. An answer that is being read breaks off with an error.
func (c *call) finish(err error) {
	c.ended.CompareAndSwap(nil, &err)
	c.deliveryMu.Lock()
	defer c.deliveryMu.Unlock()
	if !c.over {
		c.end(err)
	}
}

// end stops the timers of the call and calls the receiver's Done, which must happen once: the caller has seen that c.over is false, and holds
// c.deliveryMu.
func (c *call) end(err error) {
	c.over = true
	if c.stop != nil {
		c.stop()
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	c.to.Done(err)
}

// restartTimeout restarts the timeout of the request.
func (c *call) restartTimeout(after time.Duration) {
	c.deliveryMu.Lock()
	defer c.deliveryMu.Unlock()
	if c.timer != nil && !c.over {
		c.timer.Reset(after)
	}
}

// cancellableRest is the rest of an answer, which breaks off when the request is ended.
type cancellableRest struct {
	call *call
	src  io.Reader
	err  error
}

// Read fails when the call has ended, and remembers an error, so that the call's last frame counts as broken.
func (g *cancellableRest) Read(p []byte) (int, error) {
	if err := g.call.ended.Load(); err != nil {
		g.err = *err
		if g.err == nil || g.err == io.EOF {
			g.err = ErrClosed
		}
		return 0, g.err
	}
	n, err := g.src.Read(p)
	if err != nil && err != io.EOF {
		g.err = err
	}
	return n, err
}

// watchCall cancels the request, also at the server, when its context ends or its timeout passes.
func (s *Server) watchCall(ctx context.Context, c *call) {
	take := func(err error) {
		// A cancellation that comes behind the answer is no harm: the server ignores it.
		if !s.removeOpen(c) {
			return
		}
		s.mu.Lock()
		s.recent.remember(c.id, late)
		s.mu.Unlock()
		if c.method != "initialize" {
			s.sendCancelled(c, err)
		}
		c.finish(err)
	}
	c.deliveryMu.Lock()
	defer c.deliveryMu.Unlock()
	if c.over {
		return
	}
	if s.o.Timeout > 0 {
		c.timer = time.AfterFunc(s.o.Timeout, func() {
			take(&TimeoutError{Server: s.o.Name, Method: c.method, After: s.o.Timeout})
		})
	}
	c.stop = context.AfterFunc(ctx, func() { take(context.Cause(ctx)) })
}

// sendCancelled sends the server a cancellation of a request, unless the request was never written or its run of the server has ended.
func (s *Server) sendCancelled(c *call, why error) {
	reason := "the client took the request back"
	if t, ok := why.(*TimeoutError); ok {
		reason = fmt.Sprintf("no answer within %v", t.After)
	}
	params := fmt.Appendf(nil, `{"requestId":%s,"reason":%q}`, c.id, reason)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || c.gen == nil || c.gen.dead {
		return
	}
	// Past the bound of the queue: there are at most as many as open requests.
	s.pushLocked(&entry{raw: jsonrpc.NewRequest("", "notifications/cancelled", params)})
}

// A recentState says how a request ended.
type recentState uint8

const (
	answered recentState = iota + 1
	late                 // cancelled: an answer may still come, and is dropped
)

// maxRecent bounds the ids of ended requests that are remembered, to tell a second or late answer from one to no request.
const maxRecent = 1024

// recent remembers how the last requests ended.
type recent struct {
	states map[jsonrpc.ID]recentState
	ring   []jsonrpc.ID
	at     int
}

func newRecent() recent { return recent{states: map[jsonrpc.ID]recentState{}} }

// remember records how a request ended; only the last maxRecent are kept.
func (r *recent) remember(id jsonrpc.ID, f recentState) {
	if _, known := r.states[id]; !known {
		if len(r.ring) < maxRecent {
			r.ring = append(r.ring, id)
		} else {
			delete(r.states, r.ring[r.at])
			r.ring[r.at] = id
			r.at = (r.at + 1) % maxRecent
		}
	}
	r.states[id] = f
}
