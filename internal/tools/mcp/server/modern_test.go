package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
)

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func modernCall(id int, tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{},%s}}`, id, tool, meta)
}

func modernHeaders(tool string) []string {
	return []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", tool}
}

func TestModernRequests(t *testing.T) {
	p := newPlace(t, Options{}, false, nil)
	status, header, answer := p.post(modernCall(1, "echo"), modernHeaders("echo")...)
	if status != 200 || !strings.Contains(answer, "9007199254740993") || header.Get("Mcp-Session-Id") != "" {
		t.Errorf("%d %v %s", status, header, answer)
	}
	e := p.events(p.do(t.Context(), http.MethodPost, modernCall(1, "notes:1"), modernHeaders("notes:1")...))
	if v := e.want(`"progress":0`); v.id != "" {
		t.Errorf("an event of this version has id %q", v.id)
	}
	e.want(`"notes":1`)
	e.end()
	for code, want := range map[int]int{
		jsonrpc.CodeMethod: 404, jsonrpc.CodeVersion: 400, jsonrpc.CodeCapability: 400, jsonrpc.CodeHeader: 400,
		jsonrpc.CodeParams: 200, jsonrpc.CodeInternal: 200, -31999: 200,
	} {
		tool := fmt.Sprintf("code:%d", code)
		if status, _, answer := p.post(modernCall(1, tool), modernHeaders(tool)...); status != want || !strings.Contains(answer, fmt.Sprint(code)) {
			t.Errorf("error %d: %d, want %d: %s", code, status, want, answer)
		}
	}
	if status, _, _ := p.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, "Mcp-Protocol-Version", "2026-07-28"); status != 202 {
		t.Errorf("a notification: %d", status)
	}
	if status, _, _ := p.post(`{"jsonrpc":"2.0","id":1,"result":{}}`, "Mcp-Protocol-Version", "2026-07-28"); status != 400 {
		t.Errorf("a response: %d", status)
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		response := p.do(t.Context(), method, "", "Mcp-Protocol-Version", "2026-07-28")
		response.Body.Close()
		if response.StatusCode != 405 || response.Header.Get("Allow") != "POST" {
			t.Errorf("%s: %d", method, response.StatusCode)
		}
	}
	if len(p.servers) != 1 {
		t.Errorf("%d servers for one principal", len(p.servers))
	}
}

// What the headers say and what the message says must be one (SEP-2243).
func TestModernHeaders(t *testing.T) {
	p := newPlace(t, Options{}, false, nil)
	list := `{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{` + meta + `}}`
	version := []string{"Mcp-Protocol-Version", "2026-07-28"}
	with := func(more ...string) []string { return append(version[:2:2], more...) }
	for _, test := range []struct {
		what    string
		body    string
		headers []string
		status  int
		code    int
	}{
		{"another method", list, with("Mcp-Method", "prompts/list"), 400, jsonrpc.CodeHeader},
		{"no method", list, with(), 400, jsonrpc.CodeHeader},
		{"method in capitals", list, with("Mcp-Method", "TOOLS/LIST"), 400, jsonrpc.CodeHeader},
		{"name in capitals of the header", list, with("MCP-METHOD", "tools/list"), 404, jsonrpc.CodeMethod},
		{"no version", list, []string{"Mcp-Method", "tools/list"}, 400, jsonrpc.CodeHeader},
		{"another version", list, []string{"Mcp-Protocol-Version", "2027-01-01", "Mcp-Method", "tools/list"}, 400, jsonrpc.CodeHeader},
		{"a version of before", list, []string{"Mcp-Protocol-Version", "2025-11-25", "Mcp-Method", "tools/list"}, 400, jsonrpc.CodeHeader},
		{"no _meta", `{"jsonrpc":"2.0","id":5,"method":"server/discover","params":{}}`, with("Mcp-Method", "server/discover"), 400, jsonrpc.CodeParams},
		{"no params", `{"jsonrpc":"2.0","id":5,"method":"server/discover"}`, with("Mcp-Method", "server/discover"), 400, jsonrpc.CodeParams},
		{"params no object", `{"jsonrpc":"2.0","id":5,"method":"server/discover","params":[1]}`, with("Mcp-Method", "server/discover"), 400, jsonrpc.CodeParams},
		{
			"no capabilities", `{"jsonrpc":"2.0","id":5,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
			with("Mcp-Method", "server/discover"), 400, jsonrpc.CodeParams,
		},
		{"another name", modernCall(5, "echo"), with("Mcp-Method", "tools/call", "Mcp-Name", "wrong"), 400, jsonrpc.CodeHeader},
		{"no name", modernCall(5, "echo"), with("Mcp-Method", "tools/call"), 400, jsonrpc.CodeHeader},
		{"name with space around", modernCall(5, "echo"), with("Mcp-Method", "tools/call", "Mcp-Name", "  echo  "), 200, 0},
		{"name in Base64", modernCall(5, "echo"), with("Mcp-Method", "tools/call", "Mcp-Name", "=?base64?ZWNobw==?="), 200, 0},
		{"another name in Base64", modernCall(5, "echo"), with("Mcp-Method", "tools/call", "Mcp-Name", "=?base64?ZWNoYQ==?="), 400, jsonrpc.CodeHeader},
		{"Base64 without padding", modernCall(5, "echo"), with("Mcp-Method", "tools/call", "Mcp-Name", "=?base64?ZWNobw?="), 400, jsonrpc.CodeHeader},
		{"no Base64", modernCall(5, "echo"), with("Mcp-Method", "tools/call", "Mcp-Name", "=?base64?ZW!!!==?="), 400, jsonrpc.CodeHeader},
		{"half a mark", modernCall(5, "=?base64?ZWNobw=="), with("Mcp-Method", "tools/call", "Mcp-Name", "=?base64?ZWNobw=="), 0, 0},
		{"raw UTF-8", modernCall(5, "ö"), with("Mcp-Method", "tools/call", "Mcp-Name", "ö"), 400, jsonrpc.CodeHeader},
		{"initialize is no method any more", `{"jsonrpc":"2.0","id":5,"method":"initialize","params":{` + meta + `}}`, with("Mcp-Method", "initialize"), 200, 0},
	} {
		if test.status == 0 { // a name like any other, that the server knows nothing of
			continue
		}
		status, _, answer := p.post(test.body, test.headers...)
		if status != test.status || test.code != 0 && !strings.Contains(answer, fmt.Sprintf(`"id":5,"error":{"code":%d,`, test.code)) {
			t.Errorf("%s: %d %s", test.what, status, answer)
		}
	}
	if name, ok := decodeHeaderValue("=?base64?ZWNobw=="); !ok || name != "=?base64?ZWNobw==" {
		t.Errorf("half a mark: %q %v", name, ok)
	}
}

