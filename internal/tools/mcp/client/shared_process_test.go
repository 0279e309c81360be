package client

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// A server may take the first of two ids, or "ID" for "id", where the last is what is renamed:
// its answer would be another client's.
func TestSharedProcessTakesNoSecondIDs(t *testing.T) {
	s, said := child(t, "plain", func(o *StdioOptions) { o.Shared = true })
	a := s.Join()
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":"plimsoll-2","id":1,"method":"never"}`,
		`{"jsonrpc":"2.0","i\u0064":"plimsoll-2","id":1,"method":"never"}`,
		`{"jsonrpc":"2.0","id":1,"ID":"plimsoll-2","method":"never"}`,
		`{"jsonrpc":"2.0","id":1,"method":"never","params":{"_meta":{"progressToken":"plimsoll-2"}},"params":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"never","params":{"_meta":{"progressToken":"plimsoll-2","progressToken":1}}}`,
	} {
		r := newReceiver()
		a.Send(t.Context(), message(t, text), r)
		if r.wait(t); !strings.Contains(r.last(), `"code":-32600`) {
			t.Errorf("%s: %q, %v", text, r.last(), r.err)
		}
	}
	r := newReceiver()
	a.Send(t.Context(), message(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"plimsoll-2","requestId":1}}`), r)
	r.wait(t)
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"echo"}`, `{"jsonrpc":"2.0","id":1,"method":"echo","params":[{"_meta":1}]}`,
		`{"jsonrpc":"2.0","id":1,"method":"echo","params":{"_meta":{},"arguments":{"id":1,"ID":2,"_META":3}}}`,
	} {
		r := newReceiver()
		a.Send(t.Context(), message(t, text), r)
		if r.wait(t); !strings.Contains(r.last(), `"result"`) {
			t.Errorf("%s: %q, %v", text, r.last(), r.err)
		}
	}
	if text := said.String(); strings.Contains(text, "never") || strings.Contains(text, "notified") {
		t.Errorf("the server got %s", text)
	}
}

func TestSharedProcessTellsItsClientsApart(t *testing.T) {
	s, said := child(t, "plain", func(o *StdioOptions) { o.Shared = true })
	a, b := s.Join(), s.Join()
	for _, p := range []transport.Peer{a, b} {
		r := newReceiver()
		p.Send(t.Context(), request(t, "1", "initialize"), r)
		if r.wait(t); r.err != nil || !strings.Contains(r.last(), `"id":1,"result":{"method":"initialize"}`) {
			t.Errorf("initialize: %q, %v", r.last(), r.err)
		}
		p.Send(t.Context(), message(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`), newReceiver())
	}
	slow := newReceiver()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a.Send(ctx, request(t, "7", "never"), slow)
	for _, method := range []string{"echo", "big, id last"} {
		if r := ask(t, b, "7", method); r.err != nil || method == "echo" && !strings.Contains(r.last(), `"id":7`) {
			t.Errorf("%s: %q, %v", method, r.last(), r.err)
		}
	}
	r := newReceiver()
	b.Send(t.Context(), message(t, `{"jsonrpc":"2.0","id":8,"method":"progress","params":{"_meta":{"progressToken":3}}}`), r)
	if frames := r.wait(t).all(); len(frames) != 2 || !strings.Contains(frames[0], `"progressToken":3,`) {
		t.Errorf("%q, want the client's own token", frames)
	}
	if err := a.Close(); err != nil || !errors.Is(slow.wait(t).err, ErrClosed) {
		t.Errorf("Close: %v, its request: %v", err, slow.err)
	}
	said.await(t, "notifications/cancelled")
	text := said.String()
	if strings.Count(text, "initialize") != 2 { // with notifications/initialized
		t.Errorf("the server was initialized more than once:\n%s", text)
	}
	if r := ask(t, b, "9", "echo"); r.err != nil {
		t.Errorf("after another client has gone: %v", r.err)
	}
}
