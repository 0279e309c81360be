package wire

import (
	"encoding/json"
	"strings"
	"testing"
)

// parsed reads a request that must be one.
func parsed[T string | []byte](t testing.TB, d Dialect, body T) *Request {
	t.Helper()
	r, err := Parse(d, []byte(body))
	if err != nil {
		t.Fatalf("%v: %.1000s", err, body)
	}
	return r
}

func draft(t *testing.T, d Dialect, body string) (*Request, *Draft) {
	t.Helper()
	r := parsed(t, d, body)
	return r, r.Draft()
}

func TestBuildUntouched(t *testing.T) {
	r, d := draft(t, Chat, `{"messages":[{"role":"user","content":"a"}]}`)
	d.DropMessages(0, 0)
	d.InsertMessages(1)
	if next, err := d.Build(); err != nil || next != r {
		t.Errorf("got %p, %v, want the same request %p", next, err, r)
	}
}

const chatBody = `{"model":"m", "messages": [ {"role":"user","content":"u"}, {"role":"assistant","content":"a","tool_calls":[ {"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}, {"id":"2","type":"function","function":{"name":"g","arguments":"{}"}} ],"reasoning_content":"r"}, {"role":"tool","tool_call_id":"1","content":"x"}, {"role":"tool","tool_call_id":"2","content":[{"type":"text","text":"y"},{"type":"text","text":"z"}]} ], "max_tokens":100}`

