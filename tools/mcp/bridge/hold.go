package bridge

import (
	"context"
	"crypto/subtle"
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/tools/mcp/transport"
)

// add takes a request of the server for the client of this call. It is false when the call
// is over.
func (c *call) add(in *input) bool {
	c.mu.Lock()
	if c.over {
		c.mu.Unlock()
		return false
	}
	if c.w != nil {
		if missing := c.w.can.missing(in.method, in.params); missing != nil {
			c.missing = missing
			c.mu.Unlock()
			c.s.tell(jsonrpc.ErrorResponse(in.id, jsonrpc.CodeMethod, "the client did not declare the capability for "+in.method, nil))
			return true
		}
	}
	if len(c.inputs) >= maxInputs {
		c.mu.Unlock()
		c.s.refuse(in, fmt.Sprintf("%d requests for one call wait for the client, which is the limit", maxInputs))
		return true
	}
	c.serial++
	in.key = fmt.Sprintf("input-%d", c.serial)
	c.inputs = append(c.inputs, in)
	if c.w != nil && len(c.inputs) == 1 {
		// More may follow at once; the client is asked for all of them together.
		c.gather = time.AfterFunc(c.s.b.o.Gather, c.require)
	}
	c.mu.Unlock()
	return true
}

// withdraw forgets a request that the server took back.
func (c *call) withdraw(id jsonrpc.ID) {
	c.mu.Lock()
	c.inputs = slices.DeleteFunc(c.inputs, func(in *input) bool { return in.id == id })
	send := c.unsent && len(c.inputs) == 0 && c.w != nil
	if send {
		c.unsent = false
	}
	c.mu.Unlock()
	if send {
		c.send()
	}
}

// require asks the client for input, and holds the call until it comes back.
func (c *call) require() {
	b := c.s.b
	c.mu.Lock()
	w := c.w
	if c.over || w == nil || len(c.inputs) == 0 {
		c.mu.Unlock()
		return
	}
	c.rounds++
	if c.rounds > b.o.Rounds {
		c.mu.Unlock()
		c.abandon(fail(jsonrpc.CodeInternal, "the server asked for input %d times for one request, which is the limit", b.o.Rounds))
		return
	}
	state := token()
	if !b.holdCall(state, c) {
		c.mu.Unlock()
		b.o.event(journal.ToolRefused{Server: b.o.Server, Why: "busy"})
		c.abandon(fail(jsonrpc.CodeInternal, "%d calls wait for input of their clients, which is the limit: try again later", b.o.MaxHeld))
		return
	}
	c.state, c.w = state, nil
	stopTimer(c.timer)
	c.timer = time.AfterFunc(b.o.Hold, func() { c.expire(state) })
	result := []byte(`{"resultType":"input_required","inputRequests":{`)
	for i, in := range c.inputs {
		if i > 0 {
			result = append(result, ',')
		}
		result = fmt.Appendf(result, `%q:{"method":%q,"params":%s}`, in.key, in.method, in.params)
	}
	result = fmt.Appendf(result, `},"requestState":%q}`, state)
	c.mu.Unlock()
	if w.stopWatching != nil {
		w.stopWatching() // the end of this request is not the end of the call
	}
	w.finish(jsonrpc.ResultResponse(w.id, result))
}

// expire abandons a held call whose client did not come back.
func (c *call) expire(state string) {
	c.mu.Lock()
	mine := c.state == state && c.w == nil && !c.over
	c.mu.Unlock()
	if mine && c.s.b.takeHeld(state) == c {
		c.abandon(nil)
	}
}

// holdCall keeps a call under its requestState, if there is room.
func (b *modern) holdCall(state string, c *call) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.heldCalls) >= b.o.MaxHeld {
		return false
	}
	b.heldCalls[state] = c
	return true
}

// takeHeld returns and removes the call held under a requestState, which is valid once.
func (b *modern) takeHeld(state string) *call {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.heldCalls[state]
	delete(b.heldCalls, state)
	return c
}

// errState does not say what is wrong with the state, so that guessing teaches nothing.
var errState = fail(jsonrpc.CodeParams, "Invalid requestState: it is not known here for this request, was used before or has expired: send the request again without it")

