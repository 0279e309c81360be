package bridge

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/testing/toolserver"
	"github.com/plimsoll/plimsoll/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/tools/mcp/transport"
)

const invalidState = "Invalid requestState"

func testRequestState(t *testing.T) {
	c, s, _ := downWith(t, Options{MaxHeld: 2}, toolserver.Options{})
	call := `"name":"ask","arguments":{"message":"m","rounds":1}`
	first := c.call("tools/call", call)
	again := inputs(t, first, accept)
	state, _ := rawjson.Text([]byte(first), "result", "requestState")
	if len(state) < 40 {
		t.Errorf("a requestState of %d letters can be guessed", len(state))
	}
	for _, wrong := range []string{
		strings.Replace(again, state, state[:len(state)-1]+"_", 1),
		strings.Replace(again, state, "", 1),
		strings.Replace(again, `"`+state+`"`, "7", 1),
	} {
		has(t, c.call("tools/call", call+","+wrong), invalidState, `"code":-32602`)
	}
	has(t, c.call("tools/call", strings.Replace(call, `"m"`, `"other"`, 1)+","+again), invalidState)
	has(t, c.call("tools/call", strings.Replace(call, "ask", "sample", 1)+","+again), invalidState)
	has(t, c.call("prompts/get", `"name":"ask",`+again), invalidState)
	c.principal = "mallory"
	has(t, c.call("tools/call", call+","+again), invalidState)
	c.principal = "alice"
	// The order of arguments is the client's to choose.
	has(t, c.call("tools/call", `"arguments":{"rounds":1,"message":"m"},"name":"ask",`+again), "answers:")
	has(t, c.call("tools/call", call+","+again), invalidState) // used before
	// No more calls are held than may be.
	c.call("tools/call", call)
	c.call("tools/call", call)
	has(t, c.call("tools/call", call), "which is the limit")
	if n := s.Stats().Calls; n != 4 {
		t.Errorf("%d calls reached the server", n)
	}
	eventually(t, func() bool { return s.Stats().Open == 2 })
}

// TestHeldCallsEnd: a client that does not come back leaves nothing open.
func TestHeldCallsEnd(t *testing.T) {
	c, s, p := downWith(t, Options{Hold: 30 * time.Millisecond}, toolserver.Options{})
	r := c.tool("ask", `{}`)
	has(t, r, "input_required")
	eventually(t, func() bool { return s.Stats().Open == 0 })
	has(t, p.transcript(), "the client gave no answer")
	has(t, c.call("tools/call", `"name":"ask","arguments":{},`+inputs(t, r, accept)), invalidState)
	b := c.p.(*modern)
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.heldCalls) != 0 {
		t.Errorf("%d calls are still held", len(b.heldCalls))
	}
}

// TestRoundsAreCounted: a server that asks for ever is stopped.
func TestRoundsAreCounted(t *testing.T) {
	c, s, _ := downWith(t, Options{Rounds: 3}, toolserver.Options{})
	r, rounds := interact(t, c, `"name":"ask","arguments":{"rounds":1000}`, accept)
	has(t, r, "3 times", "limit")
	if rounds != 3 {
		t.Errorf("%d rounds", rounds)
	}
	eventually(t, func() bool { return s.Stats().Open == 0 })
	l, _, _ := upWith(t, Options{Rounds: 3}, toolserver.Options{})
	l.asks = func(string, []byte) string { return accept("", "") }
	has(t, l.tool("ask", `{"rounds":1000}`), "3 times", "limit")
}

// testMissing: a server that asks for what the client did not declare and fails because of
// it is a server that requires it.
func testMissing(t *testing.T) {
	p := overPipe(t, toolserver.New(toolserver.Options{Versions: toolserver.LegacyOnly}))
	b := Modern(p, Options{})
	t.Cleanup(func() { _ = b.Close() })
	c := modernCaller(t, b)
	c.call("server/discover", "") // greeted with every ability
	c.meta = strings.Replace(c.meta, allAbilities, `{"sampling":{}}`, 1)
	has(t, c.tool("ask", `{}`), `"code":-32021`, `"requiredCapabilities":{"elicitation":{"form":{}}}`)
	has(t, c.tool("roots", `{}`), `"code":-32021`, `"requiredCapabilities":{"roots":{}}`)
}

