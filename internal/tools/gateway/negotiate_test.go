package gateway_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	mcpserver "github.com/plimsoll/plimsoll/internal/tools/mcp/server"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/journal"
)

// quiet is a server that says nothing unasked; its Listen returns at once, as bridges need it.
type quiet struct{ *scripted }

func (quiet) Listen(ctx context.Context, _ http.Header, to transport.Receiver) {
	context.AfterFunc(ctx, func() { to.Done(nil) })
}

// TestVersionNegotiation has a row for each protocol version of a client and each of a server: what reaches the server for
// the first client, when nothing is known of it, and for a second one beside the first.
func TestVersionNegotiation(t *testing.T) {
	const (
		initialized = `{"protocolVersion":"2025-11-25","capabilities":{"prompts":{}},"serverInfo":{"name":"s","version":"1"}}`
		discovered  = `{"supportedVersions":["2026-07-28"],"capabilities":{"prompts":{}},"resultType":"complete"}`
		speaksBoth  = `{"supportedVersions":["2026-07-28","2025-11-25"],"capabilities":{"prompts":{}},"resultType":"complete"}`
		prompts     = `{"prompts":[]}`
	)
	sessions := map[string]string{"initialize": initialized, "prompts/list": prompts}
	sessionless := map[string]string{"server/discover": discovered, "prompts/list": `{"prompts":[],"resultType":"complete"}`}
	both := map[string]string{"initialize": initialized, "server/discover": speaksBoth, "prompts/list": `{"prompts":[],"resultType":"complete"}`}
	tellsOne := map[string]string{"initialize": initialized, "server/discover": discovered, "prompts/list": both["prompts/list"]}
	for _, c := range []struct {
		server        string
		answers       map[string]string
		clients       string // of the first and the second: s has sessions, n has none
		first, second string // what reaches the server, duplicates in a row left out
	}{
		{"with sessions", sessions, "ss", "initialize prompts/list", "initialize prompts/list"},
		{"with sessions", sessions, "sn", "initialize prompts/list", "server/discover"},
		{"with sessions", sessions, "nn", "server/discover", "server/discover"},
		{"with sessions", sessions, "ns", "server/discover", "initialize prompts/list"},
		{"sessionless", sessionless, "ss", "initialize server/discover prompts/list", "server/discover prompts/list"},
		{"sessionless", sessionless, "sn", "initialize server/discover prompts/list", "prompts/list"},
		{"sessionless", sessionless, "nn", "server/discover prompts/list", "prompts/list"},
		{"sessionless", sessionless, "ns", "server/discover prompts/list", "initialize server/discover prompts/list"},
		{"both", both, "ss", "initialize prompts/list", "initialize prompts/list"},
		{"both", both, "sn", "initialize prompts/list", "server/discover prompts/list"},
		{"both", both, "nn", "server/discover prompts/list", "prompts/list"},
		{"both", both, "ns", "server/discover prompts/list", "initialize prompts/list"},
		// As the Python SDK 2.x: an older client is not translated at it.
		{"both, and tells one", tellsOne, "ss", "initialize prompts/list", "initialize prompts/list"},
		{"both, and tells one", tellsOne, "ns", "server/discover prompts/list", "initialize prompts/list"},
	} {
		t.Run(c.server+" "+c.clients, func(t *testing.T) {
			server := &scripted{answers: c.answers}
			j := journal.New(journal.Options{})
			s := gateway.NewServer(gateway.ServerOptions{Name: "x", Journal: j, Spool: newSpool(t, j), Dial: func(gateway.Dialing) transport.Peer { return quiet{server} }})
			t.Cleanup(func() { _ = s.Close() })
			for i, want := range []string{c.first, c.second} {
				modern := c.clients[i] == 'n'
				opened, err := s.Open(t.Context(), mcpserver.Opening{Modern: modern, Begins: true})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = opened.Peer.Close() })
				ask := func(method, params string) {
					t.Helper()
					raw := jsonrpc.NewRequest("1", method, []byte(params))
					head, err := jsonrpc.Scan(raw)
					if err != nil {
						t.Fatal(err)
					}
					// A principal of its own: clients without sessions are told apart by it.
					ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
					defer stop()
					answer, err := transport.Ask(ctx, opened.Peer, transport.Message{Raw: raw, Head: head, Principal: string(rune('a' + i))}, 1<<20)
					expected := `"result"`
					if modern && c.server == "with sessions" {
						expected = "begin with initialize"
					}
					if err != nil || !strings.Contains(string(answer), expected) {
						t.Errorf("client %d: %s: %s, %v", i+1, method, answer, err)
					}
				}
				if modern {
					ask("prompts/list", `{`+meta+`}}`)
				} else {
					ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
					ask("prompts/list", `{}`)
				}
				var got []string
				for _, method := range server.came() {
					if len(got) == 0 || got[len(got)-1] != method {
						got = append(got, method)
					}
				}
				if got := strings.Join(got, " "); got != want {
					t.Errorf("client %d: the server got %s, want %s", i+1, got, want)
				}
			}
		})
	}
}
