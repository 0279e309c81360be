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
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/limit"
)

const (
	// progressEvery is the shortest time between two progress notifications; people do not look more often.
	progressEvery = 250 * time.Millisecond
	// maxErrorText bounds the text of an error that a model reads, maxProgressText that of progress, in bytes.
	maxErrorText    = 16 << 10
	maxProgressText = 512
	// largeText is the size in bytes above which a text is sent in pieces, so that it is not in memory a second
	// time as a message.
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
	token   []byte // the client's progress token, raw; empty if there is none
	request Call
	to      transport.Receiver
	ctx     context.Context
	cancel  context.CancelCauseFunc

	slotFreed  atomic.Bool // its slot was given back
	mu         sync.Mutex  // held while the receiver is called
	over       bool        // Done was or is being called
	progressAt time.Time   // when progress was last sent, with the value done
	done       float64
}

// run does the call from its beginning to its end, in a goroutine of its own. The client gets exactly one end: the answer, also that of a
// tool that failed, or the cause of a cancellation.
func (c *call) run() {
	defer c.s.running.Done()
	defer func() {
		if recover() != nil { // from the receiver; panics of the tool are caught where it runs
			c.s.countPanic(c.tool.Name)
		}
	}()
	defer c.s.forget(c)
	defer c.cancel(errDone)
	// After a cancellation Done is called at once, however long Run continues.
	stop := context.AfterFunc(c.ctx, func() { c.finish(context.Cause(c.ctx)) })
	defer stop()
	defer c.finish(c.noAnswerError()) // does nothing if the call was answered
	r, err := c.invoke()
	switch {
	case c.ctx.Err() != nil:
		c.finish(context.Cause(c.ctx))
		return
	case err != nil:
		r = errorResult(err)
	case r == nil:
		r = errorResult(c.noAnswerError())
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
	c.respond(&transport.Frame{Head: append(appendEscaped(c.responseStart(r.IsError), []byte(r.Text)), ending...), Paged: r.Paged})
}

// noAnswerError returns the error for a tool that ended its goroutine without an answer.
func (c *call) noAnswerError() error {
	return fmt.Errorf("the tool %s ended without an answer", c.tool.Name)
}

// invoke runs the tool. A panic fails only this call, and its text is not shown to the client.
func (c *call) invoke() (r *Result, err error) {
	defer func() {
		if recover() != nil {
			r, err = nil, c.panicError()
		}
	}()
	return c.tool.Run(c.ctx, &c.request)
}

// panicError counts a panic of the tool and returns the error for the model, which does not have the panic's text.
func (c *call) panicError() error {
	c.s.countPanic(c.tool.Name)
	return fmt.Errorf("the tool %s failed because of a mistake in itself; other calls are not affected. Try other arguments, or another tool", c.tool.Name)
}

// errorResult returns the result with isError that tells a model of err.
func errorResult(err error) *Result {
	text := err.Error()
	if text == "" {
		text = fmt.Sprintf("the tool failed and did not say why (%T)", err)
	}
	return &Result{Text: limit.Short(text, maxErrorText), IsError: true}
}

// responseStart returns the response up to the beginning of its text.
func (c *call) responseStart(isError bool) []byte {
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

// ending is the end of the response behind its text.
const ending = `"}]}}`

// reply answers with a text that is in memory.
func (c *call) reply(isError bool, text []byte) {
	c.respond(&transport.Frame{Head: append(appendEscaped(c.responseStart(isError), text), ending...)})
}

// respond sends the answer and ends the call, unless it has ended. Its slot is free before the client learns of the end.
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

// stream answers with a text while the tool writes it, and waits until the tool has ended. If the tool fails before it wrote anything, the
// answer is its error.
func (c *call) stream(r *Result) {
	pipe := newConduit(c.ctx)
	ctx, cancel := context.WithCancelCause(c.ctx)
	produced := make(chan struct{})
	go c.produce(ctx, r, pipe, produced)
	defer func() {
		cancel(errUnread)
		<-produced
	}()
	whole, empty, err := pipe.waitForFirst()
	if c.ctx.Err() != nil && !whole {
		c.finish(context.Cause(c.ctx))
		return
	}
	if empty {
		f := errorResult(err)
		c.reply(true, []byte(f.Text))
		return
	}
	message := c.responseStart(r.IsError)
	if whole {
		rest, _ := io.ReadAll(pipe) // in memory and bounded
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

// produce lets the tool write its text into pipe. It closes produced when the tool has ended.
func (c *call) produce(ctx context.Context, r *Result, pipe *conduit, produced chan struct{}) {
	err := c.noAnswerError() // the error if Stream ends its goroutine
	defer close(produced)
	defer func() {
		if recover() != nil {
			err = c.panicError()
		}
		c.freeSlot()
		pipe.end([]byte(ending), err)
	}()
	err = r.Stream(ctx, pipe)
}

// freeSlot gives the call's slot back; only the first call of it does.
func (c *call) freeSlot() {
	if !c.slotFreed.Swap(true) {
		c.s.freeSlot()
	}
}

// finish calls Done with err, unless the call was answered.
func (c *call) finish(err error) {
	defer func() { _ = recover() }() // a receiver must not end the process
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		c.over = true
		c.to.Done(err)
	}
}

// progress implements Call.Progress. It sends nothing if the client gave no token, if done has not grown, if the last progress was less
// than progressEvery ago, or if the call has ended. It never waits.
func (c *call) progress(done, total float64, text string) {
	if c.token == nil || math.IsNaN(done) || math.IsInf(done, 0) {
		return
	}
	// The lock is held while the client gets progress or the answer, which may be the very text
	// that the caller is writing: so it must not wait.
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
		b = rawjson.Quote(append(b, `,"message":`...), limit.Short(text, maxProgressText))
	}
	c.to.Receive(&transport.Frame{Head: jsonrpc.NewRequest("", "notifications/progress", append(b, '}'))})
}
