package builtin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/tools/mcp/transport"
)

const (
	// progressEvery is the shortest time between two progress notifications: as often as a person looks.
	progressEvery = 250 * time.Millisecond
	// maxErrorText and maxProgressText bound what a model reads of an error and what a client
	// shows of progress, in bytes.
	maxErrorText    = 16 << 10
	maxProgressText = 512
	// largeText is the size in bytes from which on a text is sent in pieces instead of being
	// held a second time as a message.
	largeText = 128 << 10
)

var (
	errClosed    = errors.New("the tools are going down; the call was not finished")
	errCancelled = errors.New("the call was taken back by its client")
	errDone      = errors.New("the call is done")
)

// call is one call of a tool under way.
type call struct {
	s       *Server
	w       *connection
	tool    *Tool
	id      jsonrpc.ID
	modern  bool
	token   []byte // the client's progress token, raw; nil is none
	request Call
	to      transport.Receiver
	ctx     context.Context
	cancel  context.CancelCauseFunc

	slotFreed  atomic.Bool // its slot belongs to another call now
	mu         sync.Mutex  // held while the receiver is called
	over       bool        // Done was said
	progressAt time.Time   // when progress was, with the value done
	done       float64
}

// run does the call from its beginning to its end, in a goroutine of its own.
func (c *call) run() {
	defer c.s.running.Done()
	defer func() {
		if recover() != nil { // of the receiver; the tool's own are caught where it runs
			c.s.panicked(c.tool.Name)
		}
	}()
	defer c.s.forget(c)
	defer c.cancel(errDone)
	// A client that takes its call back is told so at once, however long Run goes on.
	stop := context.AfterFunc(c.ctx, func() { c.finish(context.Cause(c.ctx)) })
	defer stop()
	defer c.finish(c.ended()) // nothing, when there was an answer
	r, err := c.invoke()
	switch {
	case c.ctx.Err() != nil:
		c.finish(context.Cause(c.ctx))
		return
	case err != nil:
		r = failure(err)
	case r == nil:
		r = failure(c.ended())
	}
	if r.Stream == nil && len(r.Text) > largeText && !r.Paged {
		text := r.Text
		r = &Result{IsError: r.IsError, Stream: func(_ context.Context, w io.Writer) error {
			_, err := io.Copy(w, strings.NewReader(text))
			return err
		}}
	}
	if r.Stream != nil {
		c.stream(r)
		return
	}
	c.respond(&transport.Frame{Head: append(appendEscaped(c.begin(r.IsError), []byte(r.Text)), ending...), Paged: r.Paged})
}

func (c *call) ended() error { return fmt.Errorf("the tool %s ended without an answer", c.tool.Name) }

// invoke runs the tool. A panic fails this call only, and its text is not shown to the client.
func (c *call) invoke() (r *Result, err error) {
	defer func() {
		if recover() != nil {
			r, err = nil, c.panicked()
		}
	}()
	return c.tool.Run(c.ctx, &c.request)
}

func (c *call) panicked() error {
	c.s.panicked(c.tool.Name)
	return fmt.Errorf("the tool %s failed because of a mistake in itself; other calls are not affected. Try other arguments, or another tool", c.tool.Name)
}

func failure(err error) *Result {
	text := err.Error()
	if text == "" {
		text = fmt.Sprintf("the tool failed and did not say why (%T)", err)
	}
	return &Result{Text: clip(text, maxErrorText), IsError: true}
}

// begin returns the message up to its text.
func (c *call) begin(isError bool) []byte {
	b := append([]byte(`{"jsonrpc":"2.0","id":`), c.id...)
	b = append(b, `,"result":{`...)
	if c.modern {
		b = append(b, `"resultType":"complete",`...)
	}
	if isError {
		b = append(b, `"isError":true,`...)
	}
	return append(b, `"content":[{"type":"text","text":"`...)
}

// ending is the message behind its text.
const ending = `"}]}}`

// reply answers with a text that is whole.
func (c *call) reply(isError bool, text []byte) {
	c.respond(&transport.Frame{Head: append(appendEscaped(c.begin(isError), text), ending...)})
}

func (c *call) respond(message *transport.Frame) {
	c.freeSlot() // before the client learns of the end and calls again
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		c.over = true
		c.to.Receive(message)
		c.to.Done(nil)
	}
}

// stream answers with a text as it comes.
func (c *call) stream(r *Result) {
	pipe := newConduit(c.ctx)
	ctx, cancel := context.WithCancelCause(c.ctx)
	produced := make(chan struct{})
	go c.produce(ctx, r, pipe, produced)
	defer func() {
		cancel(errUnread)
		<-produced
	}()
	whole, empty, err := pipe.first()
	if c.ctx.Err() != nil && !whole {
		c.finish(context.Cause(c.ctx))
		return
	}
	if empty {
		f := failure(err)
		c.reply(true, []byte(f.Text))
		return
	}
	message := c.begin(r.IsError)
	if whole {
		rest, _ := io.ReadAll(pipe) // it is in memory, and bounded
		c.respond(&transport.Frame{Head: append(message, rest...)})
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		_ = pipe.close()
		return
	}
	c.over = true
	c.to.Receive(&transport.Frame{Head: message, Rest: pipe})
	c.to.Done(pipe.close())
}

// produce lets the tool write its text.
func (c *call) produce(ctx context.Context, r *Result, pipe *conduit, produced chan struct{}) {
	err := c.ended() // should Stream end its goroutine
	defer close(produced)
	defer func() {
		if recover() != nil {
			err = c.panicked()
		}
		c.freeSlot()
		pipe.end([]byte(ending), err)
	}()
	err = r.Stream(ctx, pipe)
}

// freeSlot gives the call's slot back.
func (c *call) freeSlot() {
	if !c.slotFreed.Swap(true) {
		c.s.freeSlot()
	}
}

// finish ends the call without an answer, unless it was answered.
func (c *call) finish(err error) {
	defer func() { _ = recover() }() // a receiver must not end the process
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		c.over = true
		c.to.Done(err)
	}
}

// progress implements Call.Progress.
func (c *call) progress(done, total float64, text string) {
	if c.token == nil || math.IsNaN(done) || math.IsInf(done, 0) {
		return
	}
	// Whoever holds the lock talks to the client: of progress, or the answer, which may be
	// the text that is being made by who calls here.
	if !c.mu.TryLock() {
		return
	}
	defer c.mu.Unlock()
	now := time.Now()
	first := c.progressAt.IsZero()
	if c.over || c.ctx.Err() != nil || !first && (done <= c.done || now.Sub(c.progressAt) < progressEvery) {
		return
	}
	c.progressAt, c.done = now, done
	b := append([]byte(`{"progressToken":`), c.token...)
	b = strconv.AppendFloat(append(b, `,"progress":`...), done, 'f', -1, 64)
	if total > 0 && !math.IsInf(total, 0) {
		b = strconv.AppendFloat(append(b, `,"total":`...), total, 'f', -1, 64)
	}
	if text != "" {
		b = rawjson.Quote(append(b, `,"message":`...), clip(text, maxProgressText))
	}
	c.to.Receive(&transport.Frame{Head: jsonrpc.NewRequest("", "notifications/progress", append(b, '}'))})
}
