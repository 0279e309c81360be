package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/toolserver"
	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/journal"
)

// names are those of the tools in a list.
func (c *client) names(a answer) (names []string) {
	c.t.Helper()
	for _, raw := range c.ok(a).Tools {
		var tool struct{ Name string }
		if err := json.Unmarshal(raw, &tool); err != nil {
			c.t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	return names
}

func TestToolsThatAreNotAllowedAreHiddenAndRefused(t *testing.T) {
	each(t, gateway.Settings{Allow: []string{"w*", "list", "echo"}, Deny: []string{"wr*"}}, func(t *testing.T, r *rig, c *client) {
		for _, tool := range []string{"write", "counter"} { // before any list too
			code, text := c.refused(c.call(tool, `{}`))
			if code != jsonrpc.CodeParams || !strings.Contains(text, "not allowed here") {
				t.Errorf("%s: %d %s", tool, code, text)
			}
		}
		names := c.names(c.do("tools/list", ""))
		if slices.Contains(names, "write") || slices.Contains(names, "counter") || !slices.Contains(names, "list") || !slices.Contains(names, "result_page") {
			t.Errorf("listed: %v", names)
		}
		c.ok(c.call("echo", `{"text":"x"}`))
		if s := r.ts.Stats(); s.Writes != 0 {
			t.Error("the write reached the server")
		}
	})
}

// A server in Go reads "Name" as "name", and of two members one library takes the first and
// another the last: what the policy looks at must be all that a server could go by.
func TestCallsThatAServerMayReadOtherwiseAreRefused(t *testing.T) {
	each(t, gateway.Settings{Deny: []string{"write"}}, func(t *testing.T, r *rig, c *client) {
		for _, params := range []string{
			`"name":"echo","Name":"write","arguments":{}`,
			`"Name":"write","arguments":{}`,
			`"NAME":"write","name":"echo","arguments":{}`,
			`"name":"echo","n\u0061me":"write","arguments":{}`,
			`"name":"write","name":"echo","arguments":{}`,
			`"name":["write"],"arguments":{}`,
			`"name":"echo","arguments":{}},"Params":{"name":"write","arguments":{}`,
		} {
			if _, text := c.refused(c.do("tools/call", params)); text == "" {
				t.Errorf("%s: refused without a word", params)
			}
		}
		// What has no answer is not done either.
		c.send(t.Context(), []byte(`{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"write","arguments":{}}}`))
		c.ok(c.call("echo", `{"Name":"write","text":"x"}`)) // an argument is the tool's own
		if s := r.ts.Stats(); s.Writes != 0 {
			t.Errorf("%d writes reached the server", s.Writes)
		}
	})
}

func TestReadOnlyModeGoesByWhatToolsSay(t *testing.T) {
	each(t, gateway.Settings{ReadOnly: true}, func(t *testing.T, r *rig, c *client) {
		if _, text := c.refused(c.call("write", `{}`)); !strings.Contains(text, "readOnlyHint") { // no list was asked for yet
			t.Errorf("refused: %s", text)
		}
		c.ok(c.call("counter", `{}`))
		for _, name := range c.names(c.do("tools/list", "")) {
			if name == "write" || name == "change" {
				t.Errorf("%s is listed", name)
			}
		}
		if r.ts.Stats().Writes != 0 || r.journal.Counts()["tools.refused"] != 1 {
			t.Errorf("writes %d, refused %d", r.ts.Stats().Writes, r.journal.Counts()["tools.refused"])
		}
	})
}

func TestCapsGoByTheClientAndTheConfiguration(t *testing.T) {
	for _, c := range []struct {
		client string
		set    gateway.Limits
		bytes  int
		paged  bool
	}{
		{"Visual Studio Code - Insiders", gateway.Limits{}, 9000, true},
		{"someone", gateway.Limits{}, 9000, false},
		{"someone", gateway.Limits{}, 11000, true},
		{"codex-mcp-client", gateway.Limits{}, 11000, true},
		{"gemini-cli-mcp-client", gateway.Limits{}, 39000, false},
		{"claude-code", gateway.Limits{}, 49000, false},
		{"claude-code", gateway.Limits{}, 52000, true},
		{"claude-code", gateway.Limits{Cap: 2000}, 3000, true},
		{"someone", gateway.Limits{Cap: -1, MaxItems: -1}, 900000, false},
	} {
		r := newRig(t, defaultServer, false, gateway.Settings{Limits: c.set})
		got := onPeer(t, r.server.Local(), false).begin(c.client)
		a := got.ok(got.call("big", fmt.Sprintf(`{"kind":"text","bytes":%d}`, c.bytes)))
		if paged := a.Meta.Page != nil; paged != c.paged {
			t.Errorf("%s, %+v, %d bytes: paged %v, want %v", c.client, c.set, c.bytes, paged, c.paged)
		}
	}
	r := newRig(t, defaultServer, false, gateway.Settings{Tools: map[string]gateway.Limits{"list": {Cap: 1 << 20, MaxItems: -1}}})
	c := onPeer(t, r.server.Local(), false).begin("someone")
	if a := c.ok(c.call("list", `{"items":400}`)); a.Meta.Page != nil {
		t.Error("the limits of one tool do not count")
	}
	if a := c.ok(c.call("big", `{"kind":"json","items":101}`)); a.Meta.Page == nil {
		t.Error("101 small items were not paged")
	}
}

func TestSmallStructuredContentPassesWithItsSchema(t *testing.T) {
	r := newRig(t, defaultServer, false, gateway.Settings{})
	c := onPeer(t, r.server.Local(), false).begin("someone")
	if !strings.Contains(string(c.do("tools/list", "").raw), "outputSchema") {
		t.Error("no output schema is listed")
	}
	if a := c.ok(c.call("structured", `{}`)); a.Structured == nil {
		t.Error("a small structured result lost its structure")
	}
}

func TestTwoRequestsOfOneIDAreNotTaken(t *testing.T) {
	r := newRig(t, defaultServer, false, gateway.Settings{})
	p := r.server.Local()
	c := onPeer(t, p, false).begin("someone")
	message := c.message("tools/call", `"name":"slow","arguments":{"ms":60000}`, "")
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan answer, 1)
	head, err := jsonrpc.Scan(message)
	if err != nil {
		t.Fatal(err)
	}
	p.Send(ctx, transport.Message{Raw: message, Head: head}, transport.Funcs{OnDone: func(error) { first <- answer{} }})
	if code, _ := c.refused(c.send(t.Context(), message)); code != jsonrpc.CodeInvalidRequest {
		t.Errorf("the second got %d", code)
	}
	cancel()
	<-first
	c.ok(c.call("echo", `{"text":"x"}`))
}

func TestOtherCallsAreAnsweredWhileOneWaits(t *testing.T) {
	each(t, gateway.Settings{}, func(t *testing.T, r *rig, c *client) {
		page := c.ok(c.call("big", `{"items":500}`)).Meta.Page
		ctx, cancel := context.WithCancel(t.Context())
		waiting := make(chan answer, 1)
		go func() { waiting <- c.send(ctx, c.message("tools/call", `"name":"slow","arguments":{"ms":60000}`, "")) }()
		c.ok(c.call("echo", `{"text":"x"}`))
		c.ok(c.call("result_page", fmt.Sprintf(`{"handle":%q,"page":2}`, page.Handle)))
		cancel()
		<-waiting
	})
}

func TestProgressTellsHowMuchHasCome(t *testing.T) {
	r := newRig(t, defaultServer, false, gateway.Settings{})
	c := onPeer(t, r.server.Local(), false).begin("someone")
	a := c.send(t.Context(), c.message("tools/call", `"name":"big","arguments":{"bytes":60000000,"kind":"json"}`, `"tok"`))
	c.ok(a)
	last := -1.0
	for _, raw := range a.news {
		var n struct {
			Method string
			Params struct {
				ProgressToken string
				Progress      float64
				Message       string
			}
		}
		if err := json.Unmarshal(raw, &n); err != nil || n.Method != "notifications/progress" || n.Params.ProgressToken != "tok" ||
			n.Params.Progress <= last || !strings.Contains(n.Params.Message, "so far; handle r_") {
			t.Errorf("%s", raw)
		}
		last = n.Params.Progress
	}
	if len(a.news) == 0 {
		t.Error("no progress was told")
	}
	if a := c.call("big", `{"bytes":60000000,"kind":"json"}`); len(a.news) != 0 {
		t.Error("progress was told to a call without a token")
	}
}

func TestAServerWithoutToolsGetsThoseThatRead(t *testing.T) {
	next := &scripted{answers: map[string]string{
		"initialize":     `{"protocolVersion":"2025-11-25","capabilities":{"resources":{}},"serverInfo":{"name":"s","version":"1"},"x":1.50}`,
		"resources/read": `{"contents":[{"uri":"a:b","text":"` + strings.Repeat("line of text\\n", 4000) + `"}]}`,
	}}
	c := onPeer(t, gateway.New(gateway.Options{Name: "s", Next: next, Spool: newSpool(t, nil)}), false)
	a := c.do("initialize", `"clientInfo":{"name":"x"}`)
	if !strings.Contains(string(a.raw), `"capabilities":{"resources":{},"tools":{}}`) || !strings.Contains(string(a.raw), `"x":1.50`) {
		t.Errorf("initialize: %s", a.raw)
	}
	if names := c.names(c.do("tools/list", "")); len(names) != 3 {
		t.Errorf("tools: %v", names)
	}
	var read struct {
		Result struct {
			Meta struct {
				Page struct{ Handle string } `json:"plimsoll/result"`
			} `json:"_meta"`
		}
	}
	if err := json.Unmarshal(c.do("resources/read", `"uri":"a:b"`).raw, &read); err != nil {
		t.Fatal(err)
	}
	if got := c.ok(c.call("result_page", `{"handle":"`+read.Result.Meta.Page.Handle+`","page":2}`)); got.IsError || !strings.Contains(got.text(), "line of text") {
		t.Errorf("page 2 of a resource: %.200s", got.text())
	}
}

func TestAServersOwnResultPageKeepsItsName(t *testing.T) {
	next := &scripted{answers: map[string]string{
		"tools/list": `{"tools":[{"name":"result_page","inputSchema":{}},{"name":"a","inputSchema":{}}]}`,
		"tools/call": `{"content":[{"type":"text","text":"the server's own"}]}`,
	}}
	c := onPeer(t, gateway.New(gateway.Options{Name: "s", Next: next, Spool: newSpool(t, nil)}), false)
	if names := fmt.Sprint(c.names(c.do("tools/list", ""))); names != "[result_page a plimsoll_result_page plimsoll_result_search plimsoll_result_query]" {
		t.Errorf("%s", names)
	}
	if a := c.ok(c.call("result_page", `{}`)); !strings.Contains(a.text(), "own") {
		t.Errorf("%s", a.text())
	}
	if a := c.ok(c.call("plimsoll_result_page", `{}`)); !a.IsError {
		t.Errorf("%s", a.text())
	}
}

func TestAPanicCostsOneCall(t *testing.T) {
	next := &scripted{answers: map[string]string{"tools/call": `{"content":[]}`}, panics: "prompts/get"}
	c := onPeer(t, gateway.New(gateway.Options{Name: "s", Next: next, Spool: newSpool(t, nil)}), false)
	if code, _ := c.refused(c.do("prompts/get", "")); code != jsonrpc.CodeInternal {
		t.Errorf("code %d", code)
	}
	c.ok(c.call("x", `{}`))
}

func TestACallWithoutAWordIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := &scripted{answers: map[string]string{}, silent: true}
		j := journal.New(journal.Options{})
		c := onPeer(t, gateway.New(gateway.Options{
			Name: "s", Next: next, Spool: nil, Journal: j,
			Settings: gateway.Settings{Limits: gateway.Limits{Timeout: 2 * time.Minute}},
		}), false)
		begun := time.Now()
		_, text := c.refused(c.call("x", `{}`))
		if d := time.Since(begun); d < 2*time.Minute || d > 2*time.Minute+2*time.Second || !strings.Contains(text, "2m0s") {
			t.Errorf("after %s: %s", d, text)
		}
	})
}

