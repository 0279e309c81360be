package bridge

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/toolserver"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// up is an older client before a modern server.
func up(t *testing.T) (*caller, *toolserver.Server, *pipePeer) {
	return upWith(t, Options{}, toolserver.Options{})
}

func upWith(t *testing.T, o Options, so toolserver.Options) (*caller, *toolserver.Server, *pipePeer) {
	so.Versions = toolserver.ModernOnly
	s := toolserver.New(so)
	p := overPipe(t, s)
	b := Legacy(p, o)
	t.Cleanup(func() { _ = b.Close() })
	return legacyCaller(t, b), s, p
}

// script is a server that gives one answer after the other, the last one for ever.
type script struct {
	mu      sync.Mutex
	answers []string
	calls   int
	params  []string
}

func (s *script) Send(_ context.Context, m transport.Message, to transport.Receiver) {
	s.mu.Lock()
	answer := ""
	switch {
	case m.Head.Kind != jsonrpc.Request:
		s.mu.Unlock()
		to.Done(nil)
		return
	case m.Head.Method == "initialize":
		answer = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`
	case m.Head.Method == "server/discover":
		answer = `"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`
	default:
		answer = s.answers[min(s.calls, len(s.answers)-1)]
		s.calls++
		s.params = append(s.params, string(m.Head.Params.Of(m.Raw)))
	}
	s.mu.Unlock()
	transport.Reply(to, []byte(`{"jsonrpc":"2.0","id":`+string(m.Head.ID)+`,`+answer+`}`))
}

func (s *script) Listen(ctx context.Context, _ http.Header, to transport.Receiver) {
	context.AfterFunc(ctx, func() { to.Done(nil) })
}

func (s *script) Close() error { return nil }

// scripted is an older client before a modern server that gives these answers.
func scripted(t *testing.T, answers ...string) (*caller, *script) {
	server := &script{answers: answers}
	b := Legacy(server, Options{})
	t.Cleanup(func() { _ = b.Close() })
	c := legacyCaller(t, b)
	c.asks = func(string, []byte) string { return accept("", "") }
	return c, server
}

