package bridge

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// exchange is one request of a legacy client: it is at the server or, between two rounds, asks the client for input.
type exchange struct {
	l      *legacy
	to     transport.Receiver
	m      transport.Message
	params []byte // with _meta, without input
	serial int    // its number among the session's requests and ids
	ctx    context.Context
	stop   context.CancelFunc

	out sync.Mutex // held while the receiver is called

	mu      sync.Mutex
	id      jsonrpc.ID // the id of the current round at the server
	over    bool
	rounds  int
	state   []byte // the server's requestState, raw
	wanted  map[jsonrpc.ID]*inputRequest
	brought [][]byte // members of inputResponses
	pages   []string // elicitationIds that the client got
	timer   *time.Timer
	frames  bool
	http    transport.Answer
}

// inputRequest is one request for input that the client was sent.
type inputRequest struct {
	key    []byte // its raw key in inputRequests, with quotes
	method string
}

// beginExchange sends a client's request to the server. A request whose id is in use is refused.
func (l *legacy) beginExchange(ctx context.Context, m transport.Message, to transport.Receiver) {
	x := &exchange{l: l, to: to, m: m, id: m.Head.ID}
	params, err := rawjson.Remove(orEmpty(m.Head.Params.Of(m.Raw)), "task", "inputResponses", "requestState")
	if err == nil {
		x.params, err = l.withMeta(params)
	}
	if err != nil {
		transport.Reply(to, fail(jsonrpc.CodeParams, "params cannot be read: %v", err).response(m.Head.ID))
		return
	}
	x.ctx, x.stop = context.WithCancel(ctx)
	l.mu.Lock()
	_, twice := l.calls[m.Head.ID]
	if !twice {
		l.serial++
		x.serial = l.serial
		l.calls[m.Head.ID] = x
	}
	l.mu.Unlock()
	if twice {
		x.stop()
		transport.Reply(to, fail(jsonrpc.CodeInvalidRequest, "a request with this id is under way").response(m.Head.ID))
		return
	}
	context.AfterFunc(x.ctx, func() { x.finish(nil, context.Canceled) })
	x.send(x.params)
}

func orEmpty(params []byte) []byte {
	if len(params) == 0 {
		return []byte("{}")
	}
	return params
}

// send sends the client's request with other params, for one round. If that cannot be done, the client gets an error.
func (x *exchange) send(params []byte) {
	message, err := replaceParams(x.m.Raw, x.m.Head, params)
	x.mu.Lock()
	id := x.id
	x.frames, x.http = false, transport.Answer{}
	x.mu.Unlock()
	if err == nil && id != x.m.Head.ID {
		message, err = withID(message, id)
	}
	var head jsonrpc.Head
	if err == nil {
		head, err = jsonrpc.Scan(message)
	}
	if err != nil {
		x.refuse(fail(jsonrpc.CodeParams, "the request cannot be sent: %v", err))
		return
	}
	x.l.next.Send(x.ctx, transport.Message{Raw: message, Head: head, Principal: x.m.Principal}, transport.Funcs{
		OnOpen: func(a transport.Answer) {
			x.mu.Lock()
			x.http = a
			x.mu.Unlock()
		},
		OnReceive: func(f *transport.Frame) { x.receive(id, f) },
		OnDone:    func(err error) { x.roundDone(id, err) },
	})
}

// deliver passes a frame to the client, unless the exchange is over.
func (x *exchange) deliver(f *transport.Frame) {
	x.out.Lock()
	defer x.out.Unlock()
	x.mu.Lock()
	over := x.over
	x.mu.Unlock()
	if !over {
		x.to.Receive(f)
	}
}

// finish ends the exchange, unless it is over: the client gets the frame f, if not nil, and Done(err). Open requests for input are cancelled.
func (x *exchange) finish(f *transport.Frame, err error) {
	x.mu.Lock()
	if x.over {
		x.mu.Unlock()
		return
	}
	x.over = true
	pending := x.wanted
	x.wanted = nil
	stopTimer(x.timer)
	http, frames := x.http, x.frames
	x.mu.Unlock()
	l := x.l
	l.mu.Lock()
	delete(l.calls, x.m.Head.ID)
	for id := range pending {
		delete(l.asked, id)
	}
	l.mu.Unlock()
	x.out.Lock()
	for id := range pending {
		x.to.Receive(&transport.Frame{Head: jsonrpc.NewRequest("", "notifications/cancelled",
			fmt.Appendf(nil, `{"requestId":%s,"reason":"the request it belongs to is over"}`, id))})
	}
	if f == nil && err == nil && !frames && http.Status >= 400 {
		x.to.Open(http)
	}
	if f != nil {
		x.to.Receive(f)
	}
	x.to.Done(err)
	x.out.Unlock()
	x.stop()
}