var edits = []struct {
	name    string
	dialect Dialect
	body    string
	edit    func(*Draft)
	want    string // of the list of messages, or the whole body when it begins with ^
}{
	{
		"drop the first", Chat, `{"messages":[{"role":"user","content":"a"}, {"role":"user","content":"b"}]}`,
		func(d *Draft) { d.DropMessages(0, 1) }, `[{"role":"user","content":"b"}]`,
	},
	{
		"drop the last", Chat, `{"messages":[{"role":"user","content":"a"}, {"role":"user","content":"b"} ]}`,
		func(d *Draft) { d.DropMessages(1, 2) }, `[{"role":"user","content":"a"} ]`,
	},
	{
		"drop all", Chat, `{"messages":[{"role":"user"} , {"role":"user"}]}`,
		func(d *Draft) { d.DropMessages(0, 2) }, `[]`,
	},
	{
		"replace all", Chat, `{"messages":[{"role":"user"} , {"role":"user"}]}`,
		func(d *Draft) { d.ReplaceMessages(0, 2, []byte(`{"role":"x"}`), []byte(`{"role":"y"}`)) }, `[{"role":"x"},{"role":"y"}]`,
	},
	{
		"insert into nothing", Chat, `{"messages":[ ]}`,
		func(d *Draft) { d.InsertMessages(0, []byte(`{"role":"x"}`)) }, `[{"role":"x"} ]`,
	},
	{
		"insert everywhere", Chat, `{"messages":[ {"role":"a"},  {"role":"b"} ]}`,
		func(d *Draft) {
			d.InsertMessages(2, []byte(`{"role":"3"}`))
			d.InsertMessages(0, []byte(`{"role":"0"}`), []byte(`{"role":"1"}`))
			d.InsertMessages(1, []byte(`{"role":"2"}`))
		}, `[ {"role":"0"},{"role":"1"},{"role":"a"},{"role":"2"},{"role":"b"},{"role":"3"} ]`,
	},
	{
		"move a message", Chat, `{"messages":[{"role":"a"},{"role":"b"},{"role":"c"}]}`,
		func(d *Draft) {
			d.DropMessages(2, 3)
			d.InsertMessages(1, d.r.Raw(d.r.Messages[2].Span))
		}, `[{"role":"a"},{"role":"c"},{"role":"b"}]`,
	},
	{
		"what stays keeps its blanks", Chat, "{\"messages\":[\n {\"role\":\"a\"} ,\n {\"role\":\"b\"} ,\n {\"role\":\"c\"}\n]}",
		func(d *Draft) { d.DropMessages(0, 1) }, "[\n {\"role\":\"b\"} ,\n {\"role\":\"c\"}\n]",
	},
	{"output", Chat, chatBody, func(d *Draft) { d.SetMaxOutput(7) }, "^" + strings.Replace(chatBody, "100", "7", 1)},
	{"drop a call", Chat, chatBody, func(d *Draft) { d.DropPart(1, 1) }, "^" + strings.Replace(chatBody, `{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}, `, ``, 1)},
	{
		"drop all calls", Chat, chatBody, func(d *Draft) { d.DropPart(1, 1); d.DropPart(1, 2) },
		`[ {"role":"user","content":"u"}, {"role":"assistant","content":"a","reasoning_content":"r"}, {"role":"tool","tool_call_id":"1","content":"x"}, {"role":"tool","tool_call_id":"2","content":[{"type":"text","text":"y"},{"type":"text","text":"z"}]} ]`,
	},
	{
		"drop all but the reasoning", Chat, chatBody, func(d *Draft) { d.DropPart(1, 0); d.DropPart(1, 1); d.DropPart(1, 2); d.DropMessages(2, 4) },
		`[ {"role":"user","content":"u"} ]`,
	},
	{
		"drop text and reasoning beside calls", Chat, chatBody, func(d *Draft) {
			d.DropPart(1, 0)
			d.DropPart(1, 3)
			d.DropPart(2, 0)
			d.DropMessages(3, 4)
			d.DropPart(1, 2)
		},
		`[ {"role":"user","content":"u"}, {"role":"assistant","content":null,"tool_calls":[ {"id":"1","type":"function","function":{"name":"f","arguments":"{}"}} ]} ]`,
	},
	{
		"replace results", Chat, chatBody, func(d *Draft) { d.ReplaceResult(2, 0, "\"1\""); d.ReplaceResult(3, 0, "2"); d.DropMessages(0, 2) },
		`[ {"role":"tool","tool_call_id":"1","content":"\"1\""}, {"role":"tool","tool_call_id":"2","content":"2"} ]`,
	},
	{
		"replace a result that has none", Chat, `{"messages":[{"role":"tool","tool_call_id":"1"},{"role":"tool","content":null}]}`,
		func(d *Draft) { d.ReplaceResult(0, 0, "x"); d.ReplaceResult(1, 0, "y") }, `[{"role":"tool","tool_call_id":"1","content":"x"},{"role":"tool","content":"y"}]`,
	},
	{
		"replace texts", Chat, chatBody, func(d *Draft) {
			d.ReplaceText(3, 0, 1, "Z")
			d.ReplaceText(1, 1, 0, "[]")
			d.ReplaceText(0, 0, 0, "void")
			d.ReplaceText(0, 0, 0, "U")
			d.ReplaceCallID(2, 0, "one")
			d.DropPart(1, 2)
		},
		`[ {"role":"user","content":"U"}, {"role":"assistant","content":"a","tool_calls":[ {"id":"1","type":"function","function":{"name":"f","arguments":"[]"}} ],"reasoning_content":"r"}, {"role":"tool","tool_call_id":"one","content":"x"}, {"role":"tool","tool_call_id":"2","content":[{"type":"text","text":"y"},{"type":"text","text":"Z"}]} ]`,
	},
	{"an edit inside what goes is void", Chat, chatBody, func(d *Draft) {
		d.ReplaceText(2, 0, 0, "void")
		d.DropMessages(1, 4)
		d.ReplaceResult(3, 0, "void")
		d.DropPart(1, 0)
		d.InsertPart(1, 0, []byte(`{"type":"text","text":"void"}`))
	}, `[ {"role":"user","content":"u"} ]`},
	{"calls and blocks for plain messages", Chat, `{"messages":[{"role":"user","content":"u"},{"role":"assistant","content":"a"},{"role":"assistant","tool_calls":null,"content":null},{"role":"assistant"}]}`, func(d *Draft) {
		d.InsertPart(0, 0, []byte(`{"type":"text","text":"before"}`))
		d.InsertPart(0, 1, []byte(`{"type":"text","text":"behind"}`))
		for i := 1; i < 4; i++ {
			d.InsertPart(i, len(d.r.Messages[i].Parts), []byte(`{"id":"1","type":"function","function":{"name":"f","arguments":""}}`))
		}
		d.InsertPart(2, 0, []byte(`{"type":"text","text":"t"}`))
		d.ReplaceText(0, 0, 0, "U")
	}, `[{"role":"user","content":[{"type":"text","text":"before"},{"type":"text","text":"U"},{"type":"text","text":"behind"}]},{"role":"assistant","content":"a","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":""}}]},{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":""}}],"content":[{"type":"text","text":"t"}]},{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":""}}]}]`},
	{"blocks", Messages, `{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"r"}]} ,{"type":"tool_result","tool_use_id":"2"} ,{"type":"text","text":"t"}]}]}`, func(d *Draft) {
		d.ReplaceResult(0, 1, "new")
		d.InsertPart(0, 0, []byte(`{"type":"tool_result","tool_use_id":"0"}`))
		d.InsertPart(0, 2, []byte(`{"type":"tool_result","tool_use_id":"3"}`))
		d.DropPart(0, 2)
		d.ReplacePart(0, 0, []byte(`{"type":"text","text":"p"}`))
	}, `[{"role":"user","content":[{"type":"tool_result","tool_use_id":"0"},{"type":"text","text":"p"} ,{"type":"tool_result","tool_use_id":"2","content":"new"},{"type":"tool_result","tool_use_id":"3"}]}]`},
	{
		"only thoughts are left", Messages, `{"messages":[{"role":"user","content":"u"},{"role":"assistant","content":[{"type":"thinking","thinking":"t"},{"type":"tool_use","id":"1","input":{}}]}]}`,
		func(d *Draft) { d.DropPart(1, 1) }, `[{"role":"user","content":"u"}]`,
	},
	{
		"replace a plain content", Messages, `{"messages":[{"role":"user","content":"u"}]}`,
		func(d *Draft) { d.ReplacePart(0, 0, []byte(`{"type":"text","text":"p"}`)) }, `[{"role":"user","content":[{"type":"text","text":"p"}]}]`,
	},
	{"items", Responses, `{"input":[{"role":"user","content":"u"},{"type":"function_call","call_id":"1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"1","output":[{"type":"input_text","text":"x"}]},{"type":"shell_call_output","call_id":"2","output":[]},{"type":"computer_call_output","call_id":"3","output":{"type":"computer_screenshot"}}]}`, func(d *Draft) {
		if !d.ReplaceResult(2, 0, "X") || !d.ReplaceResult(3, 0, "S") || d.ReplaceResult(4, 0, "no") || d.ReplaceResult(1, 0, "no") {
			d.failf("ReplaceResult says it wrong")
		}
		d.DropPart(1, 0)
		d.InsertPart(0, 1, []byte(`{"type":"input_text","text":"v"}`))
	}, `[{"role":"user","content":[{"type":"input_text","text":"u"},{"type":"input_text","text":"v"}]},{"type":"function_call_output","call_id":"1","output":"X"},{"type":"shell_call_output","call_id":"2","output":[{"stdout":"S","stderr":"","outcome":{"type":"exit","exit_code":0}}]},{"type":"computer_call_output","call_id":"3","output":{"type":"computer_screenshot"}}]`},
	{"around an input that is a string", Responses, `{"input":"u"}`, func(d *Draft) {
		d.InsertMessages(0, []byte(`{"role":"developer","content":"0"}`))
		d.InsertMessages(1, []byte(`{"role":"user","content":"2"}`), []byte(`{"role":"user","content":"3"}`))
		d.InsertPart(0, 1, []byte(`{"type":"input_text","text":"v"}`))
		d.ReplaceText(0, 0, 0, "U")
	}, `[{"role":"developer","content":"0"},{"role":"user","content":[{"type":"input_text","text":"U"},{"type":"input_text","text":"v"}]},{"role":"user","content":"2"},{"role":"user","content":"3"}]`},
	{
		"in place of an input that is a string", Responses, `{"input":"u"}`,
		func(d *Draft) { d.ReplaceMessages(0, 1, []byte(`{"role":"user","content":"2"}`)) }, `[{"role":"user","content":"2"}]`,
	},
	{"inside an input that is a string", Responses, `{"input":"u"}`, func(d *Draft) { d.ReplaceText(0, 0, 0, "v") }, `"v"`},
	{
		"a part for an input that is a string", Responses, `{"input":"u"}`,
		func(d *Draft) { d.ReplacePart(0, 0, []byte(`{"type":"input_text","text":"v"}`)) }, `[{"role":"user","content":[{"type":"input_text","text":"v"}]}]`,
	},
	{"gemini parts", Gemini, `{"contents":[{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}},{"functionCall":{"name":"g","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"o"}}},{"functionResponse":{"name":"g","response":{"error":"e","code":1}}}]}],"generationConfig":{"maxOutputTokens":9}}`, func(d *Draft) {
		d.DropPart(0, 1)
		d.ReplaceResult(1, 0, "O")
		d.ReplaceResult(1, 1, "E")
		d.SetMaxOutput(3)
	}, `^{"contents":[{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"O"}}},{"functionResponse":{"name":"g","response":{"error":"E"}}}]}],"generationConfig":{"maxOutputTokens":3}}`},
	{"gemini media beside a result", Gemini, `{"contents":[{"parts":[{"functionResponse":{"name":"f","response":{"output":"o"}, "parts":[{"inlineData":{"mimeType":"image/png","data":"AAAA"}}] ,"id":"1"}},{"functionResponse":{"parts":[{"fileData":{"fileUri":"gs://x"}}], "response":{}}}]}]}`, func(d *Draft) {
		d.ReplaceResult(0, 0, "O")
		d.ReplaceCallID(0, 0, "2")
		d.ReplaceResult(0, 1, "P")
	}, `[{"parts":[{"functionResponse":{"name":"f","response":{"output":"O"} ,"id":"2"}},{"functionResponse":{"response":{"output":"P"}}}]}]`},
	{"gemini, one where an array is meant", Gemini, `{"contents":{"role":"user","parts":{"text":"u"}}}`, func(d *Draft) {
		d.InsertMessages(1, []byte(`{"role":"model","parts":[{"text":"m"}]}`))
		d.InsertPart(0, 0, []byte(`{"text":"0"}`))
	}, `[{"role":"user","parts":[{"text":"0"},{"text":"u"}]},{"role":"model","parts":[{"text":"m"}]}]`},
}

