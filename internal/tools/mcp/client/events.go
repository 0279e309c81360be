package client

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/sse"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// lingerTime bounds how long a stream stays open behind its response: if the server ends it, the connection can be used again.
const lingerTime = 500 * time.Millisecond

// state tells how far the answer of an exchange has come.
type state struct {
	once     sync.Once
	timer    *time.Timer
	answered bool
	lastID   string
	retry    time.Duration
	got      int // number of whole events
}

// withTimeout returns a context that ends when no message has come for the timeout, and a function that ends that watch. If the message is not a
// request, or there is no timeout, it returns ctx itself.
func (x *exchange) withTimeout(ctx context.Context) (context.Context, func()) {
	if x.r.o.Timeout <= 0 || x.m.Head.Kind != jsonrpc.Request {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	late := &TimeoutError{Server: x.r.o.Name, Method: x.m.Head.Method, After: x.r.o.Timeout}
	x.timer = time.AfterFunc(x.r.o.Timeout, func() { cancel(late) })
	return ctx, func() {
		x.timer.Stop()
		cancel(nil)
	}
}

// receive passes a frame to the receiver, and returns the error with which the frame broke off. The timeout starts again afterwards.
func (x *exchange) receive(f *transport.Frame) (broken error) {
	if x.timer != nil {
		x.timer.Stop()
		defer x.timer.Reset(x.r.o.Timeout)
	}
	watch := watchRest(f)
	f.Head, f.Rest = jsonrpc.Legible(f.Head, f.Rest)
	x.to.Receive(f)
	return watch.err()
}

// readEvents passes on the messages of a stream; with all, for a client of HTTP, also events without data. It returns nil after the response,
// io.EOF if the stream ended before it, and otherwise the error with which the stream broke off. After the response it reads on for lingerTime.
func (x *exchange) readEvents(ctx context.Context, body io.ReadCloser, all bool) error {
	events := sse.NewReader(body, 0)
	for {
		e, head, rest, err := events.Next()
		if err != nil {
			if x.answered {
				return nil
			}
			return err
		}
		f := &transport.Frame{Head: head, Rest: rest, Event: e}
		if !all {
			f.Event = transport.Event{}
		}
		last := false
		if !f.Bare() && x.m.Head.Kind == jsonrpc.Request && !x.answered {
			last = x.isResponse(f)
		}
		if all || !f.Bare() && x.isForClient(f) { // the fields of an event without data are for us
			if err := x.receive(f); err != nil {
				x.answered = true // the rest is lost, so the stream is not resumed
				return err
			}
		}
		x.got++
		x.lastID, x.retry = events.LastID(), events.Retry()
		if last {
			x.answered = true
			linger := time.AfterFunc(lingerTime, func() { x.cancel(io.EOF) })
			defer linger.Stop()
			if !all {
				// The receiver need not wait for the stream's end.
				x.finish(nil)
			}
		}
	}
}

// isResponse reports whether the frame is the response to the request, or one without an id.
func (x *exchange) isResponse(f *transport.Frame) bool {
	h := f.Start().Head
	return h.Kind == jsonrpc.Response && (h.ID == x.m.Head.ID || h.ID == "")
}

// isForClient reports whether a client without HTTP gets the frame. A frame that is not a message, or answers another request, is read to its
// end, counted as noise and dropped.
func (x *exchange) isForClient(f *transport.Frame) bool {
	h := f.Start().Head
	what := ""
	switch {
	case h.Kind == jsonrpc.Invalid && f.Whole():
		what = "text"
	case h.Kind == jsonrpc.Response && x.answered:
		what = "second_answer"
	case h.Kind == jsonrpc.Response && h.ID != "" && h.ID != x.m.Head.ID:
		what = "unknown_id"
	}
	if what == "" {
		return true
	}
	n := int64(len(f.Head))
	if f.Rest != nil {
		more, _ := io.Copy(io.Discard, f.Rest)
		n += more
	}
	x.r.noise.add(what, n)
	return false
}

// finish calls Done with err, unless it was called before.
func (x *exchange) finish(err error) {
	if !x.told {
		x.told = true
		x.to.Done(err)
	}
}
