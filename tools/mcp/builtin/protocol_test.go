package builtin_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

func echo(_ context.Context, c *builtin.Call) (*builtin.Result, error) {
	return &builtin.Result{Text: string(c.Arguments)}, nil
}

func TestInitializeAgreesOnAVersion(t *testing.T) {
	p := newServer(t, builtin.Options{Name: "argo", Title: "Argo", Version: "1.2", Instructions: "Ask \"first\"."}).Dial()
	for wanted, want := range map[string]string{
		"2025-11-25": "2025-11-25", "2025-06-18": "2025-06-18", "2024-11-05": "2024-11-05", "2026-07-28": "2025-11-25", "1999-01-01": "2025-11-25",
	} {
		got := ask(t, p, `{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"`+wanted+`","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
		var m struct {
			ID     string
			Result struct {
				ProtocolVersion, Instructions string
				Capabilities                  map[string]any
				ServerInfo                    struct{ Name, Title, Version string }
			}
		}
		if err := json.Unmarshal(got.frames[0], &m); err != nil {
			t.Fatal(err)
		}
		r := m.Result
		if m.ID != "a" || r.ProtocolVersion != want || r.ServerInfo.Name != "argo" || r.ServerInfo.Title != "Argo" || r.ServerInfo.Version != "1.2" ||
			r.Instructions != `Ask "first".` || len(r.Capabilities) != 1 {
			t.Errorf("%s: %s", wanted, got.frames[0])
		}
	}
	ask(t, p, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`).refused(t, jsonrpc.CodeParams, "protocolVersion")
}

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func TestTheNewerEra(t *testing.T) {
	p := newServer(t, builtin.Options{Tools: []builtin.Tool{tool("echo", echo)}}).Dial()
	got := ask(t, p, `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{`+meta+`}}`)
	want := `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","ttlMs":300000,"cacheScope":"public","supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"test","version":"0.0.0"}}}}`
	if string(got.frames[0]) != want {
		t.Errorf("got  %s\nwant %s", got.frames[0], want)
	}
	if r := ask(t, p, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo",`+meta+`}}`).last(t); r.Result.ResultType != "complete" || r.Result.Content[0].Text != "{}" {
		t.Errorf("%+v", r.Result)
	}
	other := strings.Replace(meta, "2026-07-28", "2031-01-01", 1)
	got = ask(t, p, `{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{`+other+`}}`)
	got.refused(t, jsonrpc.CodeVersion)
	if data := string(got.last(t).Error.Data); !strings.Contains(data, `"supported":["2026-07-28"`) || !strings.Contains(data, `"requested":"2031-01-01"`) {
		t.Error(data)
	}
	ask(t, p, `{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`).
		refused(t, jsonrpc.CodeParams, "clientCapabilities")
	ask(t, p, `{"jsonrpc":"2.0","id":5,"method":"ping","params":{`+meta+`}}`).refused(t, jsonrpc.CodeMethod)
	got = ask(t, p, `{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},`+meta+`}}`)
	if len(got.frames) != 2 || got.err != nil ||
		string(got.frames[0]) != `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"s"},"notifications":{}}}` {
		t.Errorf("%s", got.frames)
	}
}

func TestTheListIsOneSortedPageWithAllHints(t *testing.T) {
	tools := []builtin.Tool{tool("zeta", echo), tool("alpha", echo)}
	tools[1].Title, tools[1].Hints = "A", builtin.Hints{ReadOnly: true, Idempotent: true}
	tools[1].Input = json.RawMessage("{ \"type\": \"object\",\n \"properties\": {\"n\": {\"type\": \"integer\"}} }")
	p := newServer(t, builtin.Options{Tools: tools}).Dial()
	got := ask(t, p, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	want := `{"jsonrpc":"2.0","id":1,"result":{"tools":[` +
		`{"name":"alpha","title":"A","description":"Does alpha.","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}}},"annotations":{"readOnlyHint":true,"openWorldHint":false}},` +
		`{"name":"zeta","description":"Does zeta.","inputSchema":{"type":"object","additionalProperties":false},"annotations":{"destructiveHint":false,"openWorldHint":false}}]}}`
	if string(got.frames[0]) != want {
		t.Errorf("got  %s\nwant %s", got.frames[0], want)
	}
	ask(t, p, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"2"}}`).refused(t, jsonrpc.CodeParams, "one page")
}

func TestWhatIsNotUnderstoodIsRefused(t *testing.T) {
	p := newServer(t, builtin.Options{Tools: []builtin.Tool{tool("list_applications", echo)}}).Dial()
	for raw, want := range map[string]struct {
		code int
		say  string
	}{
		`{"jsonrpc":"2.0","id":1,"method":"resources/list"}`:                                                              {jsonrpc.CodeMethod, "resources/list"},
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[1]}`:                                                     {jsonrpc.CodeParams, "must be an object"},
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`:                                                      {jsonrpc.CodeParams, "name"},
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}`:                                              {jsonrpc.CodeParams, "name"},
		`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`:                                                                  {jsonrpc.CodeParams, "name"},
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"listApplications"}}`:                             {jsonrpc.CodeParams, `did you mean "list_applications"?`},
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + strings.Repeat("x", 1<<20) + `"}}`:           {jsonrpc.CodeParams, "tools/list names"},
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_applications","arguments":[1]}}`:            {jsonrpc.CodeParams, "must be an object"},
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_applications","arguments":{"a":1-2}}}`:      {jsonrpc.CodeParams, "no valid JSON"},
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{}}`:                                            {jsonrpc.CodeParams, "notifications"},
		`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("m", 10_000) + `"}`:                                         {jsonrpc.CodeMethod, "…"},
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_applications","arguments":{"a":"\u00zz"}}}`: {jsonrpc.CodeParams, "no valid JSON"},
	} {
		r := ask(t, p, raw)
		r.refused(t, want.code, want.say)
		if len(r.frames[0]) > 1000 {
			t.Errorf("%d bytes of an error for %.60s", len(r.frames[0]), raw)
		}
	}
	for _, raw := range []string{
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled"}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":[1]}`, `{"jsonrpc":"2.0","id":4,"result":{}}`,
	} {
		if r := ask(t, p, raw); len(r.frames) > 0 || r.err != nil {
			t.Errorf("%s: %s %v", raw, r.frames, r.err)
		}
	}
	for _, raw := range []string{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}`} {
		if r := ask(t, p, raw); string(r.frames[0]) != `{"jsonrpc":"2.0","id":1,"result":{}}` {
			t.Errorf("%s: %s", raw, r.frames)
		}
	}
}

