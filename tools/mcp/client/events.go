package client

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/sse"
	"github.com/plimsoll/plimsoll/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/tools/mcp/transport"
)

// lingerTime bounds the time that a stream stays open behind its response: a server that ends it
// leaves the connection for the next request.
const lingerTime = 500 * time.Millisecond

// state is the progress of an exchange's answer.
type state struct {
	once     sync.Once
	timer    *time.Timer
	answered bool
	lastID   string
	retry    time.Duration
	got      int // events, whole ones
}

// limit bounds the wait for the next message, if there is a bound.
func (x *exchange) limit(ctx context.Context) (context.Context, func()) {
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

// receive hands a frame over. However long that takes, it is not the server's time. The
// wait for the next one begins anew.
func (x *exchange) receive(f *transport.Frame) (broken error) {
	if x.timer != nil {
		x.timer.Stop()
		defer x.timer.Reset(x.r.o.Timeout)
	}
	watch := follow(f)
	x.to.Receive(f)
	return watch.err()
}

// events hands over the messages of a stream. Bare events are for a client of HTTP (all).
// It returns nil when the response came, io.EOF when the stream ended before, and what
// broke it off.
func (x *exchange) events(ctx context.Context, body io.ReadCloser, all bool) error {
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
		if all || !f.Bare() && x.forClient(f) { // the fields alone are for us
			if err := x.receive(f); err != nil {
				x.answered = true // as far as it ever will be: nothing is asked for again
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

// isResponse reports whether the frame is the response to the request.
func (x *exchange) isResponse(f *transport.Frame) bool {
	h := jsonrpc.ScanStart(f.Head).Head
	return h.Kind == jsonrpc.Response && (h.ID == x.m.Head.ID || h.ID == "")
}

// forClient reports whether a client without HTTP is to have the frame: what is no message
// and answers to nobody are counted.
func (x *exchange) forClient(f *transport.Frame) bool {
	h := jsonrpc.ScanStart(f.Head).Head
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

// finish calls Done, once.
func (x *exchange) finish(err error) {
	if !x.told {
		x.told = true
		x.to.Done(err)
	}
}
