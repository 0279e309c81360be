package toolbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/limit"
)

const (
	// MaxChunk is the largest piece that a chunk function gets, in bytes.
	MaxChunk = 4 << 10
	// maxProgressTexts bounds the texts about a call's progress that wait to be passed on.
	maxProgressTexts = 16
	// noteRoom bounds the text beside a page, in bytes.
	noteRoom = 8 * limit.KiB
)

// Check implements [agent.Tools]: its error tells the model that there is no such tool, or what is wrong with the arguments. If a tool has no valid
// schema, any JSON object up to MaxArguments is allowed, as are "" and null.
func (b *Toolbox) Check(c agent.Call) error {
	_, err := b.find(c)
	return err
}

// find returns the tool of a call, or a *callFault if there is none or the arguments are invalid.
func (b *Toolbox) find(c agent.Call) (*entry, error) {
	known := b.catalogue.Load()
	if known == nil || len(known.names) == 0 {
		return nil, &callFault{fmt.Sprintf("there is no tool %q: no tools are connected. Answer without.", clip(c.Name, maxShown))}
	}
	e := known.by[c.Name]
	if e == nil {
		return nil, &callFault{fmt.Sprintf("there is no tool %q%s. The tools are: %s.", clip(c.Name, maxShown), suggestion(c.Name, known.names), firstNames(known.names, 40))}
	}
	arguments, err := objectOf(c.Arguments)
	if err != nil {
		return nil, &callFault{fmt.Sprintf("the arguments of %s cannot be read: %v. Nothing was done. Send the call again with a JSON object.", c.Name, err)}
	}
	if problems := check(e.argumentSchema(), arguments); len(problems) > 0 {
		return nil, &callFault{fmt.Sprintf("the arguments of %s do not fit: %s. Nothing was done. Send the call again with that mended.", c.Name, strings.Join(problems, "; "))}
	}
	return e, nil
}

// Call implements [agent.Tools]. The call is made once: a server that ends meanwhile is started again only for the next call. Failures of
// the tool, its server or the connection are an output that is marked as failed; the only errors are the end of ctx and [ErrClosed]. When
// ctx ends, the server is told to cancel, and Call returns at once.
func (b *Toolbox) Call(ctx context.Context, c agent.Call, chunk func(string)) (agent.Output, error) {
	if b.ctx.Err() != nil {
		return agent.Output{}, ErrClosed
	}
	if ctx.Err() != nil {
		return agent.Output{}, context.Cause(ctx)
	}
	b.count.calls.Add(1)
	e, err := b.find(c)
	if err != nil {
		b.count.failed.Add(1)
		return agent.Output{Text: err.Error(), Failed: true}, nil
	}
	l, name := e.session, e.name
	if e.role != noRole {
		select { // more at once would be refused
		case b.reading <- struct{}{}:
			defer func() { <-b.reading }()
		case <-ctx.Done():
			b.count.cancelled.Add(1)
			return agent.Output{}, context.Cause(ctx)
		}
		l, name = b.findKeeper(e, c.Arguments)
	}
	out, err := l.call(ctx, name, c.Arguments, chunk)
	switch {
	case err != nil:
		b.count.cancelled.Add(1)
		return out, err
	case out.Failed:
		b.count.failed.Add(1)
	}
	for piece := range pieces(out.Text) {
		chunk(piece)
	}
	return out, nil
}

// findKeeper returns the server whose gateway keeps the result that the arguments name by its handle, so that it can be refreshed there,
// and the name of tool e on that server. If that server is not known it returns e's own server and name.
func (b *Toolbox) findKeeper(e *entry, arguments string) (*serverSession, string) {
	handle, _ := rawjson.Text([]byte(arguments), "handle")
	kept, err := b.spool.Read(b.principal, handle)
	if err != nil {
		return e.session, e.name // which says so
	}
	from := kept.Source().Server
	_ = kept.Close()
	for _, l := range b.sessions {
		if l.gateway.Name() != from {
			continue
		}
		l.mu.Lock()
		names, reads := l.names, l.reads
		l.mu.Unlock()
		if reads {
			return l, nameOfRole(names, e.role)
		}
	}
	return e.session, e.name
}

