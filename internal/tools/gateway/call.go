package gateway

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/internal/tools/result"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/spool"
)

// The sizes in bytes beyond which a server's answer is recorded in an event: results that large made agents fail before results were paged.
const (
	WarnBytes  = 100 << 10
	AlertBytes = 200 << 10
)

// maxEarlyLife bounds how long the rest of a result may take to arrive after its first page was delivered.
const maxEarlyLife = time.Hour

// errTimeout is the cancellation cause of a call for which neither an answer nor progress came within Limits.Timeout.
var errTimeout = errors.New("the call took too long")

// call is a request whose result the gateway bounds. It receives the server's answer.
type call struct {
	method   string
	tool     string
	task     bool // the request is for a task; its result is bounded as that of tool
	limits   Limits
	known    *toolList
	readOnly bool

	s       *Session
	x       *exchange
	m       transport.Message
	p       params
	profile Profile
	started time.Time
	ctx     context.Context
	cancel  context.CancelCauseFunc
	stop    func() bool // after it the end of the client's context no longer cancels the call

	mu        sync.Mutex
	timer     *time.Timer
	answered  bool    // the response has begun
	delivered bool    // the client has a response
	kept      string  // handle of the stored result
	progress  float64 // the last value that the client was told
}

// forward sends a call to the server. c receives the answer, bounds it and passes it to x. The timeout of c begins now.
func (s *Session) forward(ctx context.Context, m transport.Message, p params, x *exchange, c *call) {
	c.s, c.x, c.p, c.profile, c.started = s, x, p, s.profile(p), time.Now()
	c.m = m
	m.MaxText = c.textCap()
	c.progress = math.Inf(-1)
	c.ctx, c.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	c.stop = context.AfterFunc(ctx, func() { c.cancel(context.Cause(ctx)) })
	if c.limits.Timeout > 0 {
		c.timer = time.AfterFunc(c.limits.Timeout, func() { c.cancel(errTimeout) })
	}
	s.o.Next.Send(c.ctx, m, c)
}

// Open implements [transport.Receiver].
func (c *call) Open(a transport.Answer) { c.x.Open(a) }

// Receive implements [transport.Receiver]: it bounds the first answer, drops a second one, and passes notifications on.
func (c *call) Receive(f *transport.Frame) {
	defer c.x.recover()
	if c.s.isStale(f) {
		return
	}
	c.s.noticeListChanged(f)
	if f.Bare() {
		c.x.Receive(f)
		return
	}
	// A message with a method is not a response. The beginning of a long message is enough to tell.
	if start := f.Start(); start.Head.Method != "" {
		c.observeNotification(f, start.Head)
		c.s.passBounded(c.ctx, f, jsonrpc.Head{}, c.m.Principal, c.x)
		return
	}
	c.mu.Lock()
	second := c.answered
	c.answered = true
	if c.timer != nil {
		c.timer.Stop()
	}
	c.mu.Unlock()
	if second {
		c.s.event(journal.ToolNoise{Server: c.s.o.Name, What: "second_answer", Bytes: int64(len(f.Head))})
		return
	}
	c.deliverBounded(f)
}

// observeNotification restarts the call's timeout. If the notification is progress of this call, it also records the value.
func (c *call) observeNotification(f *transport.Frame, h jsonrpc.Head) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil && !c.answered {
		c.timer.Reset(c.limits.Timeout)
	}
	if h.Method == "notifications/progress" && f.Whole() && c.p.token != nil {
		v := rawjson.Get(f.Head, "params", "progress")
		token := rawjson.Get(f.Head, "params", metaToken)
		if n, err := strconv.ParseFloat(string(v.Of(f.Head)), 64); err == nil && bytes.Equal(token.Of(f.Head), c.p.token) {
			c.progress = max(c.progress, n)
		}
	}
}

// deliverBounded passes an answer of any size to the client in a form that it can take: whole, or as its first page. If the page is
// delivered before the rest has come, the call goes on without the client, for at most maxEarlyLife. While the rest comes, each read
// restarts the timeout. At the end it writes the call's events.
func (c *call) deliverBounded(f *transport.Frame) {
	o := c.options()
	if f.Whole() && len(f.Head) <= 4<<10 {
		c.rememberTask(f.Head)
	}
	event := f.Event
	begun := time.Now()
	if c.timer != nil && f.Rest != nil {
		c.timer.Reset(c.limits.Timeout)
		f = &transport.Frame{Head: f.Head, Rest: &deadlineReader{f.Rest, c}, Event: event, Paged: f.Paged}
	}
	head, rest := int64(len(f.Head)), &countedReader{Reader: f.Rest}
	if f.Rest != nil {
		f = &transport.Frame{Head: f.Head, Rest: rest, Event: event, Paged: f.Paged}
	}
	if c.tool != "" && !c.task && c.limits.paged() {
		o.MaxText = c.textBound(f, o)
	}
	if f.Paged {
		o.MaxText, o.MaxItems = -1, 0
	}
	o.Deliver = func(out *transport.Frame) {
		early := o.Early > 0 && time.Since(begun) >= o.Early
		c.tellLarge(head + rest.n)
		out.Event = event
		c.deliver(out)
		if early {
			c.stop() // the client is done with; what still comes is for its later questions
			go c.expire()
			c.x.Done(nil)
		}
	}
	outcome := result.Bound(c.ctx, f, o)
	c.mu.Lock()
	c.kept = outcome.Handle
	c.mu.Unlock()
	c.recordCall(outcome)
}

