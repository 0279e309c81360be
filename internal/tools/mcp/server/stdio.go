package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/journal"
)

// DefaultGrace bounds the time for open requests after their client closed its end.
const DefaultGrace = 2 * time.Second

// stdio is one client on a pair of streams.
type stdio struct {
	o      StdioOptions
	p      transport.Peer
	ctx    context.Context
	cancel context.CancelCauseFunc

	writing sync.Mutex // one message at a time
	out     io.Writer

	mu   sync.Mutex
	open map[jsonrpc.ID]*call
	idle chan struct{} // closed when open becomes empty after the client left
	left bool          // the client has closed its end
}

// call is a request of the client that waits for its answer. It is a transport.Receiver; one without an id receives for messages that have
// no answer.
type call struct {
	s        *stdio
	id       jsonrpc.ID
	cancel   context.CancelFunc
	answered bool        // a whole response was written; only used by the receiver's calls, which never overlap
	taken    atomic.Bool // the client cancelled the request, so it needs no error
}

// Stdio serves one client, one message per line, until it closes in, ctx ends or out breaks.
// It closes p. The error is a failure of the streams; it is nil if the client left or ctx ended.
//
// Messages reach p in their order. What comes back is written as whole lines, one at a
// time; a large message is streamed to out while the others wait for it. A message that
// cannot be passed on (invalid, a batch, larger than MaxMessage, one request too many or
// with an id that is in use) is answered with an error. After the end of in the open requests
// get Grace to be answered. Stdio returns although a Read of in, or a Write to out
// that the client does not take, is under way when ctx ends; their goroutines end with them.
func Stdio(ctx context.Context, in io.Reader, out io.Writer, p transport.Peer, o StdioOptions) error {
	o.MaxMessage = orDefault(o.MaxMessage, DefaultMaxMessage)
	o.MaxOpen = orDefault(o.MaxOpen, DefaultMaxOpen)
	o.Grace = orDefault(o.Grace, DefaultGrace)
	s := &stdio{o: o, p: p, out: out, open: map[jsonrpc.ID]*call{}, idle: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	var listening sync.WaitGroup
	listening.Go(func() { safely(func() { p.Listen(s.ctx, nil, &call{s: s}) }) })

	read := make(chan error, 1)
	go func() {
		err := errFailed
		defer func() { _ = recover(); read <- err }()
		err = s.readMessages(in)
	}()
	var err error
	select {
	case err = <-read:
		if err == nil {
			s.waitAnswered()
			if ctx.Err() == nil {
				err = context.Cause(s.ctx) // an answer that could not be written
			}
		}
	case <-s.ctx.Done():
		if cause := context.Cause(s.ctx); ctx.Err() == nil {
			err = cause
		}
	}
	s.cancel(nil)
	safely(func() { _ = p.Close() })
	heard := make(chan struct{})
	go func() {
		listening.Wait()
		close(heard)
	}()
	grace := time.NewTimer(o.Grace)
	defer grace.Stop()
	select {
	case <-heard:
	case <-grace.C: // a write that the client does not read: it ends with the process
	}
	return err
}

// safely calls f and stops a panic in it, so that a peer cannot end the process.
func safely(f func()) {
	defer func() { _ = recover() }()
	f()
}

// waitAnswered waits until the open requests are answered, at most for Grace.
func (s *stdio) waitAnswered() {
	s.mu.Lock()
	s.left = true
	waits := len(s.open) > 0
	s.mu.Unlock()
	if !waits {
		return
	}
	grace := time.NewTimer(s.o.Grace)
	defer grace.Stop()
	select {
	case <-s.idle:
	case <-grace.C:
	case <-s.ctx.Done():
	}
}

// readMessages passes on the client's messages until the client closes its end. The error is that of reading.
func (s *stdio) readMessages(in io.Reader) error {
	lines := jsonrpc.NewLineReader(in, jsonrpc.Hold)
	first := true
	for s.ctx.Err() == nil {
		head, rest, err := lines.Next()
		switch {
		case err == io.EOF || errors.Is(err, io.ErrClosedPipe):
			return nil
		case err != nil:
			return fmt.Errorf("reading from the client: %w", err)
		}
		if first {
			// A byte order mark, as some shells on Windows put before what they pipe.
			head, first = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), false
		}
		message := bytes.Clone(head)
		if rest != nil {
			more, err := io.ReadAll(io.LimitReader(rest, s.o.MaxMessage-int64(len(head))+1))
			message = append(message, more...)
			if err != nil {
				return nil // the client ended in the middle of a message
			}
		}
		if int64(len(message)) > s.o.MaxMessage {
			s.refuse("too_large", jsonrpc.ScanStart(message).Head.ID, jsonrpc.CodeInvalidRequest,
				fmt.Sprintf("the message is larger than the %d bytes that are taken; send less in one message", s.o.MaxMessage))
			continue
		}
		s.passMessage(message)
	}
	return nil
}

