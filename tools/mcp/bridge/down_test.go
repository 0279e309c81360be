package bridge

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/toolserver"
	"github.com/plimsoll/plimsoll/tools/mcp/transport"
)

// down is a modern client before an older server.
func down(t *testing.T) (*caller, *toolserver.Server, *pipePeer) {
	return downWith(t, Options{}, toolserver.Options{})
}

func downWith(t *testing.T, o Options, so toolserver.Options) (*caller, *toolserver.Server, *pipePeer) {
	so.Versions = toolserver.LegacyOnly
	s := toolserver.New(so)
	p := overPipe(t, s)
	b := Modern(p, o)
	t.Cleanup(func() { _ = b.Close() })
	return modernCaller(t, b), s, p
}

var downTests = map[string]func(*testing.T){
	"opening": func(t *testing.T) {
		c, s, p := down(t)
		has(t, c.call("server/discover", ""), `"resultType":"complete"`, `"supportedVersions":["2026-07-28"]`)
		c.tool("echo", `{"text":"x"}`)
		if n := s.Stats().Initialized; n != 1 {
			t.Errorf("the server was greeted %d times", n)
		}
		has(t, p.transcript(), `"method":"initialize","params":{"protocolVersion":"2025-11-25"`, `"method":"notifications/initialized"`)
	},
	"version": func(t *testing.T) {
		c, _, _ := down(t)
		c.meta = strings.Replace(c.meta, "2026-07-28", "2027-01-01", 1)
		has(t, c.tool("echo", `{}`), `"code":-32022`, `"supported":["2026-07-28"],"requested":"2027-01-01"`)
		c.meta = ""
		has(t, c.call("initialize", `"protocolVersion":"2025-11-25"`), `"code":-32022`)
	},
	"capabilities": func(t *testing.T) {
		c, _, p := downWith(t, Options{}, toolserver.Options{Tasks: true})
		r := c.call("server/discover", "")
		has(t, r, `"tools":{"listChanged":true}`, `"subscribe":true`, `"completions":{}`)
		lacks(t, r, `tasks`)
		has(t, p.transcript(), `"capabilities":`+allAbilities)
	},
	"server information": func(t *testing.T) {
		c, _, p := down(t)
		has(t, c.call("server/discover", ""), `"io.modelcontextprotocol/serverInfo":{"name":"toolserver","version":"1.0.0"}`, `"instructions":"A server to test with."`)
		has(t, c.tool("echo", `{}`), `"io.modelcontextprotocol/serverInfo"`)
		has(t, p.transcript(), `"clientInfo":{"name":"c","version":"1"}`)
	},
	"request metadata": func(t *testing.T) {
		c, _, _ := down(t)
		r := c.call("tools/call", `"name":"params","arguments":{"big":9007199254740993},"zeta":1,"_meta":{"traceparent":"00-x","com.example/k":1}`)
		has(t, r, `\"big\":9007199254740993`, `\"zeta\":1`, `\"traceparent\":\"00-x\"`, `\"com.example/k\":1`)
		lacks(t, r, `clientCapabilities`, `protocolVersion`)
		c.meta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`
		has(t, c.tool("echo", `{}`), `"code":-32602`, "clientCapabilities")
	},
	"ids": func(t *testing.T) {
		c, _, _ := down(t)
		a := c.start(`"same"`, "tools/call", `"name":"slow","arguments":{"ms":60}`)
		b := c.start(`"same"`, "tools/call", `"name":"echo","arguments":{"text":"b"}`)
		has(t, b.wait(t), `"id":"same"`, `"b"`)
		has(t, a.wait(t), `"id":"same"`, "done after")
		has(t, c.start("12345678901234567890", "tools/list", "").wait(t), `"id":12345678901234567890`)
	},
	"tools": func(t *testing.T) {
		c, s, _ := down(t)
		has(t, c.call("tools/list", ""), `"name":"echo"`, `"readOnlyHint":true`, `"resultType":"complete"`)
		has(t, c.tool("echo", `{"text":"hi"}`), `"text":"hi"`, `"resultType":"complete"`)
		has(t, c.tool("bigint", `{}`), `{"z":9007199254740993,"a":12345678901234567890123,"tiny":1.0e-400,"zero":1.10}`, `"x":18446744073709551615`)
		has(t, c.tool("unknown_fields", `{}`), `"zeta":{"b":1,"a":[1, 2,  3]},"content"`, `"_future":"é"`)
		has(t, c.tool("error", `{}`), `"isError":true`)
		c.tool("write", `{}`)
		c.tool("write", `{}`)
		if n := s.Stats().Writes; n != 2 {
			t.Errorf("two writes arrived as %d", n)
		}
	},
	"structured output": func(t *testing.T) {
		c, _, _ := down(t)
		has(t, c.tool("structured", `{}`), `"structuredContent":{"temperature":21.50,"sky":"clear"}`)
		has(t, c.call("tools/list", ""), `"outputSchema":{"type":"object"`)
	},
	"large results": func(t *testing.T) {
		c, _, _ := down(t)
		for _, extra := range []string{"", `,"id_last":true`} {
			r := c.tool("big", `{"bytes":3000000,"needle":"the end"`+extra+`}`)
			has(t, r[:120], `"result":{"resultType":"complete","content":`)
			if len(r) < 3_000_000 || !strings.Contains(r, "the end") || !strings.Contains(r, `"id":`) || strings.Contains(r, `"id":"x`) {
				t.Errorf("%s: %d bytes: %.100s … %s", extra, len(r), r, r[len(r)-100:])
			}
		}
	},
	"caching": func(t *testing.T) {
		c, _, _ := down(t)
		has(t, c.call("server/discover", ""), `"ttlMs":0`, `"cacheScope":"private"`)
		has(t, c.call("tools/list", ""), `"ttlMs":0,"cacheScope":"private"`)
		has(t, c.call("resources/read", `"uri":"test://small/1"`), `"ttlMs":0,"cacheScope":"private"`)
		lacks(t, c.tool("echo", `{}`), "ttlMs")
	},
	"pagination": func(t *testing.T) {
		c, _, _ := downWith(t, Options{}, toolserver.Options{PageSize: 3})
		has(t, c.call("tools/list", ""), `"nextCursor":"at-3"`)
		has(t, c.call("tools/list", `"cursor":"at-3"`), `"nextCursor":"at-6"`)
		has(t, c.call("tools/list", `"cursor":"no"`), `"code":-32602`)
	},
	"resources": func(t *testing.T) {
		c, _, _ := down(t)
		has(t, c.call("resources/list", ""), "test://small/1")
		has(t, c.call("resources/templates/list", ""), "test://large/{bytes}")
		has(t, c.call("resources/read", `"uri":"test://small/2"`), `"text":"resource 2"`)
		has(t, c.call("resources/read", `"uri":"test://blob"`), `"blob":"iVBORw0K`)
	},
	"resource not found": func(t *testing.T) {
		c, _, _ := down(t)
		r := c.call("resources/read", `"uri":"test://no"`)
		has(t, r, `"code":-32602`, `"data":{"uri":"test://no"}`)
	},
	"resource subscriptions": func(t *testing.T) {
		c, s, p := down(t)
		l := c.start("7", "subscriptions/listen", `"notifications":{"resourceSubscriptions":["test://small/1"]}`)
		has(t, c.hear("acknowledged"), `"io.modelcontextprotocol/subscriptionId":7`, `"resourceSubscriptions":["test://small/1"]`)
		s.Change("resource", "test://small/2")
		s.Change("resource", "test://small/1")
		has(t, c.hear("updated"), `"uri":"test://small/1"`, `"io.modelcontextprotocol/subscriptionId":7`)
		l.stop()
		l.wait(t)
		c.tool("echo", `{}`) // behind the unsubscribe, which goes over the same pipe
		has(t, p.transcript(), "resources/subscribe")
		eventually(t, func() bool { return strings.Contains(p.transcript(), "resources/unsubscribe") })
		has(t, c.call("resources/subscribe", `"uri":"x"`), `"code":-32601`)
	},
	"list changes": func(t *testing.T) {
		c, s, _ := down(t)
		c.start(`"a"`, "subscriptions/listen", `"notifications":{"toolsListChanged":true}`)
		c.hear(`"subscriptionId":"a"`[1:])
		c.start(`"b"`, "subscriptions/listen", `"notifications":{"promptsListChanged":true}`)
		c.hear("acknowledged")
		s.Change("tools", "")
		has(t, c.hear("list_changed"), `tools/list_changed`, `subscriptionId":"a"`)
		s.Change("resources", "") // nobody wants it
		s.Change("prompts", "")
		has(t, c.hear("list_changed"), `prompts/list_changed`, `subscriptionId":"b"`)
	},
	"prompts": func(t *testing.T) {
		c, _, _ := down(t)
		has(t, c.call("prompts/list", ""), `"name":"greet"`, `"ttlMs":0`)
		has(t, c.call("prompts/get", `"name":"greet","arguments":{"name":"Ann"}`), "Hello, Ann!", `"resultType":"complete"`)
		r := c.call("prompts/get", `"name":"ask"`)
		has(t, c.call("prompts/get", `"name":"ask",`+inputs(t, r, accept)), "Answer: ")
	},
	"completion": func(t *testing.T) {
		c, _, _ := down(t)
		has(t, c.call("completion/complete", `"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"name","value":"par"}`), `"values":["paris","park","party"]`, `"resultType"`)
	},
	"progress": func(t *testing.T) {
		c, _, p := down(t)
		r := c.call("tools/call", `"name":"slow","arguments":{"ms":4,"steps":2},"_meta":{"progressToken":"mine"}`)
		has(t, r, "done after 2 steps")
		has(t, c.hear("notifications/progress"), `"progressToken":"mine"`, `"progress":1`)
		has(t, c.hear("notifications/progress"), `"progress":2`)
		lacks(t, p.transcript(), `"mine"`)
	},
	"cancellation": func(t *testing.T) {
		c, s, _ := down(t)
		c.call("server/discover", "")
		call := c.start("5", "tools/call", `"name":"silent"`)
		eventually(t, func() bool { return s.Stats().Calls == 1 })
		call.stop() // as by a closed stream
		has(t, call.wait(t), "canceled")
		eventually(t, func() bool { return s.Stats().Cancelled == 1 })
		call = c.start("6", "tools/call", `"name":"silent"`)
		eventually(t, func() bool { return s.Stats().Calls == 2 })
		c.send(t.Context(), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":6}}`, transport.Funcs{})
		has(t, call.wait(t), "canceled")
		eventually(t, func() bool { return s.Stats().Cancelled == 2 && s.Stats().Open == 0 })
	},
	"logging": func(t *testing.T) {
		c, _, p := down(t)
		c.tool("log", `{"text":"unasked"}`)
		c.call("tools/call", `"name":"log","arguments":{"level":"info","text":"low"},"_meta":{"io.modelcontextprotocol/logLevel":"warning"}`)
		c.call("tools/call", `"name":"log","arguments":{"level":"error","text":"high"},"_meta":{"io.modelcontextprotocol/logLevel":"warning"}`)
		has(t, c.hear("notifications/message"), "high 1")
		has(t, p.transcript(), `"logging/setLevel","params":{"level":"warning"}`)
		has(t, c.call("tools/call", `"name":"log","_meta":{"io.modelcontextprotocol/logLevel":"loud"}`), `"code":-32602`)
	},
	"elicitation, form": func(t *testing.T) {
		c, s, _ := down(t)
		r, rounds := interact(t, c, `"name":"ask","arguments":{"rounds":2}`, func(method, params string) string {
			has(t, method+params, "elicitation/create", `"requestedSchema":{"type":"object"`)
			return accept(method, params)
		})
		has(t, r, `"resultType":"complete"`, "Zoë", "9007199254740993")
		if rounds != 2 || s.Stats().Calls != 1 {
			t.Errorf("%d rounds, %d calls", rounds, s.Stats().Calls)
		}
		r, _ = interact(t, c, `"name":"ask","arguments":{"message":"again"}`, func(string, string) string { return `{"action":"decline"}` })
		has(t, r, `decline`)
	},
	"elicitation, URL": func(t *testing.T) {
		c, _, _ := down(t)
		r, _ := interact(t, c, `"name":"ask","arguments":{"mode":"url"}`, func(_, params string) string {
			has(t, params, `"mode":"url"`, `"url":"https://example.com/confirm"`)
			lacks(t, params, "elicitationId")
			return `{"action":"accept"}`
		})
		has(t, r, "answers:")
	},
	"sampling": func(t *testing.T) {
		c, _, _ := down(t)
		r, _ := interact(t, c, `"name":"sample","arguments":{"prompt":"hi"}`, func(method, params string) string {
			has(t, method+params, "sampling/createMessage", `"maxTokens":100`)
			return `{"role":"assistant","model":"m","content":{"type":"text","text":"sampled text"}}`
		})
		has(t, r, "sampled text")
	},
	"roots": func(t *testing.T) {
		c, _, _ := down(t)
		r, _ := interact(t, c, `"name":"roots"`, func(method, params string) string {
			has(t, method, "roots/list")
			return `{"roots":[{"uri":"file:///w"}]}`
		})
		has(t, r, "file:///w")
		c.send(t.Context(), `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, transport.Funcs{})
	},
	"several inputs at once": func(t *testing.T) {
		c, _, _ := downWith(t, Options{Gather: 200 * time.Millisecond}, toolserver.Options{})
		call := `"name":"ask","arguments":{"several":3}`
		r := c.call("tools/call", call)
		if n := strings.Count(r, `"elicitation/create"`); n != 3 {
			t.Errorf("%d questions at once: %s", n, r)
		}
		n := 0
		r = c.call("tools/call", call+","+inputs(t, r, func(m, p string) string { // one is left out
			if n++; n == 2 {
				return ""
			}
			return accept(m, p)
		}))
		has(t, r, `"input-2"`)
		lacks(t, r, `"input-1"`)
		has(t, c.call("tools/call", call+","+inputs(t, r, accept)), "answers:")
	},
	"request state": func(t *testing.T) { testRequestState(t) },
	"missing capability": func(t *testing.T) {
		c, _, _ := down(t)
		c.meta = strings.Replace(c.meta, allAbilities, `{}`, 1)
		has(t, c.tool("ask", `{}`), `"error"`)
		testMissing(t)
	},
	"tasks": func(t *testing.T) {
		c, _, _ := downWith(t, Options{}, toolserver.Options{Tasks: true})
		lacks(t, c.call("server/discover", ""), "tasks")
		for _, m := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			has(t, c.call(m, `"taskId":"x"`), `"code":-32601`)
		}
		has(t, c.tool("slow", `{"ms":1}`), "done after")
	},
	"ping": func(t *testing.T) {
		c, _, p := down(t)
		has(t, c.call("ping", ""), `"code":-32601`)
		c.call("server/discover", "")
		b := c.p.(*modern)
		b.mu.Lock()
		for _, s := range b.sessions {
			go s.unsolicited(&transport.Frame{Head: []byte(`{"jsonrpc":"2.0","id":"p","method":"ping"}`)})
		}
		b.mu.Unlock()
		eventually(t, func() bool { return strings.Contains(p.transcript(), `{"jsonrpc":"2.0","id":"p","result":{}}`) })
	},
	"errors": func(t *testing.T) {
		c, _, _ := down(t)
		has(t, c.tool("nothing", `{}`), `"code":-32602`, "Unknown tool")
		has(t, c.tool("huge_error", `{"bytes":200000,"protocol":true}`), `"code":-32603`, `"id":2`)
		for from, to := range map[int64]int{-32002: -32602, -32042: -32603, -32021: -32603, -32603: -32603, -32000: -32000, 7: 7} {
			if got := codeDown(from); got != to {
				t.Errorf("code %d became %d", from, got)
			}
		}
	},
	"lost server": func(t *testing.T) {
		c, _, _ := down(t)
		has(t, c.tool("die", `{}`), "done: the server is gone")
		has(t, c.tool("echo", `{}`), "done: the server is gone")
	},
	"resumption": func(t *testing.T) {
		c, _, _ := down(t)
		l := c.start("1", "subscriptions/listen", `"notifications":{"toolsListChanged":true}`)
		c.hear("acknowledged")
		_ = c.p.Close()
		has(t, l.wait(t), `"id":1`, `"resultType":"complete"`, `"io.modelcontextprotocol/subscriptionId":1`)
	},
	"end of a session": func(t *testing.T) {
		opened, closed := 0, make(chan bool, 10)
		c, s, _ := downWith(t, Options{MaxSessions: 1, Open: func(context.Context, transport.Message) (transport.Peer, error) {
			opened++
			return closing{overPipe(t, toolserver.New(toolserver.Options{Versions: toolserver.LegacyOnly})), closed}, nil
		}}, toolserver.Options{})
		has(t, c.tool("echo", `{"text":"alice"}`), "alice")
		c.principal = "bob"
		has(t, c.tool("echo", `{"text":"bob"}`), "bob") // alice's session was idle and made room
		select {
		case <-closed:
		case <-time.After(time.Minute):
			t.Fatal("the idle session was not closed")
		}
		if opened != 2 || s.Stats().Initialized != 0 {
			t.Errorf("%d ways were opened", opened)
		}
	},
	"headers": func(t *testing.T) {
		server := toolserver.New(toolserver.Options{Versions: toolserver.LegacyOnly})
		b := Modern(overHTTP(t, server.Handler()), Options{})
		t.Cleanup(func() { _ = b.Close() })
		c := modernCaller(t, b)
		r := c.tool("headers", `{}`)
		has(t, r, "Mcp-Session-Id")
		lacks(t, r, "Mcp-Method", "Mcp-Name")
		r, _ = interact(t, c, `"name":"ask"`, accept)
		has(t, r, "answers:")
	},
	"other methods": func(t *testing.T) {
		c, _, p := down(t)
		has(t, c.call("com.example/thing", `"a":1`), `"code":-32601`)
		has(t, p.transcript(), `"com.example/thing"`)
		has(t, c.call("logging/setLevel", `"level":"info"`), `"code":-32601`)
	},
}
