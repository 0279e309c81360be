package reasoning

import (
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/window/wire"
)

func parsed(t *testing.T, d wire.Dialect, body string) *wire.Request {
	t.Helper()
	r, err := wire.Parse(d, []byte(body))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return r
}

const (
	question  = `{"role":"user","content":"q"}`
	thought   = `{"type":"thinking","thinking":"t","signature":"s1"}`
	sealed    = `{"type":"redacted_thinking","data":"ZA=="}`
	calls     = `{"type":"tool_use","id":"a","name":"f","input":{"x": 1.0}}`
	result    = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"r"}]}`
	userItem  = `{"role":"user","content":"q"}`
	rsSealed  = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"}`
	rsKept    = `{"type":"reasoning","id":"rs_2","summary":[]}`
	callItem  = `{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}`
	outItem   = `{"type":"function_call_output","call_id":"a","output":"r"}`
	chatCalls = `"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]`
	chatOut   = `{"role":"tool","tool_call_id":"a","content":"r"}`
)

func TestWithout(t *testing.T) {
	for _, tt := range []struct {
		name    string
		dialect wire.Dialect
		from    int
		body    string
		want    string
		n       int
	}{
		{
			"thinking of every kind goes, all else stays to the byte", wire.Messages, 0,
			`{"model":"m", "messages":[` + question + `, {"role":"assistant","content":[` + thought + `, ` + sealed + `,` + calls + `],"x":1}, ` + result + `]}`,
			`{"model":"m", "messages":[` + question + `, {"role":"assistant","content":[` + calls + `],"x":1}, ` + result + `]}`, 2,
		},
		{
			"what stands before the index stays", wire.Messages, 3,
			`{"messages":[` + question + `,{"role":"assistant","content":[` + thought + `,` + calls + `]},` + result + `,{"role":"assistant","content":[` + thought + `,{"type":"text","text":"x"}]},` + question + `]}`,
			`{"messages":[` + question + `,{"role":"assistant","content":[` + thought + `,` + calls + `]},` + result + `,{"role":"assistant","content":[{"type":"text","text":"x"}]},` + question + `]}`, 1,
		},
		{
			"a message of nothing else goes", wire.Messages, -1,
			`{"messages":[` + question + `,{"role":"assistant","content":[` + thought + `]},` + question + `]}`,
			`{"messages":[` + question + `,` + question + `]}`, 1,
		},
		{
			"a budget goes with the thinking that a running turn began with", wire.Messages, 0,
			`{"thinking":{"type":"enabled","budget_tokens":1024},"messages":[` + question + `,{"role":"assistant","content":[` + thought + `,` + calls + `]},` + result + `]}`,
			`{"thinking":{"type":"disabled"},"messages":[` + question + `,{"role":"assistant","content":[` + calls + `]},` + result + `]}`, 1,
		},
		{
			"but not where the turn is over", wire.Messages, 0,
			`{"thinking":{"type":"enabled","budget_tokens":1024},"messages":[` + question + `,{"role":"assistant","content":[` + thought + `,{"type":"text","text":"x"}]},` + question + `]}`,
			`{"thinking":{"type":"enabled","budget_tokens":1024},"messages":[` + question + `,{"role":"assistant","content":[{"type":"text","text":"x"}]},` + question + `]}`, 1,
		},
		{
			"nothing to take", wire.Messages, 2,
			`{"messages":[` + question + `,{"role":"assistant","content":[` + thought + `,` + calls + `]},` + result + `]}`, "", 0,
		},
		{
			"items with their content go, the provider's own stay", wire.Responses, 0,
			`{"input":[` + userItem + `,` + rsSealed + `,` + callItem + `,` + outItem + `,` + rsKept + `,` + callItem + `,` + outItem + `]}`,
			`{"input":[` + userItem + `,` + callItem + `,` + outItem + `,` + rsKept + `,` + callItem + `,` + outItem + `]}`, 1,
		},
		{
			"all go where nothing is kept", wire.Responses, 0,
			`{"store":false,"input":[` + userItem + `,` + rsSealed + `,` + rsKept + `,` + callItem + `,` + outItem + `]}`,
			`{"store":false,"input":[` + userItem + `,` + callItem + `,` + outItem + `]}`, 2,
		},
		{
			"what is signed goes, and its words with it", wire.Chat, 0,
			`{"messages":[` + question + `,{"role":"assistant","content":null,"reasoning":"w","reasoning_details":[{"type":"reasoning.text","signature":"s"}],` + chatCalls + `},` + chatOut + `]}`,
			`{"messages":[` + question + `,{"role":"assistant","content":null,` + chatCalls + `},` + chatOut + `]}`, 2,
		},
		{
			"LiteLLM's blocks", wire.Chat, 0,
			`{"messages":[` + question + `,{"role":"assistant","reasoning_content":"w","thinking_blocks":[` + thought + `],"content":"x"},` + question + `]}`,
			`{"messages":[` + question + `,{"role":"assistant","content":"x"},` + question + `]}`, 2,
		},
		{
			"words that nobody signed stay", wire.Chat, 0,
			`{"messages":[` + question + `,{"role":"assistant","reasoning_content":"w","content":null,` + chatCalls + `},` + chatOut + `]}`, "", 0,
		},
		{
			"Gemini keeps its signatures", wire.Gemini, 0,
			`{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"text":"w","thought":true,"thoughtSignature":"AA=="},{"functionCall":{"name":"f"}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}]}]}`, "", 0,
		},
		{
			"nothing is left of a request of thoughts alone, so it stays", wire.Responses, 0,
			`{"store":false,"input":[` + rsSealed + `]}`, "", 0,
		},
	} {
		r := parsed(t, tt.dialect, tt.body)
		next, n, err := Without(r, tt.from)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if tt.want == "" {
			if next != r || n != 0 {
				t.Errorf("%s: %d parts went: %s", tt.name, n, next.Body)
			}
			continue
		}
		if string(next.Body) != tt.want || n != tt.n {
			t.Errorf("%s: %d parts went, want %d:\n%s\n%s", tt.name, n, tt.n, next.Body, tt.want)
		}
		if err := wire.ValidateEdit(tt.dialect, r.Body, next.Body); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if again, n, err := Without(next, tt.from); again != next || n != 0 || err != nil {
			t.Errorf("%s: a second time takes %d more (%v)", tt.name, n, err)
		}
	}
}

