package bridge

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/tools/mcp/transport"
)

// input is one request of the server that waits for the client.
type input struct {
	id     jsonrpc.ID // the server's; "" when there is nobody to answer
	key    string     // in inputRequests; given by the call
	method string
	params []byte
}

func newInput(id jsonrpc.ID, method string, params []byte) *input {
	params = bytes.Clone(params)
	if !isObject(params) {
		params = []byte("{}") // some clients cannot read a request without
	}
	if method == "elicitation/create" {
		// 2026-07-28 has no such member; the retry tells what it told.
		if out, err := rawjson.Remove(params, "elicitationId"); err == nil {
			params = out
		}
	}
	return &input{id: id, method: method, params: params}
}

// call is one request under way at the server. Its client waits for it, or was asked for
// input and will come back: then nobody waits and the call is held.
type call struct {
	s       *session
	id      jsonrpc.ID // ours
	method  string
	message []byte // what is sent
	level   string // the least log level that its client wants; "" for none
	holds   bool   // its method may be answered with input_required
	digest  [sha256.Size]byte
	ctx     context.Context
	cancel  context.CancelFunc

	mu      sync.Mutex
	w       *waiter // nil while held
	last    *waiter // who got the response
	inputs  []*input
	serial  int
	rounds  int
	gather  *time.Timer
	timer   *time.Timer // ends the hold
	state   string      // the requestState it is held under
	unsent  bool        // it waits for input before it is sent, or sent again
	sent    bool
	missing []byte // capabilities that the server asked for in vain
	early   []byte // a response that came while held
	gone    error  // why there will be none, found while held
	ended   bool   // the server has nothing more to say
	over    bool   // the response was handed on
	http    transport.Answer
}

// begin sends a request to the server.
func (s *session) begin(w *waiter, m transport.Message, r request) {
	c := &call{s: s, id: s.newID(), method: m.Head.Method, w: w, level: r.level}
	c.holds = c.method == "tools/call" || c.method == "prompts/get" || c.method == "resources/read"
	var err error
	if c.message, err = c.translate(m, r); err == nil && c.holds {
		c.digest, err = digest(c.method, r)
	}
	if err != nil {
		w.fail(fail(jsonrpc.CodeParams, "params cannot be read: %v", err))
		return
	}
	c.ctx, c.cancel = context.WithCancel(s.ctx)
	c.bind(w)
	s.mu.Lock()
	s.calls = append(s.calls, c)
	s.used = time.Now()
	var parked []*input
	if c.holds {
		parked, s.parked = s.parked, nil
	}
	s.mu.Unlock()
	c.mu.Lock()
	c.unsent = len(parked) > 0
	c.mu.Unlock()
	for _, in := range parked {
		if !c.add(in) {
			s.queueInput(in)
		}
	}
	c.mu.Lock()
	if c.unsent && len(c.inputs) == 0 { // none of them is for this client
		c.unsent = false
	}
	wait := c.unsent
	c.mu.Unlock()
	if !wait {
		c.send()
	}
}

// translate makes the message for the server: our id and progress token, and without what
// only the sessionless version knows.
func (c *call) translate(m transport.Message, r request) ([]byte, error) {
	params := m.Head.Params.Of(m.Raw)
	out, err := dropMeta(params, metaVersion, metaClient, metaCapabilities, metaLevel)
	if err != nil {
		return nil, err
	}
	if out, err = rawjson.Remove(out, "inputResponses", "requestState"); err != nil {
		return nil, err
	}
	if r.progress != nil {
		if out, err = setMeta(out, pair{"progressToken", []byte(c.id)}); err != nil {
			return nil, err
		}
	}
	message, err := replaceParams(m.Raw, m.Head, out)
	if err != nil {
		return nil, err
	}
	return withID(message, c.id)
}

// bind makes the end of the client's request the end of the call, as long as it waits.
func (c *call) bind(w *waiter) {
	w.stopWatching = context.AfterFunc(w.ctx, func() {
		c.mu.Lock()
		mine := c.w == w && !c.over
		if mine {
			c.over, c.w = true, nil
		}
		c.mu.Unlock()
		if mine {
			c.leave()
			w.done(context.Canceled)
		}
	})
}

// leave takes the call off the session and off the server.
func (c *call) leave() {
	c.mu.Lock()
	inputs := c.inputs
	c.inputs = nil
	stopTimer(c.gather)
	stopTimer(c.timer)
	c.mu.Unlock()
	c.cancel() // first: the server need not take the missing input for an answer
	for _, in := range inputs {
		if in.id != "" {
			c.s.refuse(in, "the client gave no answer")
		}
	}
	c.s.mu.Lock()
	c.s.calls = slices.DeleteFunc(c.s.calls, func(o *call) bool { return o == c })
	c.s.used = time.Now()
	c.s.mu.Unlock()
}

