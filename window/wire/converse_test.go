package wire

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/eventstream"
)

const conversing = `{
  "system": [{"text":"You are an agent."},{"cachePoint":{"type":"default"}}],
  "inferenceConfig": {"maxTokens": 4096, "temperature": 0.5},
  "additionalModelRequestFields": {"thinking":{"type":"enabled","budget_tokens":2048}},
  "toolConfig": {"tools":[{"toolSpec":{"name":"shell","inputSchema":{"json":{"type":"object"}}}},{"cachePoint":{"type":"default"}}]},
  "messages": [
    {"role":"user","content":[{"text":"go"},{"image":{"format":"png","source":{"bytes":"iVBORw0KGgo="}}}]},
    {"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"hm","signature":"c2ln"}}},{"text":"I look."},{"toolUse":{"toolUseId":"tooluse_1","name":"shell","input":{"cmd":"ls"}}}]},
    {"role":"user","content":[{"toolResult":{"toolUseId":"tooluse_1","content":[{"text":"a.go"},{"json":{"n":1,"of":"b.go"}}],"status":"error"}},{"cachePoint":{"type":"default"}}]}
  ]
}`

func TestConverseIsRead(t *testing.T) {
	r := parsed(t, Converse, conversing)
	if err := Validate(Converse, r.Body); err != nil {
		t.Error(err)
	}
	var got []string
	for i := range r.Messages {
		for j := range r.Messages[i].Parts {
			p := &r.Messages[i].Parts[j]
			got = append(got, fmt.Sprintf("%s %s %s %q %s %v %d", r.Messages[i].Role, p.Kind, p.Type, r.Words(p), p.CallID+p.Name, p.Failed, len(p.Media)))
		}
	}
	want := []string{
		`user text text "go"  false 0`, `user media image ""  false 1`,
		`assistant reasoning reasoningContent "hm"  false 0`, `assistant text text "I look."  false 0`, `assistant call toolUse "" tooluse_1shell false 0`,
		`user result toolResult "a.go\nb.go" tooluse_1 true 0`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(r.System) != 1 || len(r.Tools) != 1 || r.Tools[0].Name != "shell" || r.MaxOutput != 4096 || !r.Thinking || len(r.Marks) != 3 {
		t.Errorf("system %d, tools %+v, output %d, thinking %v, marks %d", len(r.System), r.Tools, r.MaxOutput, r.Thinking, len(r.Marks))
	}
	if s := string(r.Raw(r.Messages[1].Parts[0].Sealed)); s != `"c2ln"` {
		t.Errorf("the signature is %s", s)
	}
	if m := r.Messages[0].Parts[1].Media[0]; m.Type != "image/png" || m.Base64 != 12 {
		t.Errorf("%+v", m)
	}
}

func TestConverseIsEdited(t *testing.T) {
	parse := func(body string) *Request {
		t.Helper()
		r := parsed(t, Converse, body)
		return r
	}
	list := func(messages string) string { return `{"messages":[` + messages + `],"toolConfig":{}}` }
	const ask, call = `{"role":"user","content":[{"text":"a"}]}`, `{"role":"assistant","content":[{"toolUse":{"toolUseId":"t","name":"n","input":{}}}]}`
	result := func(inner string) string {
		return `{"role":"user","content":[{"toolResult":{"toolUseId":"t"` + inner + `}},{"cachePoint":{"type":"default"}}]}`
	}
	for _, c := range []struct {
		name, body, want string
		edit             func(*Draft)
	}{
		{"a result's text", list(ask + "," + call + "," + result(`,"content":[{"json":{}},{"text":"long"}]`)), list(ask + "," + call + "," + result(`,"content":[{"text":"short"}]`)), func(d *Draft) { d.ReplaceResult(2, 0, "short") }},
		{"a result without content", list(ask + "," + call + "," + result("")), list(ask + "," + call + "," + result(`,"content":[{"text":"x"}]`)), func(d *Draft) { d.ReplaceResult(2, 0, "x") }},
		{"the last part leaves with its message", list(ask + "," + call + "," + result("")), list(ask + "," + call), func(d *Draft) { d.DropPart(2, 0) }},
		{"a part behind the others", list(`{"role":"user","content":[{"text":"a"},{"cachePoint":{"type":"default"}}]}`), list(`{"role":"user","content":[{"text":"a"},{"text":"b"},{"cachePoint":{"type":"default"}}]}`), func(d *Draft) { d.InsertPart(0, 1, TextElement(Converse, RoleUser, "b")) }},
		{"a mark", list(`{"role":"user","content":[{"text":"a"},{"cachePoint":{"type":"default"}}]}`), list(ask), func(d *Draft) { d.DropMark(0) }},
		{"an id", list(ask + "," + call), list(ask + "," + strings.ReplaceAll(call, `"t"`, `"u"`)), func(d *Draft) { d.ReplaceCallID(1, 0, "u") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := parse(c.body).Draft()
			c.edit(d)
			next, err := d.Build()
			if err != nil {
				t.Fatal(err)
			}
			if string(next.Body) != c.want {
				t.Errorf("got  %s\nwant %s", next.Body, c.want)
			}
		})
	}
	marked, plain := parse(list(`{"role":"user","content":[{"text":"a"},{"cachePoint":{"type":"default"}}]}`)), parse(list(ask))
	if marked.Messages[0].Key != plain.Messages[0].Key {
		t.Error("a cache point names another message")
	}
	if got := string(marked.Remarked(0, []byte(ask))); got != string(marked.Raw(marked.Messages[0].Span)) {
		t.Errorf("with its mark: %s", got)
	}
}

func TestConverseTakesTurns(t *testing.T) {
	text := func(role, s string) string {
		return string(TextMessage(Converse, map[string]Role{"u": RoleUser, "a": RoleAssistant}[role], s))
	}
	for _, c := range []struct{ in, want string }{
		{"u a u", "u1 a2 u3"},
		{"u u a", "u1,2 a3"},
		{"u a a a u u", "u1 a2,3,4 u5,6"},
	} {
		var messages []string
		for i, role := range strings.Fields(c.in) {
			messages = append(messages, text(role, fmt.Sprint(i+1)))
		}
		r := parsed(t, Converse, `{"messages":[`+strings.Join(messages, ", ")+`],"x":1}`)
		next := parsed(t, Converse, r.Alternating())
		if err := Validate(Converse, next.Body); err != nil {
			t.Error(err)
		}
		var got []string
		for i := range next.Messages {
			var words []string
			for j := range next.Messages[i].Parts {
				words = append(words, next.Words(&next.Messages[i].Parts[j]))
			}
			got = append(got, next.Messages[i].Role.String()[:1]+strings.Join(words, ","))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %v, want %s", c.in, got, c.want)
		}
	}
}

func TestConverseIsHeldToItsRules(t *testing.T) {
	const ask, call = `{"role":"user","content":[{"text":"a"}]}`, `{"role":"assistant","content":[{"toolUse":{"toolUseId":"t","name":"n","input":{}}}]}`
	result := func(id string) string {
		return `{"toolResult":{"toolUseId":"` + id + `","content":[{"text":"x"}]}}`
	}
	user := func(blocks ...string) string { return `{"role":"user","content":[` + strings.Join(blocks, ",") + `]}` }
	for _, c := range []struct{ name, messages, rule, text string }{
		{"in order", ask + "," + call + "," + user(result("t")), "", ""},
		{"results and words", ask + "," + call + "," + user(result("t"), `{"text":"b"}`), "", ""},
		{"nothing", "", RuleEmptyHistory, ""},
		{"the model first", `{"role":"assistant","content":[{"text":"a"}]}`, RuleRoleFirst, "must start with a user message"},
		{"twice the user", ask + "," + ask, RuleAlternate, "must alternate"},
		{"an orphan", ask + "," + call, RuleOrphanCall, "Expected toolResult blocks at messages.2.content for the following Ids: t"},
		{"an orphan in the middle", ask + "," + call + "," + ask, RuleOrphanCall, "Expected toolResult blocks at messages.2.content"},
		{"a result of nothing", user(result("t")), RuleOrphanResult, "exceeds the number of toolUse blocks"},
		{"words ahead", ask + "," + call + "," + user(`{"text":"b"}`, result("t")), RuleResultsFirst, ""},
		{"a blank text", user(`{"text":" "}`), RuleEmptyText, "is blank"},
		{"a string", `{"role":"user","content":"a"}`, RuleShape, ""},
		{"no content", `{"role":"user","content":[]}`, RuleEmptyContent, "is empty"},
		{"a cache point alone", user(`{"cachePoint":{"type":"default"}}`), RuleEmptyContent, ""},
		{"two members", user(`{"text":"a","image":{}}`), RuleShape, ""},
		{"a blank result", ask + "," + call + "," + user(`{"toolResult":{"toolUseId":"t","content":[{"text":""}]}}`), RuleEmptyText, ""},
		{"a silent error", ask + "," + call + "," + user(`{"toolResult":{"toolUseId":"t","content":[],"status":"error"}}`), RuleSilentError, ""},
		{"a long id", ask + "," + strings.ReplaceAll(call, `"t"`, `"`+strings.Repeat("t", 65)+`"`) + "," + user(result(strings.Repeat("t", 65))), RuleIDLength, "less than or equal to 64"},
		{"an id with a dot", ask + "," + strings.ReplaceAll(call, `"t"`, `"t.1:x"`) + "," + user(result("t.1:x")), "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := Validate(Converse, []byte(`{"messages":[`+c.messages+`],"toolConfig":{"tools":[]}}`))
			invalid, _ := err.(*Invalid)
			if got := ruleOf(err); got != c.rule {
				t.Fatalf("%v, want %q", err, c.rule)
			}
			if c.text != "" && !strings.Contains(invalid.ProviderText(Converse), c.text) {
				t.Errorf("it says %q", invalid.ProviderText(Converse))
			}
		})
	}
	if err := Validate(Converse, []byte(`{"messages":[`+ask+","+call+","+user(result("t"))+`]}`)); ruleOf(err) != RuleToolConfig {
		t.Errorf("without tools: %v", err)
	}
}