func TestBuild(t *testing.T) {
	for _, c := range edits {
		t.Run(c.dialect.String()+"/"+c.name, func(t *testing.T) {
			r, d := draft(t, c.dialect, c.body)
			c.edit(d)
			next, err := d.Build()
			if err != nil {
				t.Fatal(err)
			}
			got := string(next.Raw(next.List))
			if strings.HasPrefix(c.want, "^") {
				got = "^" + string(next.Body)
			}
			if got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			if string(r.Body) != c.body {
				t.Error("the first body was changed")
			}
			if again, err := d.Build(); err != nil || string(again.Body) != string(next.Body) {
				t.Errorf("built again: %v, %s", err, again.Body)
			}
			checkView(t, next)
		})
	}
}

func TestBuildRefuses(t *testing.T) {
	for name, edit := range map[string]func(*Draft){
		"message":       func(d *Draft) { d.DropMessages(3, 5) },
		"part":          func(d *Draft) { d.DropPart(0, 1) },
		"negative":      func(d *Draft) { d.DropPart(-1, 0) },
		"text":          func(d *Draft) { d.ReplaceText(0, 0, 1, "") },
		"insertion":     func(d *Draft) { d.InsertMessages(5, []byte("{}")) },
		"no JSON":       func(d *Draft) { d.InsertMessages(0, []byte("{")) },
		"no message":    func(d *Draft) { d.InsertMessages(0, []byte("1")) },
		"whole message": func(d *Draft) { d.InsertPart(2, 0, []byte(`{}`)) },
		"no id":         func(d *Draft) { d.ReplaceCallID(0, 0, "x") },
		"output":        func(d *Draft) { d.SetMaxOutput(0) },
	} {
		_, d := draft(t, Chat, chatBody)
		edit(d)
		if next, err := d.Build(); err == nil {
			t.Errorf("%s: built %s", name, next.Body)
		}
	}
}