// deliver passes the message for the client on, and records that the client has its response.
func (c *call) deliver(f *transport.Frame) {
	c.mu.Lock()
	c.delivered = true
	c.mu.Unlock()
	c.x.Receive(f)
}

// deadlineReader restarts the call's timeout whenever a part of the result arrives.
type deadlineReader struct {
	io.Reader
	c *call
}

// Read restarts the call's timeout after each read. An error, also the end of the body, stops the timeout.
func (p *deadlineReader) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if err != nil {
		p.c.timer.Stop()
	} else {
		p.c.timer.Reset(p.c.limits.Timeout)
	}
	return n, err
}

// expire cancels a call whose first page was delivered once maxEarlyLife is over or the session ends.
func (c *call) expire() {
	t := time.NewTimer(maxEarlyLife)
	defer t.Stop()
	select {
	case <-t.C:
	case <-c.s.ctx.Done():
	case <-c.ctx.Done():
		return
	}
	c.cancel(context.Canceled)
}

// options returns the options for bounding the call's answer: its bounds, its owner, and the spool. The parameters of the call are stored
// with the result only if the tool says that it changes nothing, so that the call can be repeated.
func (c *call) options() result.Options {
	o := result.Options{
		Method: c.method, ID: c.m.Head.ID, MaxText: c.textCap(), MaxItems: c.limits.MaxItems,
		MaxMedia: c.limits.MaxMedia, MaxFrame: c.limits.MaxResult, PageItems: c.limits.PageItems, Names: c.s.names(c.m.Principal),
		Modern: c.p.modern(), Early: c.limits.Early, TempDir: c.s.o.TempDir, Spool: c.s.o.Spool,
		Source: spool.Source{
			Principal: c.m.Principal, Server: c.s.o.Name, Tool: c.tool, ReadOnly: c.readOnly,
			PageItems: c.limits.PageItems, PageBytes: int(max(c.textCap(), 0)),
		},
	}
	if params := c.m.Head.Params; c.readOnly && params.Len() <= spool.MaxCall {
		o.Source.Call = bytes.Clone(params.Of(c.m.Raw))
	}
	if params := c.m.Head.Params.Of(c.m.Raw); c.tool != "" && !c.task {
		if arguments := rawjson.Get(params, "arguments"); !arguments.IsZero() {
			o.Source.ServerPage = result.ServerPage(arguments.Of(params))
		}
	}
	o.Contract = c.contract()
	if c.p.token != nil {
		o.Progress = c.sendProgress
	}
	return o
}

// contract returns the contract for the tool's structuredContent; nil when the client was given no outputSchema.
func (c *call) contract() *result.Contract {
	if c.tool == "" {
		return nil
	}
	return c.known.contract(c.tool, c.limits)
}

// textCap returns the largest text that the client takes, in bytes: from the settings, from the client, or from its profile.
func (c *call) textCap() limit.Bytes {
	switch {
	case c.limits.Cap != 0:
		return c.limits.Cap
	case c.m.MaxText > 0: // the client says how much it can take
		return c.m.MaxText
	}
	return c.profile.Cap
}