func TestAServerThatListsNothingIsNotAskedWithEveryCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := &scripted{answers: map[string]string{"tools/call": `{"content":[]}`}}
		c := onPeer(t, gateway.New(gateway.Options{Name: "s", Next: next, Settings: gateway.Settings{ReadOnly: true}}), false)
		for range 10 {
			c.refused(c.call("a", `{}`))
		}
		if n := next.asked("tools/list"); n != 1 {
			t.Errorf("the list was asked for %d times", n)
		}
		time.Sleep(time.Minute) // virtual
		next.revive(map[string]string{"tools/list": `{"tools":[{"name":"a","annotations":{"readOnlyHint":true}}]}`, "tools/call": `{"content":[]}`})
		c.ok(c.call("a", `{}`))
	})
}

// A server that is down when a client without a session comes is found when it is up.
func TestAServerThatWasDownIsFoundLater(t *testing.T) {
	next := &scripted{gone: true}
	s := gateway.NewServer(gateway.ServerOptions{Name: "s", Spool: newSpool(t, nil), Dial: func(gateway.Dialing) transport.Peer { return next }})
	c := onPeer(t, s.Local(), true)
	if a := c.do("server/discover", ""); a.err == nil {
		t.Errorf("a server that is gone answered %s", a.raw)
	}
	next.revive(map[string]string{"server/discover": `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"resultType":"complete"}`})
	c.ok(c.do("server/discover", ""))
}

func TestChangedToolsAreLookedAtAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := &scripted{answers: map[string]string{
			"tools/list": `{"tools":[{"name":"a","annotations":{"readOnlyHint":true}}]}`, "tools/call": `{"content":[]}`,
		}}
		p := gateway.New(gateway.Options{Name: "s", Next: next, Settings: gateway.Settings{ReadOnly: true}})
		c := onPeer(t, p, false)
		c.ok(c.call("a", `{}`))
		c.ok(c.call("a", `{}`))
		if n := next.asked("tools/list"); n != 1 {
			t.Errorf("the list was asked for %d times", n)
		}
		next.say(`{"tools":[{"name":"a"}]}`)
		ctx, cancel := context.WithCancel(t.Context())
		go p.Listen(ctx, nil, transport.Funcs{})
		synctest.Wait()
		time.Sleep(time.Minute) // virtual
		c.refused(c.call("a", `{}`))
		cancel()
		synctest.Wait()
	})
}

func TestToolserverOffersWhatTheTestsNeed(t *testing.T) {
	c := onPeer(t, dialStdio(toolserver.New(toolserver.Options{}))(gateway.Dialing{}), false).begin("someone")
	names := c.names(c.do("tools/list", ""))
	for _, want := range []string{"echo", "big", "write", "counter", "list", "slow", "cut"} {
		if !slices.Contains(names, want) {
			t.Errorf("no tool %s", want)
		}
	}
}
