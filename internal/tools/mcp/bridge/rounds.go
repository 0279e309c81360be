package bridge

import (
	"bytes"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// askForInput asks the client for the input that an input_required result names, and sends the request again when all of it has come. If the
// result names none, the request is sent again after a pause. Too many rounds, or input that the client did not declare, end the exchange with
// an error.
func (x *exchange) askForInput(result []byte) {
	l := x.l
	l.mu.Lock()
	can := l.can
	l.mu.Unlock()
	x.mu.Lock()
	x.rounds++
	rounds := x.rounds
	x.state = bytes.Clone(rawjson.Get(result, "requestState").Of(result))
	x.brought = nil
	x.mu.Unlock()
	if rounds > l.o.Rounds {
		x.refuse(fail(jsonrpc.CodeInternal, "the server asked for input %d times for one request, which is the limit", l.o.Rounds))
		return
	}
	asked := make(map[jsonrpc.ID]*inputRequest)
	var requests [][]byte
	if v := rawjson.Get(result, "inputRequests"); !v.IsZero() && result[v.Start] == '{' {
		for m, err := range rawjson.Members(result, v.Start) {
			if err != nil || len(asked) == maxInputs {
				x.refuse(fail(jsonrpc.CodeInternal, "the server asks for more than %d inputs at once, or in a form that cannot be read", maxInputs))
				return
			}
			value := m.Value.Of(result)
			method, _ := rawjson.Text(value, "method")
			params := rawjson.Get(value, "params").Of(value)
			if !isClientRequest(method) {
				x.refuse(fail(jsonrpc.CodeInternal, "the server asks for %q, which no client is asked for", clipped(method)))
				return
			}
			if can.lacks(method, params) {
				x.refuse(fail(jsonrpc.CodeInternal, "the server asks for %s, which this client did not declare", method))
				return
			}
			id := l.newID()
			requests = append(requests, jsonrpc.NewRequest(id, method, x.clientParams(method, params)))
			asked[id] = &inputRequest{key: bytes.Clone(m.Name.Of(result)), method: method}
		}
	}
	x.mu.Lock()
	if x.over {
		x.mu.Unlock()
		return
	}
	if len(asked) == 0 { // the server only wants the request again later
		x.timer = time.AfterFunc(min(50*time.Millisecond<<min(rounds, 6), 2*time.Second), x.sendAgain)
		x.mu.Unlock()
		return
	}
	x.wanted = asked
	x.timer = time.AfterFunc(l.o.Hold, func() {
		x.refuse(fail(jsonrpc.CodeInternal, "the input that the server needs did not come within %v", l.o.Hold))
	})
	x.mu.Unlock()
	l.mu.Lock()
	for id := range asked {
		l.asked[id] = x
	}
	l.mu.Unlock()
	for _, r := range requests {
		x.deliver(&transport.Frame{Head: r})
	}
}

// clientParams returns the params of a server's request as the client gets them: a request to visit a page gets the elicitationId that 2025-11-25
// requires, which is recorded.
func (x *exchange) clientParams(method string, params []byte) []byte {
	if !isObject(params) {
		return nil
	}
	if mode, _ := rawjson.Text(params, "mode"); method != "elicitation/create" || mode != "url" {
		return bytes.Clone(params)
	}
	id := newToken()
	out, err := rawjson.Set(params, "elicitationId", rawjson.Quote(nil, id))
	if err != nil {
		return bytes.Clone(params)
	}
	x.mu.Lock()
	x.pages = append(x.pages, id)
	x.mu.Unlock()
	return out
}

// takeAnswer takes a client's response to a request for input. After the last one of a round, the original request is sent again.
func (l *legacy) takeAnswer(m transport.Message) {
	l.mu.Lock()
	x := l.asked[m.Head.ID]
	delete(l.asked, m.Head.ID)
	l.mu.Unlock()
	if x == nil {
		return
	}
	result := m.Head.Result.Of(m.Raw)
	x.mu.Lock()
	w := x.wanted[m.Head.ID]
	if w == nil {
		x.mu.Unlock()
		return
	}
	if !m.Head.Error.IsZero() && w.method == "elicitation/create" {
		result = []byte(`{"action":"cancel"}`) // the client could not ask its user
	}
	if !isObject(result) {
		x.mu.Unlock()
		text, _ := rawjson.Text(m.Raw, "error", "message")
		go x.refuse(fail(jsonrpc.CodeInternal, "the server needs %s for this request, and the client answered with an error: %s", w.method, clipped(text)))
		return
	}
	x.brought = append(x.brought, append(append(bytes.Clone(w.key), ':'), result...))
	delete(x.wanted, m.Head.ID)
	ready := len(x.wanted) == 0
	if ready {
		stopTimer(x.timer)
	}
	x.mu.Unlock()
	if ready {
		go x.sendAgain() // not here: the client may be answering from within its Receive
	}
}

// sendAgain sends the request again, with the input from the client.
func (x *exchange) sendAgain() {
	id := x.l.newID()
	x.mu.Lock()
	if x.over {
		x.mu.Unlock()
		return
	}
	x.id, x.wanted, x.timer = id, nil, nil
	brought, state := x.brought, x.state
	x.mu.Unlock()
	params := x.params
	var err error
	if len(brought) > 0 {
		params, err = rawjson.Set(params, "inputResponses", append(append([]byte{'{'}, bytes.Join(brought, []byte{','})...), '}'))
	}
	if err == nil && len(state) > 0 {
		params, err = rawjson.Set(params, "requestState", state)
	}
	if err != nil {
		x.refuse(fail(jsonrpc.CodeInternal, "the request cannot be sent again: %s", strings.TrimSpace(err.Error())))
		return
	}
	x.send(params)
}