func TestMend(t *testing.T) {
	const (
		prompt = `{"role":"user","parts":[{"text":"q"}]}`
		out    = `{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}]}`
		dummy  = `"thoughtSignature":"skip_thought_signature_validator"`
	)
	call := func(signature string) string {
		return `{"role":"model","parts":[{` + signature + `"functionCall":{"name":"f"}},{"functionCall":{"name":"f"}}]}`
	}
	for _, tt := range []struct {
		name    string
		dialect wire.Dialect
		no      Refusal
		body    string
		want    string // "" is no change
	}{
		{
			"from the message that was named", wire.Messages,
			Refusal{Cause: Changed, Message: 2},
			`{"messages":[` + question + `,{"role":"assistant","content":[` + thought + `,` + calls + `]},` + result + `,{"role":"assistant","content":[` + thought + `,{"type":"text","text":"x"}]},` + question + `]}`,
			`{"messages":[` + question + `,{"role":"assistant","content":[` + thought + `,` + calls + `]},` + result + `,{"role":"assistant","content":[{"type":"text","text":"x"}]},` + question + `]}`,
		},
		{
			"from the beginning where the place is none", wire.Messages,
			Refusal{Cause: Foreign, Message: 99},
			`{"messages":[` + question + `,{"role":"assistant","content":[` + thought + `,` + calls + `]},` + result + `]}`,
			`{"messages":[` + question + `,{"role":"assistant","content":[` + calls + `]},` + result + `]}`,
		},
		{
			"no thinking can be made up, so a budget goes", wire.Messages,
			Refusal{Form: "anthropic.first", Cause: Wanted, Message: 1},
			`{"thinking":{"type":"enabled","budget_tokens":1024},"messages":[` + question + `,{"role":"assistant","content":[` + calls + `]},` + result + `]}`,
			`{"thinking":{"type":"disabled"},"messages":[` + question + `,{"role":"assistant","content":[` + calls + `]},` + result + `]}`,
		},
		{
			"of what is not kept only what has no content", wire.Responses,
			Refusal{Cause: Missing, Message: -1},
			`{"store":false,"input":[` + userItem + `,` + rsSealed + `,` + rsKept + `,` + callItem + `,` + outItem + `]}`,
			`{"store":false,"input":[` + userItem + `,` + rsSealed + `,` + callItem + `,` + outItem + `]}`,
		},
		{
			"all that another account encrypted", wire.Responses,
			Refusal{Cause: Foreign, Message: 3},
			`{"input":[` + userItem + `,` + rsSealed + `,` + callItem + `,` + outItem + `]}`,
			`{"input":[` + userItem + `,` + callItem + `,` + outItem + `]}`,
		},
		{"what is demanded back", wire.Chat, Refusal{Cause: Wanted}, `{"messages":[` + question + `]}`, ""},
		{
			"a call of the running turn without a signature", wire.Gemini,
			Refusal{Cause: Wanted},
			`{"contents":[` + prompt + `,` + call("") + `,` + out + `,` + prompt + `,` + call("") + `,` + out + `,` + call(`"thoughtSignature":"AA==",`) + `,` + out + `]}`,
			`{"contents":[` + prompt + `,` + call("") + `,` + out + `,` + prompt + `,` + call(dummy+",") + `,` + out + `,` + call(`"thoughtSignature":"AA==",`) + `,` + out + `]}`,
		},
		{
			"a signature of null", wire.Gemini,
			Refusal{Cause: Wanted},
			`{"contents":[` + prompt + `,` + call(`"thoughtSignature":null,`) + `,` + out + `]}`,
			`{"contents":[` + prompt + `,` + call(dummy+",") + `,` + out + `]}`,
		},
		{
			"signatures of another model", wire.Gemini,
			Refusal{Cause: Foreign},
			`{"contents":[` + prompt + `,` + call(`"thought_signature":"AA==",`) + `,` + out + `]}`,
			`{"contents":[` + prompt + `,` + call(strings.Replace(dummy, "thoughtSignature", "thought_signature", 1)+",") + `,` + out + `]}`,
		},
	} {
		r := parsed(t, tt.dialect, tt.body)
		next, n, err := Mend(r, tt.no)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		want := tt.want
		if want == "" {
			want = tt.body
		}
		if string(next.Body) != want || (n > 0) != (tt.want != "") {
			t.Errorf("%s: %d changes:\n%s\n%s", tt.name, n, next.Body, want)
		}
		if again, n, _ := Mend(next, tt.no); n != 0 || again != next {
			t.Errorf("%s: a second time changes %d more", tt.name, n)
		}
	}
}
