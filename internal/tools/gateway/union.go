package gateway

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// union presents several servers as one, to one client or to all sessionless clients of a principal.
type union struct {
	m      *Merge
	modern bool
	parts  []*part
	listeners
	ctx context.Context
	end context.CancelFunc

	mu       sync.Mutex
	open     map[jsonrpc.ID]*part // the server that each open request was sent to, for cancellations
	greeting []byte               // the client's initialize, sent again to servers that come back
	ready    []byte               // the client's notifications/initialized, likewise
	retrying bool
}

// Close ends the attempts to reach lost servers, all streams, and the sessions with all servers.
func (u *union) Close() error {
	u.end()
	u.shut()
	var all error
	for _, c := range u.parts {
		all = errors.Join(all, c.session.Close())
	}
	return all
}

// Send implements [transport.Peer]: it passes a message to the server that it is for, by the prefix or address in it, or answers itself
// with what all servers have. Methods that it does not know are refused.
func (u *union) Send(ctx context.Context, m transport.Message, to transport.Receiver) {
	switch m.Head.Kind {
	case jsonrpc.Response:
		u.forwardResponse(ctx, m, to)
		return
	case jsonrpc.Notification:
		u.notify(ctx, m, to)
		return
	}
	switch m.Head.Method {
	case "initialize", "server/discover":
		go u.initializeAll(ctx, m, to)
	case "tools/list":
		go u.handleList(ctx, m, to, "tools", true)
	case "prompts/list":
		go u.handleList(ctx, m, to, "prompts", true)
	case "resources/list":
		go u.handleList(ctx, m, to, "resources", false)
	case "resources/templates/list":
		go u.handleList(ctx, m, to, "resourceTemplates", false)
	case "tools/call", "prompts/get":
		u.sendByPrefix(ctx, withoutTasks(m), to, "name")
	case "completion/complete":
		u.forwardCompletion(ctx, m, to)
	case "resources/read", "resources/subscribe", "resources/unsubscribe":
		u.sendByResource(ctx, m, to, "uri")
	case "logging/setLevel":
		go u.broadcast(ctx, m, to)
	case "ping":
		transport.Reply(to, jsonrpc.ResultResponse(m.Head.ID, []byte("{}")))
	case "subscriptions/listen":
		go u.subscribe(ctx, m, to)
	default:
		u.refuse(m, to, jsonrpc.CodeMethod, fmt.Sprintf("%s is not served by an endpoint of several servers; connect to the one server", quoteName(m.Head.Method)))
	}
}

func (u *union) refuse(m transport.Message, to transport.Receiver, code int, text string) {
	transport.Reply(to, jsonrpc.ErrorResponse(m.Head.ID, code, text, nil))
}

// sendByPrefix sends a request to the server whose prefix is in the name in its params, and replaces the name by that server's own. path leads to
// the name.
func (u *union) sendByPrefix(ctx context.Context, m transport.Message, to transport.Receiver, path ...string) {
	keys := append([]string{"params"}, path...)
	name, _ := rawjson.Text(m.Raw, keys...)
	if len(name) == MaxName { // perhaps shortened; the server's list tells
		go func() {
			c, own := u.route(name, func(c *part) *toolList { return c.session.knownTools(ctx, m, parseParams(m)) })
			u.sendNamed(ctx, m, to, c, name, own, keys)
		}()
		return
	}
	c, own := u.route(name, nil)
	u.sendNamed(ctx, m, to, c, name, own, keys)
}

// sendNamed sends a request to c with the name replaced by own; if c is nil it refuses the request. keys lead to the name.
func (u *union) sendNamed(ctx context.Context, m transport.Message, to transport.Receiver, c *part, name, own string, keys []string) {
	if c == nil {
		u.refuse(m, to, jsonrpc.CodeParams, fmt.Sprintf("Unknown name: %s. Names here are SERVER%sNAME; the lists show them.", quoteName(name), Separator))
		return
	}
	out, err := replaceSpan(m, rawjson.Get(m.Raw, keys...), rawjson.Quote(nil, own))
	if err != nil {
		u.refuse(m, to, jsonrpc.CodeParams, err.Error())
		return
	}
	u.forwardTo(ctx, out, to, c)
}

// withoutTasks returns a request without the client's declaration that it supports tasks: a merged endpoint cannot tell whose a task is.
func withoutTasks(m transport.Message) transport.Message {
	at := rawjson.Get(m.Raw, "params", "_meta", metaCapabilities, "extensions")
	if at.IsZero() || rawjson.Get(at.Of(m.Raw), tasksExtension).IsZero() {
		return m
	}
	extensions, err := rawjson.Remove(at.Of(m.Raw), tasksExtension)
	if err != nil {
		return m
	}
	if out, err := replaceSpan(m, at, extensions); err == nil {
		return out
	}
	return m
}

// forwardCompletion sends a completion request to the server of the resource or prompt that it refers to.
func (u *union) forwardCompletion(ctx context.Context, m transport.Message, to transport.Receiver) {
	if kind, _ := rawjson.Text(m.Raw, "params", "ref", "type"); kind == "ref/resource" {
		u.sendByResource(ctx, m, to, "ref", "uri")
		return
	}
	u.sendByPrefix(ctx, m, to, "ref", "name")
}