// retry takes a request that brings what its call is held for.
func (b *modern) retry(ctx context.Context, m transport.Message, r request, to transport.Receiver) {
	c, err := b.claim(m, r)
	if err != nil {
		transport.Reply(to, errState.response(m.Head.ID))
		return
	}
	w := b.newWaiter(ctx, m, r, to)
	c.mu.Lock()
	stopTimer(c.timer)
	if c.over {
		c.mu.Unlock()
		w.fail(errState)
		return
	}
	c.w, c.state, c.level = w, "", r.level
	answered, left := c.take(r.inputs)
	c.mu.Unlock()
	c.bind(w)
	for _, a := range answered {
		c.s.tell(a)
	}
	c.mu.Lock()
	early, gone, unsent := c.early, c.gone, c.unsent && left == 0
	if unsent {
		c.unsent = false
	}
	if early != nil || gone != nil {
		c.over, c.w = true, nil
	}
	c.mu.Unlock()
	switch {
	case early != nil:
		c.leave()
		w.receive(c.translated(&transport.Frame{Head: early}, w.id))
		w.done(nil)
	case gone != nil:
		c.leave()
		w.fail(gone)
	case left > 0:
		c.require() // some of it is still missing
	case unsent:
		c.send()
	}
}

// claim finds the call of a requestState and makes sure that it is this client's and this request's.
func (b *modern) claim(m transport.Message, r request) (*call, error) {
	if len(r.state) < 2 || r.state[0] != '"' {
		return nil, errState
	}
	state := string(rawjson.Unquote(nil, r.state))
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.heldCalls[state]
	if c == nil || subtle.ConstantTimeCompare([]byte(c.s.principal), []byte(m.Principal)) != 1 || c.method != m.Head.Method {
		return nil, errState
	}
	sum, err := digest(m.Head.Method, r)
	if err != nil || sum != c.digest {
		return nil, errState
	}
	delete(b.heldCalls, state)
	return c, nil
}

// take makes the responses for the server of what the client brought, and says how many
// inputs are still missing; the caller holds mu.
func (c *call) take(inputs []byte) (responses [][]byte, left int) {
	brought := make(map[string][]byte)
	if isObject(inputs) {
		for n, err := range rawjson.Members(inputs, 0) {
			if err != nil {
				break
			}
			brought[string(n.Key)] = n.Value.Of(inputs)
		}
	}
	var missing []*input
	for _, in := range c.inputs {
		result, ok := brought[in.key]
		switch {
		case !ok || !isObject(result):
			missing = append(missing, in)
		case in.id == "": // nobody waits for it: see invited
			if action, _ := rawjson.Text(result, "action"); action != "accept" {
				c.gone = fail(jsonrpc.CodeInternal, "the server needs a page to be visited first, and that was answered with %q", short(action))
			}
		default:
			responses = append(responses, jsonrpc.ResultResponse(in.id, result))
		}
	}
	c.inputs = missing
	return responses, len(missing)
}

// invited takes the error by which a server of 2025-11-25 says that pages must be visited
// before the request is sent again. The client is asked to, and the call is sent again when
// it comes back.
func (c *call) invited(f *transport.Frame) bool {
	if !c.holds || !f.Whole() {
		return false
	}
	code, ok := errorCode(f.Head)
	if !ok || code != codeURLInvited {
		return false
	}
	var inputs []*input
	list := rawjson.Get(f.Head, "error", "data", "elicitations")
	if list.IsZero() || f.Head[list.Start] != '[' {
		return false
	}
	for v, err := range rawjson.Elements(f.Head, list.Start) {
		if err != nil || len(inputs) == maxInputs || !isObject(v.Of(f.Head)) {
			return false
		}
		inputs = append(inputs, newInput("", "elicitation/create", v.Of(f.Head)))
	}
	c.mu.Lock()
	w := c.w
	if len(inputs) == 0 || w == nil || c.over {
		c.mu.Unlock()
		return false
	}
	if !w.can.url {
		c.missing = []byte(`{"elicitation":{"url":{}}}`)
		c.mu.Unlock()
		return false
	}
	for _, in := range inputs {
		c.serial++
		in.key = fmt.Sprintf("input-%d", c.serial)
	}
	c.inputs, c.unsent = append(c.inputs, inputs...), true
	c.mu.Unlock()
	return true
}
