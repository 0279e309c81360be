package result

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/limit"
)

// deliverRaw delivers the message unchanged, as it was held: its beginning from memory, the rest from the file.
func (r *reading) deliverRaw() {
	h := &r.raw
	f := &transport.Frame{Head: h.mem, Event: r.event}
	if n := int64(len(h.mem)); h.size > n {
		f.Rest = h.reader(n, h.size)
	}
	r.deliverFrame(f, h.size)
}

// deliver delivers a composed message; held has the ranges that segs refer to.
func (r *reading) deliver(segs []seg, held *spooledBuffer) {
	f := &transport.Frame{Head: segs[0].mem, Event: r.event}
	if len(segs) > 1 {
		var rest []io.Reader
		for _, g := range segs[1:] {
			if g.mem != nil {
				rest = append(rest, newReader(g.mem))
			} else {
				rest = append(rest, held.reader(g.from, g.to))
			}
		}
		f.Rest = io.MultiReader(rest...)
	}
	r.deliverFrame(f, segsLen(segs))
}

// deliverFrame delivers the frame, once. A notification about a task whose result broke off is dropped: the client asks for the task itself.
func (r *reading) deliverFrame(f *transport.Frame, size int64) {
	if r.delivered {
		return
	}
	if r.o.Method == TaskStatus && r.out.Cut != nil {
		return // a client that waits for the task asks for it by tasks/get
	}
	r.delivered = true
	r.out.Delivered = size
	if r.o.Deliver != nil {
		r.o.Deliver(f)
	}
}

// deliverCutOff answers a response that did not come to its end with an error. The text that came can be read from the spool, by the handle in the
// error.
func (r *reading) deliverCutOff(err error) {
	r.out.Failed = true
	why := r.brokenOffText(err)
	var data []byte
	if s := r.spoolWriter; s != nil && s.writer != nil {
		r.lexer.Abandon()
		if s.text == 0 || s.isErr || s.writer.Cut(shorten(err.Error(), 200)) != nil {
			_ = s.writer.Discard()
		} else if v, readErr := r.firstPage(r.ctx); readErr == nil {
			r.out.Spilled, r.out.Handle, r.out.Items = true, v.Handle, v.Totals.Items
			names := v.names()
			handle := rawjson.Quote(nil, v.Handle)
			why += fmt.Sprintf(" %s of text came, %d %s of it: %s {\"handle\":%s,\"page\":1} reads them. The rest is not known: do not take this for all of it.",
				limit.Bytes(v.Totals.Bytes).Human(), v.Totals.Items, v.Totals.Shape.Noun(), names.Page, handle)
			v.Page.Complete = false
			data = append(append([]byte(`{"`+MetaKey+`":`), v.meta()...), '}')
		}
	}
	r.deliver([]seg{{mem: jsonrpc.ErrorResponse(r.out.ID, jsonrpc.CodeInternal, why, data)}}, nil)
}

// brokenOffText returns the text that tells the model why an answer broke off.
func (r *reading) brokenOffText(err error) string {
	who := "The server's answer"
	if r.o.Source.Server != "" {
		who = "The answer of " + shorten(r.o.Source.Server, 100)
	}
	return "[plimsoll] " + who + " did not arrive whole: " + shorten(err.Error(), 300) + "."
}

// unkeptAnswer returns the answer when a result is too large and could not be put into the spool: its beginning, or an error for a resource
// or a task.
func (s *spoolWriter) unkeptAnswer(id jsonrpc.ID) []seg {
	text := fmt.Sprintf("[plimsoll] The result has %s of text, more than may be delivered at once, and it could not be kept: %s. ",
		limit.Bytes(s.text).Human(), shorten(s.failed.Error(), 300))
	if s.o.Method == ReadResource || s.o.task() {
		return []seg{{mem: jsonrpc.ErrorResponse(id, jsonrpc.CodeInternal, text, nil)}}
	}
	head := shorten(string(s.head), int(min(maxHead, s.o.textBudget()/2)))
	b := append([]byte(nil), `{`...)
	if s.o.Modern {
		b = append(b, `"resultType":"complete",`...)
	}
	b = append(b, `"content":[`...)
	if !s.prescan.failed {
		text += "The call itself succeeded: do not repeat it if it changes something. "
	}
	text += "Only its beginning follows, cut anywhere:"
	b = appendText(b, text)
	if head != "" {
		b = appendText(append(b, ','), head)
	}
	b = append(b, ']')
	switch {
	case s.prescan.failed:
		b = append(b, `,"isError":true`...)
	case s.o.Contract != nil:
		b = append(append(b, `,"structuredContent":`...), Stub(text+"\n"+head, nil)...)
	}
	return []seg{{mem: jsonrpc.ResultResponse(id, append(b, '}'))}}
}

// early delivers page 1 while the server is still sending.
type early struct {
	cancel context.CancelFunc
	timer  *time.Timer
	done   chan struct{}
}

// startEarly starts the timer after which page 1 is delivered early. The caller holds r.mu.
func (r *reading) startEarly() *early {
	ctx, cancel := context.WithCancel(r.ctx)
	e := &early{cancel: cancel, done: make(chan struct{})}
	e.timer = time.AfterFunc(max(0, r.o.Early-time.Since(r.started)), func() {
		defer close(e.done)
		r.deliverEarly(ctx)
	})
	return e
}

// stop cancels the early delivery and waits until it has ended. The caller must not hold r.mu.
func (e *early) stop() {
	if e == nil {
		return
	}
	e.cancel()
	if !e.timer.Stop() {
		<-e.done
	}
}

// deliverEarly waits for the items of page 1, and delivers them as the answer before the rest has come. If that fails, it comes at the end.
func (r *reading) deliverEarly(ctx context.Context) {
	v, err := r.firstPage(ctx) // waits for the items of page 1
	if err != nil {
		return // the answer is delivered at the end
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.spoolWriter
	if ctx.Err() != nil || s.failed != nil || s.stop != nil || s.isErr || !r.paged() {
		return
	}
	segs, failed := s.composeResult(r.id(), &v, v.Handle)
	r.out.Failed = failed
	r.deliver(segs, &s.kept)
}
