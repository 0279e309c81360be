package native_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/window/compact/native"
	"github.com/plimsoll/plimsoll/window/wire"
)

func parsed(t testing.TB, d wire.Dialect, body string) *wire.Request {
	t.Helper()
	r, err := wire.Parse(d, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func ruleFor(t testing.TB, provider string, d wire.Dialect, model string) native.Rule {
	t.Helper()
	r, ok := native.RuleFor(provider, d, model)
	if !ok {
		t.Fatalf("there is no rule for %s at %s", model, provider)
	}
	return r
}

func TestRuleFor(t *testing.T) {
	for _, c := range []struct {
		provider string
		d        wire.Dialect
		model    string
		want     bool
	}{
		{native.Anthropic, wire.Messages, "claude-fable-5-1", true},
		{native.Anthropic, wire.Messages, "claude-opus-5.5", true},
		{native.Anthropic, wire.Messages, "Claude-Opus-4-6-20260205", true},
		{native.Anthropic, wire.Messages, "claude-sonnet-4-5", false},
		{native.Anthropic, wire.Messages, "claude-opus-4-5", false},
		{native.Anthropic, wire.Chat, "claude-opus-5-5", false}, // the OpenAI form of it has no such thing
		{native.Bedrock, wire.Messages, "us.anthropic.claude-opus-5-5-20261001-v1:0", true},
		{native.Vertex, wire.Messages, "claude-sonnet-5@20260801", true},
		{native.Azure, wire.Messages, "claude-haiku-5-5", true},
		{native.OpenAI, wire.Messages, "claude-opus-5-5", false},
		{native.OpenAI, wire.Responses, "gpt-5.6-sol", true},
		{native.OpenAI, wire.Responses, "gpt-6.1", true},
		{native.OpenAI, wire.Responses, "gpt-4.1", false},
		{native.OpenAI, wire.Chat, "gpt-5.6", false},
		{native.Azure, wire.Responses, "our-gpt-5.6", true},
		{"gemini", wire.Gemini, "gemini-3-pro", false},
	} {
		if _, ok := native.RuleFor(c.provider, c.d, c.model); ok != c.want {
			t.Errorf("%s at %s in %v: %v", c.model, c.provider, c.d, ok)
		}
	}
	for _, r := range native.Rules {
		if !strings.Contains(r.Source, "2026-") || len(r.Models) == 0 {
			t.Errorf("%s %v: source %q", r.Provider, r.Dialect, r.Source)
		}
	}
}

func TestWanted(t *testing.T) {
	key, free, login, own := native.Case{Bound: true}, native.Case{}, native.Case{Bound: true, Subscription: true}, native.Case{Bound: true, OwnCompaction: true}
	for _, c := range []struct {
		use  string
		c    native.Case
		want bool
	}{
		{"auto", key, true},
		{"auto", free, false},
		{"auto", login, false},
		{"auto", own, false},
		{"provider", key, true},
		{"provider", free, true},
		{"provider", login, true},
		{"provider", own, false},
		{"extractive", key, false},
		{"model", key, false},
		{"off", key, false},
	} {
		ok, why := native.Wanted(native.ParseUse(c.use), c.c)
		if ok != c.want || ok != (why == "") {
			t.Errorf("%s, %+v: %v %q", c.use, c.c, ok, why)
		}
	}
}

const toolTurn = `{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"a","input":{}}]}`

// The request for a compaction is the ordinary one, byte for byte in what stays: the cache has been written for it.
func TestRequest(t *testing.T) {
	messages := `[` + toolTurn + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"é\/ é","cache_control":{"type":"ephemeral"}}]}]`
	body := `{"model":"claude-opus-5-5","stream":true,"max_tokens":1000, "system" : [{"type":"text","text":"s"}],"tools":[{"name":"a","input_schema":{}}],"messages": ` + messages +
		`,"context_management":{"edits":[]},"stop_sequences":["x"],"tool_choice":{"type":"any"},"output_config":{"effort":"high","format":{"type":"json_schema"},"task_budget":{"total":9,"remaining":3}},"new_thing":1e3}`
	want := `{"model":"claude-opus-5-5","stream":true,"max_tokens":8192,"system":[{"type":"text","text":"s"}],"tools":[{"name":"a","input_schema":{}}],"messages":` + messages +
		`,"output_config":{"effort":"high","task_budget":{"total":9}},"new_thing":1e3`
	sent := parsed(t, wire.Messages, body)
	h := http.Header{"Anthropic-Beta": {"context-management-2025-06-27"}, "X-Api-Key": {"k"}}
	call, err := ruleFor(t, native.Anthropic, wire.Messages, "claude-opus-5-5").Request("/v1/messages", h, sent)
	if err != nil || call.Path != "/v1/messages" || string(call.Body) != want+`,"compaction":{"type":"summarize"}}` {
		t.Errorf("%v %s\n got %s\nwant %s", err, call.Path, call.Body, want)
	}
	if got := call.Header.Get("Anthropic-Beta"); got != "context-management-2025-06-27,"+native.Beta || call.Header.Get("X-Api-Key") != "k" {
		t.Errorf("%v", call.Header)
	}
	if h.Get("Anthropic-Beta") != "context-management-2025-06-27" || string(sent.Body) != body {
		t.Error("what was given was changed")
	}

	sent.Model = "anthropic.claude-opus-5-5-v1:0"
	call, err = ruleFor(t, native.Bedrock, wire.Messages, sent.Model).Request("/model/m/invoke-with-response-stream", nil, sent)
	if err != nil || call.Path != "/model/m/invoke" || call.Header.Get("Anthropic-Beta") != "" ||
		string(call.Body) != want+`,"compaction":{"type":"summarize"},"anthropic_beta":["`+native.Beta+`"]}` {
		t.Errorf("Bedrock: %v %s\n%s", err, call.Path, call.Body)
	}
	withBeta := parsed(t, wire.Messages, `{"anthropic_beta":["a"],"max_tokens":9000,"messages":[{"role":"user","content":"x"}]}`)
	call, err = ruleFor(t, native.Bedrock, wire.Messages, sent.Model).Request("/model/m/invoke", nil, withBeta)
	if err != nil || string(call.Body) != `{"anthropic_beta":["a","`+native.Beta+`"],"max_tokens":9000,"messages":[{"role":"user","content":"x"}],"compaction":{"type":"summarize"}}` {
		t.Errorf("Bedrock: %v\n%s", err, call.Body)
	}

	responses := parsed(t, wire.Responses, `{"model":"gpt-5.6","stream":true,"store":false,"input":[{"role":"user","content":"x"}],"instructions":"i","tools":[{"type":"function","name":"a"}],"prompt_cache_key":"p","service_tier":"flex"}`)
	for provider, want := range map[string]string{
		native.OpenAI: `{"model":"gpt-5.6","input":[{"role":"user","content":"x"}],"instructions":"i","prompt_cache_key":"p","service_tier":"flex"}`,
		native.Azure:  `{"model":"gpt-5.6","input":[{"role":"user","content":"x"}],"instructions":"i","prompt_cache_key":"p"}`,
	} {
		call, err := ruleFor(t, provider, wire.Responses, "gpt-5.6").Request("/v1/responses", nil, responses)
		if err != nil || call.Path != "/v1/responses/compact" || string(call.Body) != want {
			t.Errorf("%s: %v %s\n%s", provider, err, call.Path, call.Body)
		}
	}
}

func TestWhatCannotBeCompacted(t *testing.T) {
	for body, of := range map[string]native.Rule{
		`{"messages":[]}`:                 ruleFor(t, native.Anthropic, wire.Messages, "claude-opus-5"),
		`{"messages":[` + toolTurn + `]}`: ruleFor(t, native.Anthropic, wire.Messages, "claude-opus-5"),
		`{"compaction":{"type":"summarize"},"messages":[{"role":"user","content":"x"}]}`:                                                                  ruleFor(t, native.Anthropic, wire.Messages, "claude-opus-5"),
		`{"messages":[{"role":"user","content":"x"},{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_reference","name":"n"}}]}]}`: ruleFor(t, native.Anthropic, wire.Messages, "claude-opus-5"),
		`{"input":[{"role":"user","content":"x"}],"previous_response_id":"r"}`:                                                                            ruleFor(t, native.OpenAI, wire.Responses, "gpt-5.6"),
		`{"input":[{"role":"user","content":"x"}],"conversation":"c"}`:                                                                                    ruleFor(t, native.OpenAI, wire.Responses, "gpt-5.6"),
		`{"input":[{"role":"user","content":"x"}],"context_management":[{"type":"compaction"}]}`:                                                          ruleFor(t, native.OpenAI, wire.Responses, "gpt-5.6"),
	} {
		_, err := of.Request("/v1/x", nil, parsed(t, of.Dialect, body))
		if _, ok := errors.AsType[*native.Unsuited](err); !ok {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// Every later request that has the block names the beta, and nothing that may not stand beside it.
func TestCarry(t *testing.T) {
	anthropic, bedrock := ruleFor(t, native.Anthropic, wire.Messages, "claude-opus-5-5"), ruleFor(t, native.Bedrock, wire.Messages, "claude-opus-5-5")
	block := `{"model":"m","messages":[{"role":"assistant","content":[{"type":"compaction","content":"c","signature":"s"}]},{"role":"user","content":"x"}]`
	for _, c := range []struct {
		rule       native.Rule
		more, want string
	}{
		{anthropic, `}`, `}`},
		{anthropic, `, "output_config":{"effort":"low"}}`, `, "output_config":{"effort":"low"}}`},
		{anthropic, `,"context_management":{"edits":[{"type":"compact_20260112"}]}}`, `}`},
		{anthropic, `,"context_management":{"edits":[{"type":"clear_tool_uses_20250919"},{"type":"compact_20260112"}]}}`, `,"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]}}`},
		{anthropic, `,"output_config":{"task_budget":{"remaining":1,"total":2}}}`, `,"output_config":{"task_budget":{"total":2}}}`},
		{bedrock, `}`, `,"anthropic_beta":["` + native.Beta + `"]}`},
		{bedrock, `,"anthropic_beta":["` + native.Beta + `"]}`, `,"anthropic_beta":["` + native.Beta + `"]}`},
	} {
		h, body, err := c.rule.Carry(http.Header{}, parsed(t, wire.Messages, block+c.more))
		if err != nil || string(body) != block+c.want {
			t.Errorf("%s%s: %v\n%s", c.rule.Provider, c.more, err, body)
		}
		if (h.Get("Anthropic-Beta") == native.Beta) != (c.rule.Provider == native.Anthropic) {
			t.Errorf("%s: %v", c.rule.Provider, h)
		}
	}
	if h, body, err := ruleFor(t, native.OpenAI, wire.Responses, "gpt-5.6").Carry(nil, parsed(t, wire.Responses, `{"input":"x"}`)); h != nil || err != nil || string(body) != `{"input":"x"}` {
		t.Errorf("%v %s %v", h, body, err)
	}
}

const (
	blockText = `{ "type":"compaction", "content":"the summary é","signature":"EuYB","tool_changes":[{"n":1.50}] }`
	iteration = `"usage":{"input_tokens":0,"output_tokens":0,"iterations":[{"type":"compaction","input_tokens":144,"output_tokens":276,"cache_read_input_tokens":1000,"cache_creation_input_tokens":10}]}`
	jsonForm  = `{"id":"m","type":"message","role":"assistant","content":[` + blockText + `],"stop_reason":"compaction",` + iteration + `}`
)

var streamForm = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"content\":[],\"usage\":{\"input_tokens\":0,\"output_tokens\":0}}}\n\n" +
	"event: ping\ndata: {\"type\":\"ping\"}\n\n: a comment\n\n" +
	"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":" + blockText + "}\n\n" +
	"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
	"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"compaction\"}," + iteration + "}\n\n" +
	"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"

func TestAnswers(t *testing.T) {
	claude := ruleFor(t, native.Anthropic, wire.Messages, "claude-opus-5-5")
	for _, c := range []struct{ kind, body string }{{"application/json", jsonForm}, {"text/event-stream; charset=utf-8", streamForm}} {
		got, err := claude.Parse(200, c.kind, []byte(c.body))
		if err != nil || len(got.Messages) != 1 || string(got.Messages[0]) != `{"role":"assistant","content":[`+blockText+`]}` {
			t.Errorf("%s: %v, %s", c.kind, err, got.Messages)
		}
		if got.Usage != (wire.Usage{Input: 1154, Output: 276, CacheRead: 1000, CacheWrite: 10}) {
			t.Errorf("%s: %+v", c.kind, got.Usage)
		}
		// What is made of it is a request that the provider takes.
		if err := wire.Validate(wire.Messages, fmt.Appendf(nil, `{"model":"m","max_tokens":9,"messages":[%s,{"role":"assistant","content":"a"},{"role":"user","content":"b"}]}`, got.Messages[0])); err != nil {
			t.Error(err)
		}
	}
	items := []string{`{"id":"msg_0","type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}`, `{"id":"cmp_1","type":"compaction","encrypted_content":"gAAA"}`}
	body := `{"id":"r","object":"response.compaction","created_at":1,"output":[` + strings.Join(items, " , ") + `],"usage":{"input_tokens":139,"input_tokens_details":{"cached_tokens":100},"output_tokens":438,"output_tokens_details":{"reasoning_tokens":64}}}`
	got, err := ruleFor(t, native.OpenAI, wire.Responses, "gpt-5.6").Parse(200, "application/json", []byte(body))
	if err != nil || len(got.Messages) != 2 || string(got.Messages[0]) != items[0] || string(got.Messages[1]) != items[1] ||
		got.Usage != (wire.Usage{Input: 139, Output: 438, CacheRead: 100, Reasoning: 64}) {
		t.Errorf("%v %s %+v", err, got.Messages, got.Usage)
	}
}

// Which errors are for good, which pass, and which are about the one conversation.
func TestErrors(t *testing.T) {
	claude, gpt := ruleFor(t, native.Anthropic, wire.Messages, "claude-opus-5-5"), ruleFor(t, native.OpenAI, wire.Responses, "gpt-5.6")
	said := func(text string) string {
		return `{"type":"error","error":{"type":"invalid_request_error","message":"` + text + `"}}`
	}
	const refused, unavailable, none, malformed = "refused", "unavailable", "no summary", "malformed"
	for _, c := range []struct {
		rule   native.Rule
		status int
		kind   string
		body   string
		want   string
	}{
		{claude, 400, "", said("compaction: Extra inputs are not permitted"), refused},
		{claude, 400, "", said("Unexpected value(s) `compact-2026-09-04` for the `anthropic-beta` header."), refused},
		{claude, 400, "", said("compaction is not supported on this model"), refused},
		{claude, 400, "", said("messages.3.content.1: Extra inputs are not permitted"), none},
		{claude, 400, "", said("prompt is too long: 210000 tokens > 200000 maximum"), none},
		{claude, 400, "", `{"message":"compaction: Extra inputs are not permitted"}`, refused}, // Bedrock's form
		{claude, 404, "", "<html>", refused},
		{claude, 403, "", said("no"), refused},
		{claude, 413, "", said("request_too_large"), none},
		{claude, 401, "", said("invalid x-api-key"), unavailable},
		{claude, 429, "", said("slow down"), unavailable},
		{claude, 529, "", `{"type":"error","error":{"type":"overloaded_error","message":"o","details":{"error_code":"compaction_unavailable"}}}`, unavailable},
		{claude, 500, "", "", unavailable},
		{claude, 200, "application/json", `{"content":[],"stop_reason":"max_tokens",` + iteration + `}`, none},
		{claude, 200, "application/json", `{"content":[],"stop_reason":"refusal"}`, none},
		{claude, 200, "application/json", `{"content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn"}`, refused},
		{claude, 200, "application/json", strings.Replace(jsonForm, "the summary é", "  ", 1), none},
		{claude, 200, "application/json", strings.Replace(jsonForm, "signature", "signatur", 1), malformed},
		{claude, 200, "application/json", `{"content":[` + blockText + `,` + blockText + `],"stop_reason":"compaction"}`, malformed},
		{claude, 200, "application/json", jsonForm[:100], malformed},
		{claude, 200, "application/json", ``, malformed},
		{claude, 200, "text/event-stream", streamForm[:len(streamForm)/2], malformed},
		{claude, 200, "text/event-stream", "data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"o\"}}\n\n", unavailable},
		{claude, 200, "text/event-stream", "data: {]\n\n", malformed},
		{claude, 200, "application/json", strings.Repeat(" ", native.MaxAnswer+1), malformed},
		{gpt, 404, "", "", refused},
		{gpt, 400, "", said("The model `gpt-5.6` is not supported with compaction."), refused},
		{gpt, 400, "", said("Invalid value for input[3]"), none},
		{gpt, 200, "", `{"object":"response","output":[{"type":"message"}]}`, refused},
		{gpt, 200, "", `{"object":"response.compaction","output":[]}`, none},
		{gpt, 200, "", `{"object":"response.compaction","output":["x",{"type":"compaction","encrypted_content":"e"}]}`, malformed},
		{gpt, 200, "", `[]`, malformed},
	} {
		b, err := c.rule.Parse(c.status, c.kind, []byte(c.body))
		got := malformed
		if _, ok := errors.AsType[*native.Refused](err); ok {
			got = refused
		} else if _, ok := errors.AsType[*native.Unavailable](err); ok {
			got = unavailable
		} else if _, ok := errors.AsType[*native.NoSummary](err); ok {
			got = none
		}
		if err == nil || got != c.want || b.Messages != nil {
			t.Errorf("%d %.120s: %s, %v; want %s", c.status, c.body, got, err, c.want)
		}
	}
	if b, _ := claude.Parse(200, "", []byte(`{"content":[],"stop_reason":"max_tokens",`+iteration+`}`)); b.Usage.Output != 276 {
		t.Errorf("what a summary cost that was cut off is not told: %+v", b.Usage)
	}
}

// Whatever comes, nothing is made up: what is kept stood in the answer and is JSON.
func FuzzParse(f *testing.F) {
	for _, body := range []string{jsonForm, streamForm, `{"object":"response.compaction","output":[{"type":"compaction","encrypted_content":"e"}],"usage":{"input_tokens":1e99,"output_tokens":-3}}`, strings.Repeat("[", 20_000), `{"usage":{"iterations":[{"input_tokens":99999999999999999999}]}}`} {
		for kind := range uint8(3) {
			f.Add(kind, 200, []byte(body))
			f.Add(kind, 400, []byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, status int, body []byte) {
		rule, media := ruleFor(t, native.Anthropic, wire.Messages, "claude-opus-5-5"), "application/json"
		switch kind % 3 {
		case 1:
			media = "text/event-stream"
		case 2:
			rule = ruleFor(t, native.OpenAI, wire.Responses, "gpt-5.6")
		}
		b, err := rule.Parse(status, media, body)
		if (err == nil) != (len(b.Messages) > 0) {
			t.Fatalf("%v with %d messages", err, len(b.Messages))
		}
		if u := b.Usage; u.Input < 0 || u.Output < 0 || u.CacheRead < 0 || u.CacheWrite < 0 || u.Input > 1<<30 {
			t.Fatalf("%+v", u)
		}
		for _, m := range b.Messages {
			if !json.Valid(m) {
				t.Fatalf("no JSON: %q", m)
			}
			raw := bytes.TrimSuffix(bytes.TrimPrefix(m, []byte(`{"role":"assistant","content":[`)), []byte("]}"))
			if kind%3 == 0 && !bytes.Contains(body, raw) || kind%3 == 2 && !bytes.Contains(body, m) {
				t.Fatalf("made up: %q", m)
			}
		}
	})
}

// Splices keep what they do not touch, whatever members a request has.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"messages":[{"role":"user","content":"x"}],"output_config":{"format":1,"task_budget":{"remaining":1}},"context_management":{"edits":[{"type":"compact_1"}]},"tool_choice":"any","a\u0062":[1.0]}`))
	f.Add([]byte(`{"anthropic_beta":"x","max_tokens":0,"messages":[{"role":"user","content":"x"}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := wire.Parse(wire.Messages, body)
		if err != nil || !json.Valid(body) {
			return
		}
		var before map[string]json.RawMessage
		if json.Unmarshal(body, &before) != nil {
			return
		}
		for _, provider := range []string{native.Anthropic, native.Bedrock} {
			rule := ruleFor(t, provider, wire.Messages, "claude-opus-5-5")
			call, err := rule.Request("/p", nil, r)
			_, carried, err2 := rule.Carry(nil, r)
			for _, made := range [][]byte{call.Body, carried} {
				if made == nil {
					continue
				}
				var after map[string]json.RawMessage
				if err := json.Unmarshal(made, &after); err != nil {
					t.Fatalf("%q: %v", made, err)
				}
				for key, value := range after {
					if !slices.Contains([]string{"compaction", "max_tokens", "output_config", "anthropic_beta", "context_management"}, key) && !bytes.Equal(value, before[key]) {
						t.Fatalf("%s became %q", key, value)
					}
				}
			}
			if err == nil && !bytes.Contains(call.Body, []byte(`"compaction":{"type":"summarize"}`)) || err2 != nil && carried == nil {
				t.Fatalf("%v %v %q", err, err2, call.Body)
			}
		}
	})
}