// TestParkedRequests: what a server asks before any call goes to the client with the first.
func TestParkedRequests(t *testing.T) {
	c, _, p := down(t)
	c.call("server/discover", "")
	b := c.p.(*modern)
	for _, s := range b.sessions {
		s.unsolicited(&transport.Frame{Head: []byte(`{"jsonrpc":"2.0","id":"early","method":"roots/list"}`)})
	}
	r, rounds := interact(t, c, `"name":"echo","arguments":{"text":"after"}`, func(method, _ string) string {
		has(t, method, "roots/list")
		lacks(t, p.transcript(), "tools/call")
		return `{"roots":[]}`
	})
	has(t, r, "after")
	has(t, p.transcript(), `"id":"early","result":{"roots":[]}`)
	if rounds != 1 {
		t.Errorf("%d rounds", rounds)
	}
}

// TestInvitedToAPage: -32042 of 2025-11-25 becomes input_required, and the call is sent
// again when the client comes back.
func TestInvitedToAPage(t *testing.T) {
	server := &script{answers: []string{
		`"error":{"code":-32042,"message":"visit","data":{"elicitations":[{"mode":"url","elicitationId":"e1","url":"https://x.example/","message":"go"}]}}`,
		`"result":{"content":[]}`,
	}}
	b := Modern(server, Options{})
	t.Cleanup(func() { _ = b.Close() })
	c := modernCaller(t, b)
	r, rounds := interact(t, c, `"name":"pay","arguments":{}`, func(method, params string) string {
		has(t, method+params, "elicitation/create", `"url":"https://x.example/"`)
		lacks(t, params, "elicitationId")
		return `{"action":"accept"}`
	})
	has(t, r, `"content":[]`)
	if rounds != 1 || server.calls != 2 {
		t.Errorf("%d rounds, %d calls", rounds, server.calls)
	}
	server.answers = server.answers[:1]
	r, _ = interact(t, c, `"name":"pay","arguments":{}`, func(string, string) string { return `{"action":"decline"}` })
	has(t, r, `"error"`, "decline")
	if server.calls != 3 {
		t.Errorf("a call was sent again that was declined")
	}
	c.meta = strings.Replace(c.meta, allAbilities, `{}`, 1)
	has(t, c.tool("pay", `{}`), `"code":-32021`, `{"elicitation":{"url":{}}}`)
}

// prompt is a server that answers before Send returns, and says when it is closed.
type prompt struct{ closed chan bool }

func (p prompt) Send(_ context.Context, m transport.Message, to transport.Receiver) {
	switch {
	case m.Head.Kind != jsonrpc.Request:
		to.Done(nil)
	case m.Head.Method == "initialize":
		transport.Reply(to, jsonrpc.ResultResponse(m.Head.ID, []byte(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`)))
	default:
		transport.Reply(to, jsonrpc.ResultResponse(m.Head.ID, []byte(`{"content":[]}`)))
	}
}

func (p prompt) Listen(ctx context.Context, _ http.Header, to transport.Receiver) {
	context.AfterFunc(ctx, func() { to.Done(nil) })
}

func (p prompt) Close() error {
	p.closed <- true
	return nil
}

// TestAnsweredClientMakesRoom: with its answer a client leaves the session idle, be the answer as fast as it may.
func TestAnsweredClientMakesRoom(t *testing.T) {
	server := prompt{make(chan bool, 2)}
	b := Modern(nil, Options{MaxSessions: 1, Open: func(context.Context, transport.Message) (transport.Peer, error) { return server, nil }})
	t.Cleanup(func() { _ = b.Close() })
	c := modernCaller(t, b)
	bobs := make(chan started, 1)
	raw := c.request("1", "tools/call", `"name":"echo","arguments":{}`)
	c.send(t.Context(), raw, transport.Funcs{OnDone: func(error) { // the session is still taking alice's requests from its queue
		c.principal = "bob"
		bobs <- c.start("2", "tools/call", `"name":"echo","arguments":{}`)
	}})
	has(t, (<-bobs).wait(t), `"content":[]`)
	<-server.closed
}