func ruleOf(err error) string {
	if invalid, ok := err.(*Invalid); ok {
		return invalid.Rule
	}
	return ""
}

// invoked is an event of Messages as InvokeModelWithResponseStream packs it.
func invoked(event string) []byte {
	payload, _ := json.Marshal(map[string]string{"bytes": base64.StdEncoding.EncodeToString([]byte(event)), "p": "abc"})
	return eventstream.Event("chunk", payload)
}

func framed(events ...string) (out []byte) {
	for i := 0; i < len(events); i += 2 {
		out = append(out, eventstream.Event(events[i], []byte(events[i+1]))...)
	}
	return out
}

func TestFramedAnswers(t *testing.T) {
	converse := framed("messageStart", `{"role":"assistant"}`, "contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"hi"}}`, "contentBlockStop", `{"contentBlockIndex":0}`,
		"messageStop", `{"stopReason":"end_turn"}`, "metadata", `{"usage":{"inputTokens":70,"outputTokens":9,"totalTokens":779,"cacheReadInputTokens":600,"cacheWriteInputTokens":100},"metrics":{"latencyMs":5}}`)
	var messages []byte
	for _, event := range []string{
		`{"type":"message_start","message":{"id":"m","model":"x","content":[],"usage":{"input_tokens":777,"output_tokens":1}}}`, `{"type":"ping"}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":55}}`,
		`{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":777,"outputTokenCount":55}}`,
	} {
		messages = append(messages, invoked(event)...)
	}
	refusal := append(framed("messageStart", `{"role":"assistant"}`), eventstream.Exception("validationException", []byte(`{"message":"Input is too long for requested model."}`))...)
	for _, c := range []struct {
		name    string
		dialect Dialect
		stream  []byte
		usage   Usage
		begun   bool
		failure string
	}{
		{"Converse", Converse, converse, Usage{Input: 770, Output: 9, CacheRead: 600, CacheWrite: 100}, true, ""},
		{"InvokeModel", Messages, messages, Usage{Input: 777, Output: 55}, true, ""},
		{"an exception", Converse, refusal, Usage{}, false, `{"type":"error","error":{"type":"validationException","message":"Input is too long for requested model."}}`},
	} {
		for size := 1; size <= len(c.stream); size = size*3 + 1 {
			a, p, alive := NewFramedAnswer(c.dialect), NewFramedPulse(c.dialect, false), false
			for at := 0; at < len(c.stream); at += size {
				piece := c.stream[at:min(at+size, len(c.stream))]
				_, _ = a.Write(piece)
				alive = p.Alive(piece) || alive
			}
			if a.Usage != c.usage || a.Begun != c.begun || !a.Done || string(a.ErrorBody) != c.failure {
				t.Errorf("%s in pieces of %d: %+v, begun %v, done %v, %s", c.name, size, a.Usage, a.Begun, a.Done, a.ErrorBody)
			}
			if ok, _ := p.Between(); !ok || !alive {
				t.Errorf("%s: between %v, alive %v", c.name, ok, alive)
			}
		}
	}
	whole := NewAnswer(Converse, false)
	_, _ = whole.Write([]byte(`{"output":{"message":{"role":"assistant","content":[{"text":"hi"}]}},"stopReason":"max_tokens","usage":{"inputTokens":3,"outputTokens":2,"totalTokens":5}}`))
	if whole.Usage != (Usage{Input: 3, Output: 2}) || !whole.Begun || whole.StopReason != "max_tokens" {
		t.Errorf("whole: %+v %v %q", whole.Usage, whole.Begun, whole.StopReason)
	}
}