func TestBuildKeepsWhatThePathSaid(t *testing.T) {
	r, d := draft(t, Gemini, `{"contents":[{"parts":[{"text":"a"}]}]}`)
	r.Model, r.Stream = "gemini-3-pro", true
	d.ReplaceText(0, 0, 0, "b")
	if next, err := d.Build(); err != nil || next.Model != r.Model || !next.Stream {
		t.Errorf("%v, model %q, stream %t", err, next.Model, next.Stream)
	}
}

// Elements made here are read back as what they are, and take every text.
func TestElements(t *testing.T) {
	const text = "a \"b\"\n\x00 é \xff"
	want, _ := json.Marshal(strings.ToValidUTF8(text, "\ufffd"))
	for d := Chat; d <= Gemini; d++ {
		for _, role := range []Role{RoleSystem, RoleUser, RoleAssistant} {
			list := map[Dialect]string{Responses: "input", Gemini: "contents"}[d]
			if list == "" {
				list = "messages"
			}
			body := `{"` + list + `":[` + string(TextMessage(d, role, text)) + `]}`
			r, err := Parse(d, []byte(body))
			if err != nil || !json.Valid([]byte(body)) {
				t.Fatalf("%s: %v", body, err)
			}
			m := r.Messages[0]
			if (m.Role != role && (d != Gemini || role != RoleSystem)) || m.Parts[0].Kind != Text {
				t.Errorf("%v %v: %s", d, role, sketch(r))
			}
			var got, wanted string
			if json.Unmarshal(r.Raw(m.Parts[0].Texts[0]), &got) != nil || json.Unmarshal(want, &wanted) != nil || got != wanted {
				t.Errorf("%v: %q, want %q", d, got, wanted)
			}
		}
	}
}