// passMessage passes one message on, or answers it with an error.
func (s *stdio) passMessage(raw []byte) {
	raw, _ = jsonrpc.Legible(raw, nil)
	head, bad := parseMessage(raw)
	if bad != nil {
		s.refuse("protocol", jsonrpc.ScanStart(raw).Head.ID, bad.Code, bad.Text)
		return
	}
	m := transport.Message{Raw: raw, Head: head, Principal: s.o.Principal}
	c, ctx := &call{s: s}, s.ctx
	if head.Kind == jsonrpc.Request {
		c.id = head.ID
		ctx, c.cancel = context.WithCancel(s.ctx)
		s.mu.Lock()
		full, used := len(s.open) >= s.o.MaxOpen, s.open[head.ID] != nil
		if !full && !used {
			s.open[head.ID] = c
		}
		s.mu.Unlock()
		switch {
		case used:
			c.cancel()
			s.refuse("protocol", head.ID, jsonrpc.CodeInvalidRequest, "a request with this id is being answered; give each its own")
			return
		case full:
			c.cancel()
			s.refuse("busy", head.ID, jsonrpc.CodeInternal, fmt.Sprintf("%d requests wait for an answer; wait for some of them", s.o.MaxOpen))
			return
		}
	}
	if head.Method == "notifications/cancelled" && !head.Params.IsZero() {
		// Before it is sent: a peer may end the request at once, which then needs no error.
		s.cancelLater(head.Params.Of(raw))
	}
	func() {
		defer func() {
			if recover() != nil {
				s.journalRefused("internal")
				c.Done(errFailed)
			}
		}()
		s.p.Send(ctx, m, c)
	}()
}

// cancelLater ends a request that the client has cancelled, after cancelGrace: the server need not answer it, and the client may use its id
// again.
func (s *stdio) cancelLater(params []byte) {
	span := rawjson.Get(params, "requestId")
	if span.IsZero() {
		return
	}
	s.mu.Lock()
	c := s.open[jsonrpc.ID(span.Of(params))]
	s.mu.Unlock()
	if c != nil {
		c.taken.Store(true)
		time.AfterFunc(cancelGrace, func() { safely(c.cancel) })
	}
}

// journalRefused journals that a message was refused, if there is a journal.
func (s *stdio) journalRefused(why string) {
	if s.o.Journal != nil {
		s.o.Journal.Append(journal.ToolRefused{Server: s.o.Name, Why: why})
	}
}

func (s *stdio) refuse(why string, id jsonrpc.ID, code int, text string) {
	s.journalRefused(why)
	_ = s.writeMessage(jsonrpc.ErrorResponse(id, code, text, nil), nil)
}

// writeMessage writes one message as a line. If its rest breaks off, the line ends there: the client gets one line that it cannot read, and goes
// on. If the line cannot be written, everything ends.
func (s *stdio) writeMessage(head []byte, rest io.Reader) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	err := jsonrpc.WriteLine(s.out, head, rest)
	broken, readable := errors.AsType[*jsonrpc.ReadError](err)
	if readable {
		if _, err := s.out.Write([]byte{'\n'}); err != nil {
			s.cancel(fmt.Errorf("writing to the client: %w", err))
		}
		return broken
	}
	if err != nil {
		s.cancel(fmt.Errorf("writing to the client: %w", err))
	}
	return err
}

// Open implements transport.Receiver; it does nothing.
func (c *call) Open(transport.Answer) {}

// Receive implements transport.Receiver: it writes a message to the client.
func (c *call) Receive(f *transport.Frame) {
	safely(func() {
		if f.Whole() && len(f.Head) == 0 {
			return // a bare event
		}
		response := headOf(f).Kind == jsonrpc.Response
		if response && c.id == "" || c.answered {
			return // it answers no open request
		}
		if err := c.s.writeMessage(f.Head, f.Rest); err == nil && response {
			c.answered = true
		}
	})
}

// Done implements transport.Receiver. It ends the call: if it has no answer yet, an error is written as its answer, unless the client has
// taken it back. A second call does nothing.
func (c *call) Done(err error) {
	if c.id == "" {
		return
	}
	s := c.s
	s.mu.Lock()
	was := s.open[c.id] == c
	if was {
		delete(s.open, c.id)
	}
	empty := s.left && len(s.open) == 0
	s.mu.Unlock()
	if !was {
		return
	}
	c.cancel()
	if !c.answered && !c.taken.Load() && s.ctx.Err() == nil {
		if err == nil {
			err = errors.New("the server ended without an answer")
		}
		_ = s.writeMessage(jsonrpc.ErrorResponse(c.id, jsonrpc.CodeInternal, err.Error(), nil), nil)
	}
	if empty {
		close(s.idle)
	}
}