func TestBrokenFrames(t *testing.T) {
	good := framed("metadata", `{"usage":{"inputTokens":3,"outputTokens":2}}`)
	for at := range good {
		bad := append([]byte{}, good...)
		bad[at] ^= 0x20
		a := NewFramedAnswer(Converse)
		_, _ = a.Write(append(bad, good...))
		if a.Usage.Input != 0 {
			t.Errorf("byte %d was broken, and what follows is believed", at)
		}
	}
	large := framed("contentBlockDelta", `{"delta":{"text":"`+strings.Repeat("x", frameHeld)+`"}}`)
	a := NewFramedAnswer(Converse)
	_, _ = a.Write(append(large, good...))
	if a.Usage.Input != 3 || a.frames.Held() > frameHeld {
		t.Errorf("behind a large frame: %+v, %d bytes held", a.Usage, a.frames.Held())
	}
}

func FuzzFrames(f *testing.F) {
	f.Add(framed("metadata", `{"usage":{"inputTokens":3}}`), uint8(5))
	f.Add(invoked(`{"type":"message_stop"}`), uint8(1))
	f.Add(eventstream.Exception("validationException", []byte(`{"message":"x"}`)), uint8(200))
	f.Fuzz(func(t *testing.T, stream []byte, size uint8) {
		whole, cut := NewFramedAnswer(Converse), NewFramedAnswer(Converse)
		_, _ = whole.Write(stream)
		pulse := NewFramedPulse(Messages, true)
		for at := 0; at < len(stream); at += int(size) + 1 {
			piece := stream[at:min(at+int(size)+1, len(stream))]
			_, _ = cut.Write(piece)
			pulse.Alive(piece)
		}
		if whole.Usage != cut.Usage || whole.Done != cut.Done || string(whole.ErrorBody) != string(cut.ErrorBody) {
			t.Errorf("in pieces of %d: %+v, whole %+v", int(size)+1, cut.Usage, whole.Usage)
		}
		if cut.frames.Held() > 2*frameHeld {
			t.Errorf("%d bytes are held", cut.frames.Held())
		}
	})
}

