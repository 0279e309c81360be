package server

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// BenchmarkCall is the endpoint's own share of a tools/call answered with 1 KiB of JSON:
// without a network and with a peer that costs nothing.
func BenchmarkCall(b *testing.B) {
	answer := append(append([]byte(`{"jsonrpc":"2.0","id":1,"result":{"text":"`), bytes.Repeat([]byte("x"), 1<<10)...), `"}}`...)
	s := newServer()
	s.onSend = func(_ context.Context, m transport.Message, to transport.Receiver) bool {
		if m.Head.Kind != jsonrpc.Request || m.Head.Method == "initialize" {
			return false
		}
		to.Receive(&transport.Frame{Head: answer})
		to.Done(nil)
		return true
	}
	h := New(Options{Open: func(context.Context, Opening) (Session, error) { return Session{Peer: s}, nil }})
	defer h.Close()
	body := []byte(modernCall(1, "echo"))
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/", bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		for i := 0; i < 6; i += 2 {
			r.Header.Set(modernHeaders("echo")[i], modernHeaders("echo")[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			b.Fatal(w.Code, w.Body)
		}
	}
}