// sendProgress tells the client how many bytes and items of a large result have come, and its handle. The value is the number of bytes. If the
// server's own progress is beyond that already, it goes on from there, because a client may end a call whose progress goes back.
func (c *call) sendProgress(size, items int64, handle string) {
	c.mu.Lock()
	value := float64(size)
	if value <= c.progress {
		value = math.Nextafter(c.progress+1, math.Inf(1))
	}
	c.progress = value
	c.mu.Unlock()
	text := fmt.Sprintf("%s so far; handle %s", limit.Bytes(size).Human(), handle)
	if items > 0 {
		text = fmt.Sprintf("%s, %d items so far; handle %s", limit.Bytes(size).Human(), items, handle)
	}
	b := append([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`), c.p.token...)
	b = strconv.AppendFloat(append(b, `,"progress":`...), value, 'f', -1, 64)
	b = rawjson.Quote(append(b, `,"message":`...), text)
	c.x.Receive(&transport.Frame{Head: append(b, "}}"...)})
}

// recordCall writes the events of a call: that it was made, and its level if the answer is large.
func (c *call) recordCall(o result.Outcome) {
	c.s.event(journal.ToolCalled{
		Server: c.s.o.Name, Method: c.method, Tool: clip(c.tool), UpstreamBytes: o.Upstream, DeliveredBytes: o.Delivered,
		Spilled: o.Spilled, Items: o.Items, Failed: o.Failed, Cut: o.Cut != nil,
		Protocol: c.s.protocol(c.p), Duration: time.Since(c.started), TraceParent: c.p.traceParent, Address: c.s.o.Address,
	})
	if level := LargeLevel(o.Upstream); level != "" {
		c.s.event(journal.ToolResultLarge{Server: c.s.o.Name, Tool: clip(cmp.Or(c.tool, c.m.Head.Method)), Bytes: o.Upstream, Level: level})
	}
}

// Done implements [transport.Receiver]: it records a call that failed, and answers the client if the call has timed out.
func (c *call) Done(err error) {
	defer c.x.recover()
	c.stop()
	c.mu.Lock()
	answered, delivered, kept := c.answered, c.delivered, c.kept
	if c.timer != nil {
		c.timer.Stop()
	}
	c.mu.Unlock()
	if !answered && err != nil {
		c.recordCall(result.Outcome{Failed: true})
	}
	if !delivered && errors.Is(context.Cause(c.ctx), errTimeout) {
		text := fmt.Sprintf("%s gave no answer and no progress for %s, so the call was cancelled; whether it took effect is not known. Ask for less, or raise the timeout of %s.",
			c.subject(), c.limits.Timeout, c.s.o.Name)
		if kept != "" {
			text += fmt.Sprintf(" What came of its result can be read: %s {\"handle\":%q}.", c.s.names(c.m.Principal).Page, kept)
		}
		c.x.Receive(&transport.Frame{Head: jsonrpc.ErrorResponse(c.m.Head.ID, jsonrpc.CodeInternal, text, nil)})
		err = nil
	}
	c.cancel(context.Canceled)
	c.x.Done(err)
}

// LargeLevel returns the level of an answer of size bytes: "warning" over [WarnBytes], "alert" over [AlertBytes], else "".
func LargeLevel(size int64) string {
	switch {
	case size > AlertBytes:
		return "alert"
	case size > WarnBytes:
		return "warning"
	}
	return ""
}

// logLevels are the levels of MCP's logging, the least severe first.
var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// metaLevel is the member of _meta by which a request of 2026-07-28 asks for log messages.
const metaLevel = "io.modelcontextprotocol/logLevel"

// setLogLevel records the level that the client has set with logging/setLevel. It does nothing for an unknown level, or in a session that many
// clients share.
func (s *Session) setLogLevel(m transport.Message) {
	level, _ := rawjson.Text(m.Raw, "params", "level")
	if s.o.Many || !slices.Contains(logLevels, level) {
		return
	}
	s.mu.Lock()
	s.logLevel = level
	s.mu.Unlock()
}

// tellLarge sends the client a log message with the size of the server's answer, if that is large and the client's level includes it.
func (c *call) tellLarge(size int64) {
	level := LargeLevel(size)
	if level == "" {
		return
	}
	c.s.mu.Lock()
	from := c.s.logLevel
	c.s.mu.Unlock()
	if c.p.modern() {
		from, _ = rawjson.Text(c.m.Raw, "params", "_meta", metaLevel)
	}
	if at := slices.Index(logLevels, from); at < 0 || slices.Index(logLevels, level) < at {
		return
	}
	text := fmt.Sprintf("%s answered with %s, more than %s: a filter, a smaller page or another tool costs less.",
		c.subject(), limit.Bytes(size).Human(), limit.Bytes(map[string]int64{"warning": WarnBytes, "alert": AlertBytes}[level]).Human())
	params := fmt.Appendf(nil, `{"level":%q,"logger":"plimsoll","data":`, level)
	params = append(rawjson.Quote(params, text), '}')
	c.x.Receive(&transport.Frame{Head: jsonrpc.NewRequest("", "notifications/message", params)})
}

// subject returns a description, for people, of what was called: the quoted tool, or the method with its URI or task, or the method alone.
func (c *call) subject() string {
	if c.tool != "" {
		return quoteName(c.tool)
	}
	for _, key := range []string{"uri", "taskId"} {
		if of, ok := rawjson.Text(c.m.Raw, "params", key); ok && of != "" {
			return c.m.Head.Method + " of " + quoteName(of)
		}
	}
	return c.m.Head.Method
}

// countedReader counts the bytes that are read through it.
type countedReader struct {
	io.Reader
	n int64
}

func (r *countedReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	r.n += int64(n)
	return n, err
}
