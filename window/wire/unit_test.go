package wire

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func units(us []Unit) string {
	var b strings.Builder
	for _, u := range us {
		fmt.Fprintf(&b, "%d-%d", u.From, u.To)
		if u.Pending > 0 {
			fmt.Fprintf(&b, " pending %d", u.Pending)
		}
		if u.Open {
			b.WriteString(" open")
		}
		b.WriteString(", ")
	}
	return strings.TrimSuffix(b.String(), ", ")
}

func TestUnits(t *testing.T) {
	const (
		user   = `{"role":"user","content":"u"}`
		answer = `{"role":"assistant","content":"a"}`
	)
	call := func(ids ...string) string {
		var b []string
		for _, id := range ids {
			b = append(b, `{"id":"`+id+`","type":"function","function":{"name":"f","arguments":""}}`)
		}
		return `{"role":"assistant","tool_calls":[` + strings.Join(b, ",") + `]}`
	}
	result := func(id string) string { return `{"role":"tool","tool_call_id":"` + id + `","content":""}` }
	item := func(kind, id string) string { return `{"type":"` + kind + `","call_id":"` + id + `"}` }
	blocks := func(role, kind, id string) string {
		return `{"role":"` + role + `","content":[{"type":"` + kind + `","id":"` + id + `","tool_use_id":"` + id + `"}]}`
	}
	parts := func(role string, names ...string) string {
		var b []string
		for _, n := range names {
			b = append(b, `{"`+n+`":{"name":"f"}}`)
		}
		return `{"role":"` + role + `","parts":[` + strings.Join(b, ",") + `]}`
	}
	for _, c := range []struct {
		name    string
		dialect Dialect
		list    []string
		want    string
	}{
		{"nothing", Chat, nil, ""},
		{"words", Chat, []string{user, answer, user}, "0-1, 1-2, 2-3 open"},
		{"a call", Chat, []string{user, call("1"), result("1"), answer}, "0-1, 1-3, 3-4 open"},
		{"parallel calls", Chat, []string{call("1", "2"), result("2"), result("1"), call("3")}, "0-3, 3-4 pending 1 open"},
		{"one result is missing", Chat, []string{call("1", "2"), result("2"), user}, "0-2 pending 1, 2-3 open"},
		{"a late result", Chat, []string{user, call("1"), user, answer, result("1"), user}, "0-1, 1-5, 5-6 open"},
		{"reused ids", Chat, []string{call("1"), result("1"), call("1"), result("1")}, "0-2, 2-4 open"},
		{"a late result beside its namesake", Chat, []string{call("1"), user, call("1"), result("1"), user}, "0-1 pending 1, 1-2, 2-4, 4-5 open"},
		{"results of nobody", Chat, []string{result("9"), user, result("8")}, "0-1, 1-2, 2-3 open"},
		{"the legacy form", Chat, []string{`{"role":"assistant","function_call":{}}`, `{"role":"function","name":"f","content":""}`, user}, "0-2, 2-3 open"},
		{"blocks", Messages, []string{user, `{"role":"assistant","content":[{"type":"tool_use","id":"1","input":{}}]}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"1"},{"type":"text","text":"and"}]}`, answer}, "0-1, 1-3, 3-4 open"},
		{"reasoning and items", Responses, []string{user, item("reasoning", ""), answer, item("function_call", "1"), item("function_call", "2"), item("function_call_output", "1"), item("function_call_output", "2"), item("reasoning", ""), answer, user}, "0-1, 1-7, 7-9, 9-10 open"},
		{"the model goes on at once", Responses, []string{item("reasoning", ""), item("function_call", "1"), item("function_call_output", "1"), item("reasoning", ""), item("function_call", "2")}, "0-3, 3-5 pending 1 open"},
		{"a script that calls tools", Messages, []string{user, `{"role":"assistant","content":[{"type":"server_tool_use","id":"s"},{"type":"tool_use","id":"1"}]}`, blocks("user", "tool_result", "1"), blocks("assistant", "code_execution_tool_result", "s"), user}, "0-1, 1-4, 4-5 open"},
		{"a script that goes on calling", Messages, []string{`{"role":"assistant","content":[{"type":"server_tool_use","id":"s"},{"type":"tool_use","id":"1"}]}`, blocks("user", "tool_result", "1"), `{"role":"assistant","content":[{"type":"tool_use","id":"2","caller":{"type":"code_execution_20260120","tool_id":"s"}}]}`, blocks("user", "tool_result", "2"), answer, user}, "0-4, 4-5, 5-6 open"},
		{"a tool of tomorrow", Messages, []string{blocks("assistant", "panel_use", "s"), user, blocks("assistant", "panel_result", "s"), user}, "0-3, 3-4 open"},
		{"a result of no use", Messages, []string{user, blocks("assistant", "panel_result", "s"), user}, "0-1, 1-2, 2-3 open"},
		{"a program", Responses, []string{user, item("program", "p"), `{"type":"function_call","call_id":"1","caller":{"type":"program","caller_id":"p"}}`, item("function_call_output", "1"), `{"type":"function_call","call_id":"2","caller":{"type":"program","caller_id":"p"}}`, item("function_call_output", "2"), item("program_output", "p"), answer, user}, "0-1, 1-7, 7-8, 8-9 open"},
		{"an approval", Responses, []string{`{"type":"mcp_approval_request","id":"r"}`, user, `{"type":"mcp_approval_response","approval_request_id":"r"}`, user, `{"type":"mcp_call","id":"m","approval_request_id":"r"}`, answer, user}, "0-6, 6-7 open"},
		{"without ids", Gemini, []string{parts("model", "functionCall", "functionCall"), parts("user", "functionResponse", "functionResponse"), parts("model", "functionCall"), parts("user", "functionResponse")}, "0-2, 2-4 open"},
		{"ids on one side", Gemini, []string{parts("model", "functionCall"), `{"parts":[{"functionResponse":{"id":"x","name":"f"}}]}`, parts("model", "text")[:0] + `{"role":"model","parts":[{"text":"a"}]}`}, "0-2, 2-3 open"},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := map[Dialect]string{Chat: "messages", Messages: "messages", Responses: "input", Gemini: "contents"}[c.dialect]
			r := parsed(t, c.dialect, `{"`+name+`":[`+strings.Join(c.list, ",")+`]}`)
			if got := units(r.Units()); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// The cache mark moves every turn; what it leaves behind is the same message.
func TestFingerprint(t *testing.T) {
	groups := []struct {
		dialect Dialect
		same    []string
		others  []string
	}{
		{Messages, []string{
			`{"role":"user","content":"hi"}`,
			`{"role":"user","content":[{"type":"text","text":"hi"}]}`,
			`{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}`,
			`{"role":"user","content":[{"cache_control":{"type":"ephemeral"},"type":"text","text":"hi"}]}`,
			`{"role":"user","content":[{"type":"text","cache_control":null,"text":"hi"}]}`,
		}, []string{
			`{"role":"user","content":"ho"}`, `{"role":"assistant","content":"hi"}`, `{"role":"user","content":[{"type":"text","text":"hi"},{"type":"text","text":"hi"}]}`,
			`{"role":"user","content":[{"type":"text","text":"hi","citations":[]}]}`, `{"role":"user","content":[{"type":"image","text":"hi"}]}`,
		}},
		{Messages, []string{
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"a"}]},{"type":"text","text":"b"}]}`,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"a","cache_control":{}}]},{"type":"text","text":"b","cache_control":{}}]}`,
			`{"role":"user","content":[{"type":"tool_result","cache_control":{"ttl":"1h"},"tool_use_id":"1","content":[{"type":"text","text":"a"}]},{"type":"text","text":"b"}]}`,
		}, []string{`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"a"},{"type":"text","text":"b"}]}`}},
		{Chat, []string{
			`{"role":"assistant","content":"hi","tool_calls":[{"id":"1","function":{"name":"f","arguments":""}}]}`,
			`{"role":"assistant","content":[{"type":"text","text":"hi"}],"tool_calls":[{"id":"1","function":{"name":"f","arguments":""}}]}`,
		}, []string{`{"role":"assistant","content":"hi"}`}},
	}
	for _, g := range groups {
		seen := map[string]string{}
		for _, m := range slices.Concat(g.same, g.others) {
			r := parsed(t, g.dialect, `{"system":[],"messages":[`+m+`]}`)
			checkView(t, r)
			seen[m] = fingerprint(r, 0)
		}
		for _, m := range g.same {
			if seen[m] != seen[g.same[0]] {
				t.Errorf("%s\nis not the same as\n%s:\n%s", m, g.same[0], seen[m])
			}
		}
		for _, m := range g.others {
			if seen[m] == seen[g.same[0]] {
				t.Errorf("%s\nis the same as\n%s", m, g.same[0])
			}
		}
	}
}

func TestFingerprintHead(t *testing.T) {
	head := func(body string) string {
		t.Helper()
		r := parsed(t, Messages, body)
		checkView(t, r)
		var b []byte
		r.FingerprintHead(func(p []byte) { b = append(b, p...) })
		return string(b)
	}
	const want = `system:"s"tools:[{"name":"a"},{"name":"b"}]`
	for _, body := range []string{
		`{"system":"s","tools":[{"name":"a"},{"name":"b"}],"messages":[]}`,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"x","cache_control":{}}]}],"tools":[{"name":"a"},{"name":"b","cache_control":{"type":"ephemeral"}}],"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}]}`,
	} {
		if got := head(body); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