func TestNewRefusesWhatClientsWould(t *testing.T) {
	with := func(change func(*builtin.Tool)) builtin.Options {
		a := tool("a", echo)
		change(&a)
		return builtin.Options{Name: "s", Tools: []builtin.Tool{a}}
	}
	for want, o := range map[string]builtin.Options{
		"Name is empty":          {},
		"two tools called \"a\"": {Name: "s", Tools: []builtin.Tool{tool("a", echo), tool("a", echo)}},
		"1 to 64 characters":     with(func(t *builtin.Tool) { t.Name = strings.Repeat("a", 65) }),
		"of the characters":      with(func(t *builtin.Tool) { t.Name = "a.b" }),
		"2049 bytes":             with(func(t *builtin.Tool) { t.Description = strings.Repeat("d", 2049) }),
		"not UTF-8":              with(func(t *builtin.Tool) { t.Description = "\xff" }),
		"it has no Run":          with(func(t *builtin.Tool) { t.Run = nil }),
		"no JSON Schema":         with(func(t *builtin.Tool) { t.Input = json.RawMessage(`{"type":`) }),
		"of type \"array\"":      with(func(t *builtin.Tool) { t.Input = json.RawMessage(`{"type":"array"}`) }),
		"no valid JSON Schema":   with(func(t *builtin.Tool) { t.Input = json.RawMessage(`{"type":"object","$ref":"#/$defs/none"}`) }),
		"instructions":           {Name: "s", Instructions: strings.Repeat("i", builtin.MaxInstructions+1)},
		"a struct is needed":     {Name: "s", Tools: []builtin.Tool{builtin.Typed(tool("a", nil), func(context.Context, *builtin.Call, int) (*builtin.Result, error) { return nil, nil })}},
	} {
		if _, err := builtin.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

func TestListenEndsWithItsContext(t *testing.T) {
	p := newServer(t, builtin.Options{}).Dial()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	p.Listen(ctx, nil, transport.Funcs{OnDone: func(err error) { done <- err }})
	select {
	case <-done:
		t.Error("Done before the end")
	default:
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