// call calls a tool of the server by the server's own name for it. It returns as [Toolbox.Call] does.
func (l *serverSession) call(ctx context.Context, name, arguments string, chunk func(string)) (agent.Output, error) {
	l.calls.Add(1)
	p := l.currentPeer()
	if p == nil {
		return agent.Output{Text: l.failure().Error(), Failed: true}, nil
	}
	if text := strings.TrimSpace(arguments); text == "" || text == "null" {
		arguments = "{}"
	}
	id := l.id()
	params := rawjson.Quote([]byte(`{"name":`), name)
	params = append(append(append(params, `,"arguments":`...), arguments...), `,"_meta":{"progressToken":`...)
	raw := jsonrpc.NewRequest(id, "tools/call", append(append(params, id...), "}}"...))
	head, err := jsonrpc.Scan(raw)
	if err != nil {
		return agent.Output{Text: fmt.Sprintf("the call of %s cannot be sent: %v", name, err), Failed: true}, nil
	}
	w := &pendingCall{l: l, p: p, id: id, progressTexts: make(chan string, maxProgressTexts), done: make(chan struct{})}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m := transport.Message{Raw: raw, Head: head, Principal: l.b.principal}
	if l.b.o.ByWindow {
		m.MaxText = min(agent.ResultRoom(ctx), MaxText-noteRoom)
	}
	go p.Send(ctx, m, w) // may wait for the server
	for {
		select {
		case text := <-w.progressTexts:
			chunk(text)
		case <-w.done:
			return w.output(ctx)
		case <-ctx.Done():
			return agent.Output{}, context.Cause(ctx)
		case <-l.b.ctx.Done():
			return agent.Output{}, ErrClosed
		}
	}
}

// pendingCall receives the answer to a call. It implements [transport.Receiver].
type pendingCall struct {
	l             *serverSession
	p             transport.Peer
	id            jsonrpc.ID
	progressTexts chan string
	done          chan struct{}
	over          atomic.Bool

	// Valid when done is closed.
	answer *answer
	err    error
	status int
}

// Open implements [transport.Receiver].
func (w *pendingCall) Open(a transport.Answer) { w.status = a.Status }

// Receive implements [transport.Receiver].
func (w *pendingCall) Receive(f *transport.Frame) {
	if f.Bare() {
		return
	}
	switch h := jsonrpc.ScanStart(f.Head).Head; {
	case h.Kind == jsonrpc.Request:
		w.l.refuse(w.p, h)
	case h.Method == "notifications/tools/list_changed":
		w.l.markStale()
	case h.Method == "notifications/progress" && f.Whole():
		w.queueProgress(f.Head)
	case h.Method != "":
	case w.answer == nil && w.err == nil:
		if w.answer, w.err = decode(f.Reader(), int(MaxText)); w.err != nil {
			w.err = &unreadable{w.l.name, w.err}
		}
	}
}

// queueProgress queues the message of a progress notification for the caller's chunk function. If the queue is full, the message is dropped
// and counted.
func (w *pendingCall) queueProgress(message []byte) {
	text, _ := rawjson.Text(message, "params", "message")
	if text == "" {
		return
	}
	select {
	case w.progressTexts <- clip(strings.ToValidUTF8(text, "\uFFFD"), MaxChunk-1) + "\n":
	default:
		w.l.b.count.dropped.Add(1)
	}
}

// Done implements [transport.Receiver].
func (w *pendingCall) Done(err error) {
	if w.over.Swap(true) {
		return
	}
	if w.answer == nil && w.err == nil {
		w.err = err
	}
	close(w.done)
}

// output returns the result of the call once it is done.
func (w *pendingCall) output(ctx context.Context) (agent.Output, error) {
	switch {
	case w.answer != nil:
		return w.answer.output(w.l.name), nil
	case ctx.Err() != nil:
		return agent.Output{}, context.Cause(ctx)
	case w.err != nil:
		return agent.Output{Text: clip(w.err.Error(), maxError), Failed: true}, nil
	case w.status != 0:
		return agent.Output{Text: fmt.Sprintf("the MCP server %s answered with status %d and no result", w.l.name, w.status), Failed: true}, nil
	}
	return agent.Output{Text: fmt.Sprintf("the MCP server %s ended without an answer to the call; whether it took effect is not known", w.l.name), Failed: true}, nil
}

// unreadable is the error of an answer that is malformed or incomplete.
type unreadable struct {
	server string
	err    error
}

func (e *unreadable) Error() string {
	if errors.Is(e.err, io.ErrUnexpectedEOF) {
		return fmt.Sprintf("the answer of the MCP server %s broke off; whether the call took effect is not known", e.server)
	}
	return fmt.Sprintf("the answer of the MCP server %s cannot be read: %v; whether the call took effect is not known", e.server, e.err)
}

// Unwrap returns the cause.
func (e *unreadable) Unwrap() error { return e.err }

// pieces returns an iterator over pieces of a text, of at most MaxChunk bytes, cut between characters.
func pieces(text string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for len(text) > 0 {
			n := limit.Boundary(text, min(len(text), MaxChunk))
			if !yield(text[:n]) {
				return
			}
			text = text[n:]
		}
	}
}