// A count is asked of the model behind an inference profile; what goes by InvokeModel is counted as it is.
func TestCountTokens(t *testing.T) {
	body := []byte(`{"anthropic_version":"bedrock-2023-05-31","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`)
	r := parsed(t, Messages, body)
	for below, want := range map[string]string{
		"/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke": "/model/anthropic.claude-sonnet-4-5-20250929-v1%3A0/count-tokens",
		"/model/global.amazon.nova-2/invoke-with-response-stream":      "/model/amazon.nova-2/count-tokens",
		"/model/zai.glm-4.6/invoke":                                    "/model/zai.glm-4.6/count-tokens",
		"/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ax%2Fab12/invoke": "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ax%2Fab12/count-tokens",
		"/invoke": "/count-tokens",
		"invoke":  "",
	} {
		path, text := CountInvoked(r, below)
		var asked struct {
			Input struct{ InvokeModel struct{ Body []byte } }
		}
		if err := json.Unmarshal(text, &asked); err != nil || path != want || string(asked.Input.InvokeModel.Body) != string(body) {
			t.Errorf("%s: %s %s, %v", below, path, text, err)
		}
	}
}

// The SDKs of AWS decide by these names what they try again.
func TestBedrockNamesWhatItRefuses(t *testing.T) {
	for status, want := range map[int]string{
		400: "ValidationException", 401: "AccessDeniedException", 403: "AccessDeniedException", 413: "ValidationException", 421: "AccessDeniedException",
		429: "ThrottlingException", 500: "InternalServerException", 502: "InternalServerException", 503: "ServiceUnavailableException",
	} {
		if got := bedrockKind(status); got != want {
			t.Errorf("%d is %s, want %s", status, got, want)
		}
	}
}