// replaceSpan returns a message with other bytes at a span, parsed again.
func replaceSpan(m transport.Message, at rawjson.Span, with []byte) (transport.Message, error) {
	raw, err := rawjson.Splice(m.Raw, []rawjson.Edit{{Span: at, With: with}})
	if err != nil {
		return m, err
	}
	m.Raw = raw
	m.Head, err = jsonrpc.Scan(raw)
	return m, err
}

// forwardTo sends a request to one server, and remembers that server for a cancellation until the request is done.
func (u *union) forwardTo(ctx context.Context, m transport.Message, to transport.Receiver, c *part) {
	u.mu.Lock()
	u.open[m.Head.ID] = c
	u.mu.Unlock()
	c.session.Send(ctx, m, &requestMarker{u: u, c: c, Receiver: to, id: m.Head.ID, ctx: ctx})
}

// broadcast sends a request to every server and answers with an empty result when all have answered or failed.
func (u *union) broadcast(ctx context.Context, m transport.Message, to transport.Receiver) {
	u.forEach(func(c *part) { _, _ = transport.Ask(ctx, c.session, m, maxInitialize) })
	transport.Reply(to, jsonrpc.ResultResponse(m.Head.ID, []byte("{}")))
}

// forEach calls work for all servers at once and waits for all calls. A panic ends only that call.
func (u *union) forEach(work func(*part)) {
	var wg sync.WaitGroup
	for _, c := range u.parts {
		wg.Go(func() {
			defer func() { _ = recover() }() // it costs this server's part
			work(c)
		})
	}
	wg.Wait()
}

// notify passes a cancellation to the server that has the request, and any other notification to all servers that are not marked as lost.
func (u *union) notify(ctx context.Context, m transport.Message, to transport.Receiver) {
	var only *part
	switch m.Head.Method {
	case "notifications/cancelled":
		id := jsonrpc.ID(rawjson.Get(m.Raw, "params", "requestId").Of(m.Raw))
		u.mu.Lock()
		only = u.open[id]
		u.mu.Unlock()
		if only == nil {
			to.Done(nil)
			return
		}
	case "notifications/initialized":
		u.mu.Lock()
		u.ready = m.Raw
		u.mu.Unlock()
	}
	for _, c := range u.parts {
		if c == only || only == nil && u.isReachable(c) {
			c.session.Send(ctx, m, transport.Funcs{})
		}
	}
	to.Done(nil)
}

// mark begins the ids under which servers' requests go to the client. Requests of several servers may have the same id: each id is marked
// with the server's index, and the client's response goes to the server that the mark names.
const mark = "plimsoll:"

// markedID returns the id, in JSON, under which the request id of a server goes to the client.
func markedID(c *part, id jsonrpc.ID) []byte {
	return rawjson.Quote(nil, mark+strconv.Itoa(c.index)+":"+string(id))
}

// forwardResponse passes a client's response to the server whose request it answers, with the id that this server used. A response to an
// unknown id is dropped.
func (u *union) forwardResponse(ctx context.Context, m transport.Message, to transport.Receiver) {
	text := string(rawjson.Unquote(nil, []byte(m.Head.ID)))
	serverIndex, id, ok := strings.Cut(strings.TrimPrefix(text, mark), ":")
	n, err := strconv.Atoi(serverIndex)
	if !ok || err != nil || n < 0 || n >= len(u.parts) || !strings.HasPrefix(text, mark) {
		to.Done(nil) // a response to nothing that a server has asked
		return
	}
	out, err := replaceSpan(m, m.Head.IDAt, []byte(id))
	// The client could have written anything behind the mark: it must be an id and nothing more.
	if err != nil || out.Head.Kind != jsonrpc.Response || out.Head.ID != jsonrpc.ID(id) {
		to.Done(err)
		return
	}
	u.parts[n].session.Send(ctx, out, to)
}

// requestMarker is the receiver of messages from one server: it marks the ids of the server's requests, and a failing server as lost.
type requestMarker struct {
	u *union
	c *part
	transport.Receiver
	id  jsonrpc.ID // of the client's request; "" when listening
	ctx context.Context
}

// Receive marks the id of a request with its server, so that the client's response finds the way back.
func (r *requestMarker) Receive(f *transport.Frame) {
	if h := f.Start().Head; h.Kind == jsonrpc.Request {
		if head, err := rawjson.Splice(f.Head, []rawjson.Edit{{Span: h.IDAt, With: markedID(r.c, h.ID)}}); err == nil {
			f = &transport.Frame{Head: head, Rest: f.Rest, Event: f.Event}
		}
	}
	r.Receiver.Receive(f)
}

// Done forgets the request. If it failed, and not because the client gave up, the server is marked as lost.
func (r *requestMarker) Done(err error) {
	if r.id != "" {
		r.u.mu.Lock()
		delete(r.u.open, r.id)
		r.u.mu.Unlock()
		if err != nil && r.ctx.Err() == nil {
			r.u.markLost(r.c)
		}
	}
	r.Receiver.Done(err)
}