func stopTimer(t *time.Timer) {
	if t != nil {
		t.Stop()
	}
}

// abandon ends the call because the session does.
func (c *call) abandon(why error) {
	c.mu.Lock()
	w := c.w
	c.w = nil
	already := c.over
	c.over = true
	state := c.state
	c.mu.Unlock()
	c.s.b.takeHeld(state)
	c.leave()
	if w != nil && !already {
		w.fail(why)
	}
}

// send puts the request on its way.
func (c *call) send() {
	s := c.s
	if level := levelOf(c.level); level >= 0 && s.offers.logging {
		s.mu.Lock()
		tell := s.level < 0 || level < s.level
		if tell {
			s.level = level
		}
		s.mu.Unlock()
		if tell { // answers are only to be had, not to be waited for: order holds
			raw := jsonrpc.NewRequest(s.newID(), "logging/setLevel", fmt.Appendf(nil, `{"level":%q}`, c.level))
			head, _ := jsonrpc.Scan(raw)
			s.next.Send(s.ctx, transport.Message{Raw: raw, Head: head, Principal: s.principal}, transport.Funcs{})
		}
	}
	if err := c.renew(); err != nil {
		c.abandon(fail(jsonrpc.CodeInternal, "the request cannot be sent again: %v", err))
		return
	}
	head, err := jsonrpc.Scan(c.message)
	if err != nil {
		c.abandon(fail(jsonrpc.CodeInternal, "the request cannot be sent: %v", err))
		return
	}
	c.mu.Lock()
	c.ended, c.http = false, transport.Answer{}
	c.mu.Unlock()
	s.next.Send(c.ctx, transport.Message{Raw: c.message, Head: head, Principal: s.principal}, transport.Funcs{
		OnOpen: func(a transport.Answer) {
			c.mu.Lock()
			c.http = a
			c.mu.Unlock()
		},
		OnReceive: c.receive,
		OnDone:    c.done,
	})
}

// renew gives a request that is sent again an id that was never used.
func (c *call) renew() error {
	c.mu.Lock()
	again := c.sent
	c.sent = true
	c.mu.Unlock()
	if !again {
		return nil
	}
	id := c.s.newID()
	message, err := withID(c.message, id)
	if err != nil {
		return err
	}
	if at := rawjson.Get(message, "params", "_meta", "progressToken"); !at.IsZero() {
		if message, err = rawjson.Splice(message, []rawjson.Edit{{Span: at, With: []byte(id)}}); err != nil {
			return err
		}
	}
	c.mu.Lock()
	c.id, c.message = id, message
	c.mu.Unlock()
	return nil
}

// answersTo says whether an id is the one that the server knows the call by.
func (c *call) answersTo(id jsonrpc.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.id == id
}

// current is who waits for the call now.
func (c *call) current() *waiter {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.w
}

// receive takes a frame that came with the call.
func (c *call) receive(f *transport.Frame) {
	switch kindOf(f) {
	case jsonrpc.Request, jsonrpc.Notification:
		c.s.receive(f, c)
		return
	case jsonrpc.Invalid:
		return
	}
	if c.invited(f) {
		return
	}
	c.mu.Lock()
	if c.over {
		c.mu.Unlock()
		return
	}
	w := c.w
	if w == nil {
		c.keep(f)
		c.mu.Unlock()
		return
	}
	c.over, c.last, c.w = true, w, nil
	stopTimer(c.gather)
	c.mu.Unlock()
	w.receive(c.translated(f, w.id))
}

// keep holds a response that came while nobody waits; the caller holds mu.
func (c *call) keep(f *transport.Frame) {
	if err := f.ReadAll(maxEarly); err != nil {
		c.gone = fail(jsonrpc.CodeInternal, "the result came before the client's input did and is larger than %d bytes, or broke off: call again", maxEarly)
		return
	}
	c.early = bytes.Clone(f.Head)
}

// done says that the server has nothing more to say about the call.
func (c *call) done(err error) {
	c.mu.Lock()
	c.ended = true
	if c.last != nil {
		w := c.last
		c.mu.Unlock()
		c.leave()
		w.done(err)
		return
	}
	if c.unsent && len(c.inputs) > 0 { // see invited
		c.mu.Unlock()
		c.require()
		return
	}
	if err == nil && c.http.Status >= 400 {
		err = &refusedByServer{c.http}
	}
	if err == nil {
		err = errors.New("the server ended without an answer")
	}
	w := c.w
	switch {
	case c.over:
		c.mu.Unlock()
		return
	case w == nil: // held: whoever comes back is told
		if c.gone == nil && c.early == nil && c.state != "" {
			c.gone = err
		}
		c.mu.Unlock()
		return
	}
	c.over, c.w = true, nil
	c.mu.Unlock()
	c.leave()
	w.fail(err)
}
