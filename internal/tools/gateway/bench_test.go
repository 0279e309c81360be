package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// What the policy costs a small call, beside the server's own work: the same scripted
// server without and with a session in front.
func BenchmarkSmallCall(b *testing.B) {
	next := &scripted{answers: map[string]string{
		"tools/list": `{"tools":[{"name":"a","annotations":{"readOnlyHint":true}}]}`,
		"tools/call": `{"content":[{"type":"text","text":"` + strings.Repeat("some text ", 100) + `"}]}`,
	}}
	session := gateway.New(gateway.Options{Name: "s", Next: next})
	defer session.Close()
	send := func(p transport.Peer, id int, method string) {
		raw := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"name":"a","arguments":{"n":%d}}}`, id, method, id)
		head, err := jsonrpc.Scan(raw)
		if err != nil {
			b.Fatal(err)
		}
		done := make(chan error, 1)
		p.Send(b.Context(), transport.Message{Raw: raw, Head: head}, transport.Funcs{OnDone: func(err error) { done <- err }})
		<-done
	}
	send(session, 0, "tools/list")
	for name, p := range map[string]transport.Peer{"bare": next, "session": session} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for n := 1; b.Loop(); n++ {
				send(p, n, "tools/call")
			}
		})
	}
}