var upTests = map[string]func(*testing.T){
	"opening": func(t *testing.T) {
		_, s, p := up(t)
		if st := s.Stats(); st.Discovered != 1 || st.Initialized != 0 {
			t.Errorf("discovered %d times, initialized %d times", st.Discovered, st.Initialized)
		}
		lacks(t, p.transcript(), `"method":"initialize"`, "notifications/initialized")
	},
	"version": func(t *testing.T) {
		c, _, _ := up(t)
		for asked, got := range map[string]string{"2024-11-05": "2024-11-05", "2025-06-18": "2025-06-18", "1999-01-01": "2025-11-25", "2026-07-28": "2025-11-25"} {
			has(t, c.call("initialize", `"protocolVersion":"`+asked+`","capabilities":{},"clientInfo":{"name":"c","version":"1"}`), `"protocolVersion":"`+got+`"`)
		}
		has(t, c.call("initialize", `"capabilities":{}`), `"code":-32602`)
		b := Legacy(overPipe(t, toolserver.New(toolserver.Options{Versions: toolserver.LegacyOnly})), Options{})
		t.Cleanup(func() { _ = b.Close() })
		old := &caller{t: t, p: b, heard: make(chan string, 10)}
		has(t, old.call("initialize", `"protocolVersion":"2025-11-25"`), `"error"`, "refused server/discover")
	},
	"capabilities": func(t *testing.T) {
		c, _, p := upWith(t, Options{}, toolserver.Options{Tasks: true})
		r := c.call("initialize", `"protocolVersion":"2025-11-25","capabilities":{"roots":{"listChanged":true},"tasks":{"list":{}},"experimental":{"x":{}}},"clientInfo":{"name":"c","version":"1"}`)
		has(t, r, `"tools":{"listChanged":true}`, `"logging":{}`)
		lacks(t, r, "tasks")
		has(t, p.transcript(), `"io.modelcontextprotocol/clientCapabilities":{"roots":{},"experimental":{"x":{}}}`)
	},
	"server information": func(t *testing.T) {
		c, _, p := up(t)
		r := c.call("initialize", `"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"zed","version":"2"}`)
		has(t, r, `"serverInfo":{"name":"toolserver","version":"1.0.0"}`, `"instructions":"A server to test with."`)
		c.tool("echo", `{}`)
		has(t, p.transcript(), `"io.modelcontextprotocol/clientInfo":{"name":"zed","version":"2"}`)
		d, _ := scripted(t, `"result":{}`)
		has(t, d.call("initialize", `"protocolVersion":"2025-11-25"`), `"serverInfo":{"name":"unnamed"`)
	},
	"request metadata": func(t *testing.T) {
		c, _, _ := up(t)
		r := c.call("tools/call", `"name":"params","arguments":{"big":9007199254740993},"zeta":1,"_meta":{"traceparent":"00-x"}`)
		has(t, r, `\"big\":9007199254740993`, `\"zeta\":1`, `\"traceparent\":\"00-x\"`,
			`\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"`, `\"io.modelcontextprotocol/clientInfo\":{\"name\":\"c\"`, `\"io.modelcontextprotocol/clientCapabilities\":{\"roots\":{}`)
		has(t, c.start("77", "tools/list", "").wait(t), `"tools":[`)
	},
	"ids": func(t *testing.T) {
		c, _, _ := up(t)
		a := c.start("1.0", "tools/call", `"name":"slow","arguments":{"ms":60}`)
		has(t, c.start("1.0", "tools/call", `"name":"echo"`).wait(t), `"code":-32600`)
		has(t, a.wait(t), `"id":1.0,`, "done after")
		c.asks = func(string, []byte) string { return accept("", "") }
		has(t, c.start(`"q"`, "tools/call", `"name":"ask"`).wait(t), `"id":"q"`, "answers:")
	},
	"tools": func(t *testing.T) {
		c, s, _ := up(t)
		has(t, c.call("tools/list", ""), `"name":"echo"`)
		has(t, c.tool("bigint", `{}`), `{"z":9007199254740993,"a":12345678901234567890123,"tiny":1.0e-400,"zero":1.10}`)
		has(t, c.tool("unknown_fields", `{}`), `"zeta":{"b":1,"a":[1, 2,  3]},"content"`)
		has(t, c.tool("error", `{}`), `"isError":true`, `"resultType":"complete"`)
		c.tool("write", `{}`)
		c.tool("write", `{}`)
		if n := s.Stats().Writes; n != 2 {
			t.Errorf("two writes arrived as %d", n)
		}
	},
	"structured output": func(t *testing.T) {
		c, _, _ := up(t)
		has(t, c.tool("structured", `{}`), `"structuredContent":{"temperature":21.50,"sky":"clear"}`)
	},
	"large results": func(t *testing.T) {
		c, _, _ := up(t)
		c.asks = func(string, []byte) string { return accept("", "") }
		for _, extra := range []string{"", `,"id_last":true`} {
			r := c.tool("big", `{"bytes":3000000,"needle":"the end"`+extra+`}`)
			if len(r) < 3_000_000 || !strings.Contains(r, "the end") {
				t.Errorf("%d bytes: %.100s", len(r), r)
			}
		}
	},
	"caching": func(t *testing.T) {
		c, _, _ := up(t)
		has(t, c.call("tools/list", ""), `"ttlMs":60000`) // left in: older clients skip what they do not know
	},
	"pagination": func(t *testing.T) {
		c, _, _ := upWith(t, Options{}, toolserver.Options{PageSize: 3})
		has(t, c.call("tools/list", ""), `"nextCursor":"at-3"`)
		has(t, c.call("tools/list", `"cursor":"at-3"`), `"nextCursor":"at-6"`)
	},
	"resources": func(t *testing.T) {
		c, _, _ := up(t)
		has(t, c.call("resources/list", ""), "test://small/1")
		has(t, c.call("resources/templates/list", ""), "test://large/{bytes}")
		has(t, c.call("resources/read", `"uri":"test://small/2"`), `"text":"resource 2"`)
	},
	"resource not found": func(t *testing.T) {
		c, _, _ := up(t)
		has(t, c.call("resources/read", `"uri":"test://no"`), `"code":-32002`, `"data":{"uri":"test://no"}`)
		has(t, c.call("resources/read", ``), `"code":-32602`) // without a uri in data it is what it says
	},
	"resource subscriptions": func(t *testing.T) {
		c, s, _ := up(t)
		has(t, c.call("resources/subscribe", `"uri":"test://small/1"`), `"result":{}`)
		has(t, c.call("resources/subscribe", `"uri":"test://small/2"`), `"result":{}`)
		c.call("resources/unsubscribe", `"uri":"test://small/1"`)
		wait.Until(t, "the server is listened to", func() bool { return s.Stats().Listens == 1 })
		s.Change("resource", "test://small/1")
		s.Change("resource", "test://small/2")
		r := c.hear("resources/updated")
		has(t, r, `"uri":"test://small/2"`)
		lacks(t, r, "subscriptionId")
		has(t, c.call("resources/subscribe", `"x":1`), `"code":-32602`)
	},
	"list changes": func(t *testing.T) {
		c, s, _ := up(t)
		wait.Until(t, "the server is listened to", func() bool { return s.Stats().Listens == 1 })
		s.Change("tools", "")
		lacks(t, c.hear("tools/list_changed"), "subscriptionId")
		s.Change("prompts", "")
		c.hear("prompts/list_changed")
	},
	"prompts": func(t *testing.T) {
		c, _, _ := up(t)
		c.asks = func(string, []byte) string { return accept("", "") }
		has(t, c.call("prompts/list", ""), `"name":"greet"`)
		has(t, c.call("prompts/get", `"name":"greet","arguments":{"name":"Ann"}`), "Hello, Ann!")
		has(t, c.call("prompts/get", `"name":"ask"`), "Answer: ")
	},
	"completion": func(t *testing.T) {
		c, _, _ := up(t)
		has(t, c.call("completion/complete", `"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"name","value":"par"}`), `"values":["paris","park","party"]`)
	},
	"progress": func(t *testing.T) {
		c, _, _ := up(t)
		c.call("tools/call", `"name":"slow","arguments":{"ms":4,"steps":2},"_meta":{"progressToken":5}`)
		has(t, c.hear("notifications/progress"), `"progressToken":5`, `"progress":1`)
		has(t, c.hear("notifications/progress"), `"progress":2`)
	},
	"cancellation": func(t *testing.T) {
		c, s, _ := up(t)
		call := c.start("5", "tools/call", `"name":"silent"`)
		wait.Until(t, "the call has begun", func() bool { return s.Stats().Calls == 1 })
		c.send(t.Context(), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`, transport.Funcs{})
		has(t, call.wait(t), "canceled")
		wait.Until(t, "the call is cancelled", func() bool { return s.Stats().Cancelled == 1 && s.Stats().Calls == 1 })
		call = c.start("6", "tools/call", `"name":"ask"`) // nobody answers
		c.hear("request elicitation/create")
		c.send(t.Context(), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":6}}`, transport.Funcs{})
		has(t, call.wait(t), "canceled")
		has(t, c.hear("notifications/cancelled"), `"requestId":"plimsoll-`)
	},
	"logging": func(t *testing.T) {
		c, _, p := up(t)
		c.tool("log", `{"text":"unasked"}`)
		has(t, c.call("logging/setLevel", `"level":"warning"`), `"result":{}`)
		has(t, c.call("logging/setLevel", `"level":"loud"`), `"code":-32602`)
		c.tool("log", `{"level":"info","text":"low"}`)
		c.tool("log", `{"level":"error","text":"high"}`)
		has(t, c.hear("notifications/message"), "high 1")
		has(t, p.transcript(), `"io.modelcontextprotocol/logLevel":"warning"`)
		lacks(t, p.transcript(), "logging/setLevel")
	},
	"elicitation, form": func(t *testing.T) {
		c, s, _ := up(t)
		c.asks = func(method string, params []byte) string {
			has(t, method+string(params), "elicitation/create", `"requestedSchema":{`)
			return accept("", "")
		}
		has(t, c.tool("ask", `{"rounds":2}`), "answers:", "Zoë", "9007199254740993")
		if n := s.Stats().Calls; n != 3 {
			t.Errorf("%d rounds", n)
		}
		c.asks = func(string, []byte) string { return "error: cannot" }
		has(t, c.tool("ask", `{}`), `\"action\":\"cancel\"`)
	},
	"elicitation, URL": func(t *testing.T) {
		c, _, _ := up(t)
		var id string
		c.asks = func(_ string, params []byte) string {
			var p struct{ Mode, URL, ElicitationID string }
			_ = json.Unmarshal(params, &p)
			if id = p.ElicitationID; id == "" || p.Mode != "url" || p.URL == "" {
				t.Errorf("asked with %s", params)
			}
			return `{"action":"accept"}`
		}
		has(t, c.tool("ask", `{"mode":"url"}`), "answers:")
		has(t, c.hear("elicitation/complete"), id)
	},
	"sampling": func(t *testing.T) {
		c, _, _ := up(t)
		c.asks = func(method string, params []byte) string {
			has(t, method+string(params), "sampling/createMessage", `"maxTokens":100`)
			return `{"role":"assistant","model":"m","content":{"type":"text","text":"sampled text"}}`
		}
		has(t, c.tool("sample", `{}`), "sampled text")
		c.asks = func(string, []byte) string { return "error: no model" }
		has(t, c.tool("sample", `{}`), `"code":-32603`, "no model")
	},
	"roots": func(t *testing.T) {
		c, _, p := up(t)
		c.asks = func(string, []byte) string { return `{"roots":[{"uri":"file:///w"}]}` }
		has(t, c.tool("roots", `{}`), "file:///w")
		c.send(t.Context(), `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, transport.Funcs{})
		lacks(t, p.transcript(), "roots/list_changed")
	},
	"several inputs at once": func(t *testing.T) {
		c, s, _ := up(t)
		c.asks = func(string, []byte) string { return accept("", "") }
		has(t, c.tool("ask", `{"several":3}`), "answers:")
		if n := s.Stats().Calls; n != 2 {
			t.Errorf("%d rounds", n)
		}
	},
	"request state": func(t *testing.T) {
		const state = `"a\u00e9\/ \"<&>"`
		c, server := scripted(t,
			`"result":{"resultType":"input_required","requestState":`+state+`,"inputRequests":{"k\u0031":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}}}`,
			`"result":{"resultType":"input_required","requestState":"only patience"}`,
			`"result":{"resultType":"complete","content":[]}`)
		r := c.tool("x", `{"a":1.50}`)
		has(t, r, `"id":2,`, `"resultType":"complete"`)
		has(t, server.params[1], `"requestState":`+state, `"inputResponses":{"k\u0031":`+accept("", "")+`}`, `{"a":1.50}`)
		has(t, server.params[2], `"requestState":"only patience"`)
		lacks(t, server.params[2], "inputResponses")
		lacks(t, server.params[0], "requestState")
	},
	"missing capability": func(t *testing.T) {
		c, _, _ := up(t)
		c.call("initialize", `"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}`)
		has(t, c.tool("ask", `{}`), `"code":-32021`, "elicitation")
		d, _ := scripted(t, `"result":{"resultType":"input_required","inputRequests":{"a":{"method":"com.example/ask"}}}`)
		has(t, d.tool("x", `{}`), `"code":-32603`, "com.example/ask")
		d, _ = scripted(t, `"result":{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}}}`)
		d.call("initialize", `"protocolVersion":"2025-11-25","capabilities":{}`)
		has(t, d.tool("x", `{}`), `"code":-32603`, "did not declare")
	},
	"tasks": func(t *testing.T) {
		c, _, p := upWith(t, Options{}, toolserver.Options{Tasks: true})
		for _, m := range []string{"tasks/get", "tasks/list", "tasks/result", "tasks/cancel"} {
			has(t, c.call(m, `"taskId":"x"`), `"code":-32601`)
		}
		has(t, c.call("tools/call", `"name":"slow","arguments":{"ms":1},"task":{"ttl":1000}`), "done after")
		lacks(t, p.transcript(), `"task"`)
		d, _ := scripted(t, `"result":{"resultType":"task","taskId":"x"}`)
		has(t, d.tool("x", `{}`), `"code":-32603`, `type \"task\"`)
	},
	"ping": func(t *testing.T) {
		c, _, p := up(t)
		has(t, c.call("ping", ""), `"result":{}`)
		lacks(t, p.transcript(), "ping")
	},
	"errors": func(t *testing.T) {
		c, _, _ := up(t)
		has(t, c.tool("nothing", `{}`), `"code":-32602`, "Unknown tool")
		has(t, c.tool("huge_error", `{"bytes":200000,"protocol":true}`), `"code":-32603`)
	},
	"lost server": func(t *testing.T) {
		c, _, _ := up(t)
		has(t, c.tool("die", `{}`), "done: the server is gone")
	},
	"resumption": func(t *testing.T) {
		c, _, p := up(t)
		n := &c.p.(*legacy).subscriptionRelay
		wait.Until(t, "the server is listened to", func() bool {
			n.mu.Lock()
			defer n.mu.Unlock()
			return n.current != nil
		})
		// The server ends the subscription; another one is made.
		n.mu.Lock()
		s := n.current
		n.mu.Unlock()
		n.reopenIfBroken(s, context.Background())
		wait.Until(t, "the server is listened to again", func() bool { return strings.Count(p.transcript(), "subscriptions/listen") == 2 })
	},
	"end of a session": func(t *testing.T) {
		c, s, _ := up(t)
		call := c.start("5", "tools/call", `"name":"silent"`)
		wait.Until(t, "the call has begun", func() bool { return s.Stats().Calls == 1 })
		_ = c.p.Close()
		has(t, call.wait(t), "closing")
		wait.Until(t, "all is closed", func() bool { return s.Stats().Open == 0 })
	},
	"headers": func(t *testing.T) {
		b := Legacy(overHTTP(t, toolserver.New(toolserver.Options{Versions: toolserver.ModernOnly}).Handler()), Options{})
		t.Cleanup(func() { _ = b.Close() })
		c := legacyCaller(t, b)
		c.asks = func(string, []byte) string { return accept("", "") }
		r := c.tool("headers", `{}`)
		has(t, r, "Mcp-Method", "Mcp-Name", "2026-07-28")
		lacks(t, r, "Mcp-Session-Id")
		has(t, c.tool("ask", `{}`), "answers:")
		has(t, c.tool("nothing", `{}`), `"code":-32602`)
	},
	"other methods": func(t *testing.T) {
		c, _, p := up(t)
		has(t, c.call("com.example/thing", `"a":1`), `"code":-32601`)
		has(t, p.transcript(), `"com.example/thing"`)
		has(t, c.call("subscriptions/listen", `"notifications":{}`), `"code":-32601`)
	},
}

// A subscription that failed is none: the next try asks the server again.
func TestAFailedSubscriptionIsNone(t *testing.T) {
	c, _, _ := up(t)
	n := &c.p.(*legacy).subscriptionRelay
	wait.Until(t, "the server is listened to", func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return n.current != nil
	})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := n.subscribe(gone, []byte(`{"uri":"test://small/1"}`), true); err == nil {
		t.Error("subscribed by a client that is gone")
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.uris) > 0 {
		t.Errorf("%q are still taken as subscribed to: the next try would be answered and do nothing", n.uris)
	}
}
