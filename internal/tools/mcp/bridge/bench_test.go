package bridge

import (
	"context"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// BenchmarkCall is what the bridge costs for a call with a result of 1 KB, without any transport.
func BenchmarkCall(b *testing.B) {
	server := &quick{script{answers: []string{`"result":{"content":[{"type":"text","text":"` + strings.Repeat("some words ", 90) + `"}]}`}}}
	p := Legacy(server, Options{})
	defer func() { _ = p.Close() }()
	c := legacyCaller(b, p)
	raw := []byte(c.request("1", "tools/call", `"name":"x","arguments":{"a":1}`))
	head, err := jsonrpc.Scan(raw)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		done := false
		p.Send(b.Context(), transport.Message{Raw: raw, Head: head, Principal: "alice"}, transport.Funcs{OnDone: func(err error) { done = err == nil }})
		if !done {
			b.Fatal("no answer")
		}
	}
}

// quick is a script that keeps no record.
type quick struct{ script }

func (s *quick) Send(ctx context.Context, m transport.Message, to transport.Receiver) {
	if m.Head.Method != "tools/call" {
		s.script.Send(ctx, m, to)
		return
	}
	transport.Reply(to, []byte(`{"jsonrpc":"2.0","id":`+string(m.Head.ID)+`,`+s.answers[0]+`}`))
}
