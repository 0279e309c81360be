package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/plimsoll/plimsoll/internal/testing/toolserver"
	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	mcpclient "github.com/plimsoll/plimsoll/internal/tools/mcp/client"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	mcpserver "github.com/plimsoll/plimsoll/internal/tools/mcp/server"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/journal"
)

// merged is two servers of different protocol versions behind one endpoint, and a third that does not start.
func merged(t *testing.T, modern, overHTTP bool) (a, b *rig, c *client) {
	t.Helper()
	a = newRig(t, toolserver.Options{Versions: toolserver.LegacyOnly}, false, gateway.Settings{})
	b = newRig(t, toolserver.Options{Versions: toolserver.ModernOnly}, true, gateway.Settings{Deny: []string{"write"}})
	dead := gateway.NewServer(gateway.ServerOptions{Name: "dead", Spool: a.spool, Dial: func(gateway.Dialing) transport.Peer {
		return mcpclient.Stdio(mcpclient.StdioOptions{Name: "dead", Launch: func(context.Context) (*mcpclient.Process, error) {
			return nil, fmt.Errorf("it does not start")
		}})
	}})
	t.Cleanup(func() { _ = dead.Close() })
	m := gateway.NewMerge(gateway.MergeOptions{Spool: a.spool, Journal: a.journal, Parts: []gateway.Part{
		{Server: a.server, Prefix: "one"}, {Server: b.server, Prefix: "two"}, {Server: dead, Prefix: "dead"},
	}})
	if overHTTP {
		return a, b, onHTTP(t, m.Open, modern)
	}
	return a, b, onPeer(t, m.Local(), modern)
}

func TestSeveralServersBehindOneEndpoint(t *testing.T) {
	for _, v := range []struct{ modern, overHTTP bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
		t.Run(fmt.Sprintf("modern=%v,http=%v", v.modern, v.overHTTP), func(t *testing.T) {
			a, b, c := merged(t, v.modern, v.overHTTP)
			c.begin("someone")
			names := c.names(c.do("tools/list", ""))
			for _, want := range []string{"one__echo", "two__echo", "one__write", "result_page", "result_search", "result_query"} {
				if !slices.Contains(names, want) {
					t.Errorf("%s is missing in %v", want, names)
				}
			}
			if slices.Contains(names, "two__write") || len(names) < 20 {
				t.Errorf("names: %v", names)
			}
			if got := c.ok(c.call("two__echo", `{"text":"hello"}`)); !strings.Contains(got.text(), "hello") {
				t.Errorf("%s", got.text())
			}
			c.ok(c.call("one__write", `{}`))
			if _, text := c.refused(c.call("two__write", `{}`)); !strings.Contains(text, "not allowed") {
				t.Errorf("%s", text)
			}
			if a.ts.Stats().Writes != 1 || b.ts.Stats().Writes != 0 {
				t.Errorf("writes: %d and %d", a.ts.Stats().Writes, b.ts.Stats().Writes)
			}
			c.refused(c.call("three__echo", `{}`))
			page := c.ok(c.call("one__counter", `{"bytes":40000}`)).Meta.Page
			if page == nil {
				t.Fatal("a large result was not paged")
			}
			if got := c.ok(c.call("result_page", fmt.Sprintf(`{"handle":%q,"page":2}`, page.Handle))); got.IsError {
				t.Errorf("%s", got.text())
			}
			before := a.ts.Stats().Reads
			if got := c.ok(c.call("result_page", fmt.Sprintf(`{"handle":%q,"refresh":true}`, page.Handle))); got.IsError || a.ts.Stats().Reads != before+1 {
				t.Errorf("refresh: %.300s", got.text())
			}
			if got := string(c.do("prompts/get", `"name":"one__greet","arguments":{"name":"Ada"}`).raw); !strings.Contains(got, "Ada") {
				t.Errorf("a prompt: %s", got)
			}
			if got := string(c.do("prompts/list", "").raw); !strings.Contains(got, `"one__greet"`) || !strings.Contains(got, `"two__greet"`) {
				t.Errorf("prompts: %.300s", got)
			}
			if got := string(c.do("resources/list", "").raw); !strings.Contains(got, `"uri"`) {
				t.Errorf("resources: %.300s", got)
			}
			if got := string(c.do("completion/complete", `"ref":{"type":"ref/prompt","name":"two__greet"},"argument":{"name":"name","value":"A"}`).raw); !strings.Contains(got, "completion") {
				t.Errorf("completion: %.300s", got)
			}
			var list struct {
				Result struct{ Resources []struct{ URI string } }
			}
			if err := json.Unmarshal(c.do("resources/list", "").raw, &list); err != nil || len(list.Result.Resources) == 0 {
				t.Fatalf("no resources: %v", err)
			}
			if got := string(c.do("resources/read", `"uri":"`+list.Result.Resources[0].URI+`"`).raw); !strings.Contains(got, `"contents"`) {
				t.Errorf("a resource: %.300s", got)
			}
			c.refused(c.do("tasks/list", ""))
		})
	}
}