func (x *exchange) refuse(f *failure) {
	x.finish(&transport.Frame{Head: f.response(x.m.Head.ID)}, nil)
}

// receive processes a frame of the round with this id; frames of earlier rounds are dropped.
func (x *exchange) receive(id jsonrpc.ID, f *transport.Frame) {
	x.mu.Lock()
	current := x.id == id && !x.over
	x.frames = true
	x.mu.Unlock()
	if !current {
		return
	}
	switch kindOf(f) {
	case jsonrpc.Notification:
		x.deliver(f)
	case jsonrpc.Request, jsonrpc.Invalid: // servers of this protocol version send no requests
	default:
		x.handleResponse(f)
	}
}

// handleResponse ends the exchange with a response, or asks the client for input if that is what the server wants.
func (x *exchange) handleResponse(f *transport.Frame) {
	if !needsInput(f) {
		x.finishWith(f)
		return
	}
	if err := f.ReadAll(maxControl); err != nil {
		x.refuse(fail(jsonrpc.CodeInternal, "the server asks for input in a message that is cut off or larger than %d bytes", maxControl))
		return
	}
	x.askForInput(rawjson.Get(f.Head, "result").Of(f.Head))
}

// needsInput reports whether a response is an input_required result. Of a large response, only the beginning is searched.
func needsInput(f *transport.Frame) bool {
	if !bytes.Contains(f.Head, []byte("input_required")) {
		return false
	}
	if f.Whole() {
		t, _ := rawjson.Text(f.Head, "result", "resultType")
		return t == "input_required"
	}
	var e envelope
	e.feed(make([]byte, 0, len(f.Head)), f.Head)
	if e.resultAt == 0 {
		return false
	}
	for m, err := range rawjson.Members(f.Head, e.resultAt) {
		if err != nil {
			break
		}
		if string(m.Key) == "resultType" {
			return string(m.Value.Of(f.Head)) == `"input_required"`
		}
	}
	return false
}

// finishWith passes the response on, edited for a legacy client, and ends the exchange.
func (x *exchange) finishWith(f *transport.Frame) {
	if f.Whole() {
		if t, ok := rawjson.Text(f.Head, "result", "resultType"); ok && t != "complete" {
			x.refuse(fail(jsonrpc.CodeInternal, "the server answered with a result of type %q, which was not asked for", clipped(t)))
			return
		}
	}
	x.mu.Lock()
	pages := x.pages
	x.pages = nil
	x.mu.Unlock()
	for _, page := range pages {
		x.deliver(&transport.Frame{Head: jsonrpc.NewRequest("", "notifications/elicitation/complete", fmt.Appendf(nil, `{"elicitationId":%q}`, page))})
	}
	if x.m.Head.Method == "resources/read" && f.Whole() && !rawjson.Get(f.Head, "error", "data", "uri").IsZero() {
		if code, _ := errorCode(f.Head); code == jsonrpc.CodeParams {
			at := rawjson.Get(f.Head, "error", "code")
			if out, err := rawjson.Splice(f.Head, []rawjson.Edit{{Span: at, With: strconv.AppendInt(nil, codeNotFound, 10)}}); err == nil {
				f = &transport.Frame{Event: f.Event, Head: out}
			}
		}
	}
	if x.currentID() != x.m.Head.ID {
		f = (&envelope{id: []byte(x.m.Head.ID)}).editFrame(f)
	}
	x.finish(f, nil)
}

// currentID returns the id of the present round at the server.
func (x *exchange) currentID() jsonrpc.ID {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.id
}

// roundDone ends the exchange if the round with this id ended without an answer, and no input is awaited. err is the reason or nil.
func (x *exchange) roundDone(id jsonrpc.ID, err error) {
	x.mu.Lock()
	waits := x.id != id || x.wanted != nil || x.timer != nil
	status := x.http.Status
	x.mu.Unlock()
	if waits {
		return // the client is being asked, or the next round is under way
	}
	if err == nil && status < 400 {
		err = fmt.Errorf("%s ended without an answer to %s", x.l.o.Server, x.m.Head.Method)
	}
	x.finish(nil, err)
}

func stopTimer(t *time.Timer) {
	if t != nil {
		t.Stop()
	}
}