// Closing the answer takes a modern request back.
func TestAClosedModernAnswerIsCancelled(t *testing.T) {
	p := newPlace(t, Options{}, false, nil)
	ctx, leave := context.WithCancel(t.Context())
	e := p.events(p.do(ctx, http.MethodPost, modernCall(1, "wait:x"), modernHeaders("wait:x")...))
	e.want("begun")
	// The same id of another client of this principal.
	if status, _, _ := p.post(modernCall(1, "echo"), modernHeaders("echo")...); status != 200 {
		t.Errorf("the same id: %d", status)
	}
	leave()
	p.server(0).open.Wait() // the call saw its context end
	e.body.Close()
}

// Arguments that a header repeats must be what the header says (SEP-2243).
func TestMirroredArguments(t *testing.T) {
	schema := []byte(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},
		"at":{"properties":{"n":{"type":"integer","x-mcp-header":"N"}}},"on":{"type":"boolean","x-mcp-header":"On"},"free":{}}}`)
	p := newPlace(t, Options{InputSchema: func(_, tool string) []byte {
		if tool == "echo" {
			return schema
		}
		return nil
	}}, false, nil)
	for _, test := range []struct {
		arguments string
		headers   []string
		ok        bool
	}{
		{`{"free":1}`, nil, true},
		{`{"region":null}`, nil, true},
		{`{"region":"us"}`, []string{"Mcp-Param-Region", "us"}, true},
		{`{"region":"us"}`, []string{"mcp-param-region", "=?base64?dXM=?="}, true},
		{`{"region":"=?base64?x"}`, []string{"Mcp-Param-Region", "=?base64?x"}, true},
		{`{"region":"us"}`, nil, false},
		{`{"region":"us"}`, []string{"Mcp-Param-Region", "eu"}, false},
		{`{"region":"us"}`, []string{"Mcp-Param-Region", "=?base64?dXM?="}, false},
		{`{"region":null}`, []string{"Mcp-Param-Region", "null"}, false},
		{`{"at":{"n":42}}`, []string{"Mcp-Param-N", "42.0"}, true},
		{`{"at":{"n":9007199254740993}}`, []string{"Mcp-Param-N", "9007199254740992"}, false},
		{`{"at":{"n":1}}`, []string{"Mcp-Param-N", "1e999999999"}, false},
		{`{"at":3}`, nil, true},
		{`{"on":true}`, []string{"Mcp-Param-On", "true"}, true},
		{`{"on":true}`, []string{"Mcp-Param-On", "True"}, false},
	} {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo","arguments":%s,%s}}`, test.arguments, meta)
		status, _, answer := p.post(body, append(modernHeaders("echo"), test.headers...)...)
		if ok := status == 200; ok != test.ok || !ok && !strings.Contains(answer, `"id":5,"error":{"code":-32020,`) {
			t.Errorf("%s with %v: %d %s", test.arguments, test.headers, status, answer)
		}
	}
}
