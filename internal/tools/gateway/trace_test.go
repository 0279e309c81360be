package gateway_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	"github.com/plimsoll/plimsoll/journal"
)

// The span that a client names is noted, the server is told of it as the client has, and what is no span is not noted.
func TestTraceParentIsNoted(t *testing.T) {
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for _, c := range []struct{ meta, want string }{
		{`{"traceparent":"` + parent + `","tracestate":"a=b"}`, parent},
		{`{"traceparent":"\u0030` + parent[1:] + `"}`, parent},
		{`{}`, ""},
		{`{"traceparent":7}`, ""},
		{`{"traceparent":null}`, ""},
		{`{"traceparent":""}`, ""},
		{`{"traceparent":"` + strings.ToUpper(parent) + `"}`, ""},
		{`{"traceparent":"` + parent + strings.Repeat("0", 100_000) + `"}`, ""},
		{`"` + parent + `"`, ""},
	} {
		r := newRig(t, defaultServer, false, gateway.Settings{})
		client := onPeer(t, r.server.Local(), false).begin("test-client")
		said := client.ok(client.do("tools/call", `"name":"params","arguments":{},"_meta":`+c.meta)).text()
		var received struct {
			Meta json.RawMessage `json:"_meta"`
		}
		if err := json.Unmarshal([]byte(said), &received); len(c.meta) < 1000 && (err != nil || string(received.Meta) != c.meta) {
			t.Errorf("the server has received %.300s for %.300s, %v", said, c.meta, err)
		}
		noted := "no call"
		for rec := range r.journal.Since(0) {
			if e, ok := rec.Event.(journal.ToolCalled); ok {
				noted = e.TraceParent
			}
		}
		if noted != c.want {
			t.Errorf("%.100s is noted as %q, want %q", c.meta, noted, c.want)
		}
	}
}