func TestLongNamesAreShortenedAndFound(t *testing.T) {
	long := strings.Repeat("a_very_long_name_", 6)
	next := &scripted{answers: map[string]string{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`,
		"tools/list": `{"tools":[{"name":"` + long + `"},{"name":"short"}]}`,
		"tools/call": `{"content":[{"type":"text","text":"called"}]}`,
	}}
	store := newSpool(t, nil)
	s := gateway.NewServer(gateway.ServerOptions{Name: "s", Spool: store, Dial: func(gateway.Dialing) transport.Peer { return next }})
	m := gateway.NewMerge(gateway.MergeOptions{Spool: store, Parts: []gateway.Part{{Server: s}}})
	first := onPeer(t, m.Local(), false).begin("someone")
	names := first.names(first.do("tools/list", ""))
	for _, n := range names {
		if len(n) > gateway.MaxName {
			t.Errorf("%s has %d characters", n, len(n))
		}
	}
	second := onPeer(t, m.Local(), false).begin("someone") // has seen no list
	if a := second.ok(second.call(names[0], `{}`)); !strings.Contains(a.text(), "called") || !strings.HasPrefix(names[0], "s__a_very") {
		t.Errorf("%s: %s", names[0], a.text())
	}
	if got := string(next.last("tools/call")); !strings.Contains(got, long) {
		t.Errorf("the server got %s", got)
	}
}

// The requests of two servers that have the same id both get the client's answer to them.
func TestRequestsOfServersAreToldApart(t *testing.T) { synctest.Test(t, toldApart) }

func toldApart(t *testing.T) {
	a := newRig(t, toolserver.Options{Versions: toolserver.LegacyOnly}, false, gateway.Settings{})
	b := newRig(t, toolserver.Options{Versions: toolserver.LegacyOnly}, false, gateway.Settings{})
	m := gateway.NewMerge(gateway.MergeOptions{Spool: a.spool, Parts: []gateway.Part{{Server: a.server, Prefix: "one"}, {Server: b.server, Prefix: "two"}}})
	p := m.Local()
	c := onPeer(t, p, false)
	c.ok(c.do("initialize", `"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"x","version":"1"}`))
	c.send(t.Context(), []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	respond := func(f *transport.Frame) {
		h, err := jsonrpc.Scan(f.Head)
		if err != nil || h.Kind != jsonrpc.Request || h.Method != "roots/list" {
			return
		}
		raw := jsonrpc.ResultResponse(h.ID, []byte(`{"roots":[{"uri":"file:///`+string(h.ID[1:11])+`"}]}`))
		head, err := jsonrpc.Scan(raw)
		if err != nil {
			t.Error(err)
		}
		go p.Send(t.Context(), transport.Message{Raw: raw, Head: head}, transport.Funcs{})
	}
	go p.Listen(t.Context(), nil, transport.Funcs{OnReceive: respond})
	synctest.Wait() // what a server asks before it is listened to nobody hears
	for _, tool := range []string{"one__roots", "two__roots"} {
		message := c.message("tools/call", `"name":"`+tool+`","arguments":{}`, "")
		head, err := jsonrpc.Scan(message)
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan string, 1)
		p.Send(t.Context(), transport.Message{Raw: message, Head: head}, transport.Funcs{OnReceive: func(f *transport.Frame) {
			if h, err := jsonrpc.Scan(f.Head); err == nil && h.Kind == jsonrpc.Response {
				got <- string(f.Head)
				return
			}
			respond(f)
		}})
		place := map[string]string{"one__roots": "plimsoll:0", "two__roots": "plimsoll:1"}[tool]
		if text := <-got; !strings.Contains(text, place) {
			t.Errorf("%s: %s", tool, text)
		}
	}
}

func TestServersThatComeBackAreListedAgain(t *testing.T) { synctest.Test(t, comeBack) }

func comeBack(t *testing.T) {
	store := newSpool(t, nil)
	up := &scripted{answers: map[string]string{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}`, "tools/list": `{"tools":[{"name":"a"}]}`,
	}}
	s := gateway.NewServer(gateway.ServerOptions{Name: "up", Spool: store, Dial: func(gateway.Dialing) transport.Peer { return up }})
	flaky := &scripted{answers: map[string]string{}, gone: true}
	f := gateway.NewServer(gateway.ServerOptions{Name: "flaky", Spool: store, Dial: func(gateway.Dialing) transport.Peer { return flaky }})
	m := gateway.NewMerge(gateway.MergeOptions{Spool: store, Parts: []gateway.Part{{Server: s}, {Server: f}}, Journal: journal.New(journal.Options{})})
	p := m.Local()
	c := onPeer(t, p, false)
	c.ok(c.do("initialize", `"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}`))
	if names := fmt.Sprint(c.names(c.do("tools/list", ""))); names != "[up__a result_page result_search result_query]" {
		t.Errorf("%s", names)
	}
	flaky.revive(map[string]string{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}`, "tools/list": `{"tools":[{"name":"b"}]}`, "ping": `{}`,
	})
	changed := make(chan struct{}, 8)
	go p.Listen(t.Context(), nil, transport.Funcs{OnReceive: func(f *transport.Frame) {
		if strings.Contains(string(f.Head), "tools/list_changed") {
			changed <- struct{}{}
		}
	}})
	<-changed // it is tried again every few seconds
	if names := fmt.Sprint(c.names(c.do("tools/list", ""))); names != "[up__a flaky__b result_page result_search result_query]" {
		t.Errorf("%s", names)
	}
}

func TestAMergedEndpointKnowsNoSessionOfBefore(t *testing.T) {
	m := gateway.NewMerge(gateway.MergeOptions{Spool: newSpool(t, nil)})
	if _, err := m.Open(t.Context(), mcpserver.Opening{SessionID: "x"}); err != mcpserver.ErrNoSession {
		t.Errorf("%v", err)
	}
}

// The id that a client answers with goes to a server behind a merged endpoint as a value,
// whatever is in it.
func TestAnAnswerToAMergedEndpointIsNothingElse(t *testing.T) {
	h := &scripted{answers: map[string]string{"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`}}
	j := journal.New(journal.Options{})
	sp := newSpool(t, j)
	server := gateway.NewServer(gateway.ServerOptions{Name: "one", Spool: sp, Journal: j, Dial: func(gateway.Dialing) transport.Peer { return h }})
	m := gateway.NewMerge(gateway.MergeOptions{Parts: []gateway.Part{{Server: server}}, Spool: sp, Journal: j})
	p := m.Local()
	c := onPeer(t, p, false).begin("x")
	for _, id := range []string{
		`"plimsoll:0:1,\"method\":\"tools/call\",\"params\":{\"name\":\"write\"}"`,
		`"plimsoll:0:1,\"method\":\"shutdown\""`,
		`"plimsoll:0:{}"`, `"plimsoll:0:"`,
	} {
		c.send(t.Context(), []byte(`{"jsonrpc":"2.0","id":`+id+`,"result":{}}`))
	}
	if h.asked("tools/call") != 0 || h.asked("shutdown") != 0 {
		t.Errorf("an answer became a request: %s %s", h.last("tools/call"), h.last("shutdown"))
	}
}
