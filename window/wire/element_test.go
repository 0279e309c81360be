package wire

import (
	"encoding/json"
	"strings"
	"testing"
)

// A result made here closes its call, by the rules of the providers.
func TestResultElement(t *testing.T) {
	item := func(kind, more string) string {
		return `{"input":[{"role":"user","content":"u"},{"type":"` + kind + `","id":"x_1","call_id":"call_1","status":"completed",` + more + `}]}`
	}
	for _, c := range []struct {
		name    string
		dialect Dialect
		body    string
	}{
		{"chat", Chat, `{"messages":[{"role":"user","content":"u"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}]}]}`},
		{"messages", Messages, `{"messages":[{"role":"user","content":"u"},{"role":"assistant","content":[{"type":"tool_use","id":"call_1","name":"f","input":{}}]}]}`},
		{"gemini", Gemini, `{"contents":[{"role":"user","parts":[{"text":"u"}]},{"role":"model","parts":[{"functionCall":{"id":"call_1","name":"f","args":{}}}]}]}`},
		{"gemini without ids", Gemini, `{"contents":[{"role":"user","parts":[{"text":"u"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]}]}`},
		{"function", Responses, item("function_call", `"name":"f","arguments":"{}"`)},
		{"custom", Responses, item("custom_tool_call", `"name":"f","input":""`)},
		{"local shell", Responses, item("local_shell_call", `"action":{"type":"exec","command":["ls"],"env":{}}`)},
		{"shell", Responses, item("shell_call", `"action":{"commands":["ls"]}`)},
		{"apply patch", Responses, item("apply_patch_call", `"operation":{"type":"delete_file","path":"x"}`)},
		{"tool search", Responses, item("tool_search_call", `"execution":"client","arguments":{}`)},
	} {
		for _, failed := range []bool{false, true} {
			r := parsed(t, c.dialect, c.body)
			raw := ResultElement(c.dialect, r.Messages[1].Parts[0], "text \"1\"", failed)
			switch c.dialect {
			case Messages:
				raw = join(`{"role":"user","content":[`, raw, `]}`)
			case Gemini:
				raw = join(`{"role":"user","parts":[`, raw, `]}`)
			}
			d := r.Draft()
			d.InsertMessages(2, raw)
			next, err := d.Build()
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if err := Validate(c.dialect, next.Body); err != nil {
				t.Errorf("%s: %v\n%s", c.name, err, raw)
			}
			if units := next.Units(); len(units) != 2 || units[1].Pending != 0 {
				t.Errorf("%s: %+v", c.name, units)
			}
			p := next.Messages[2].Parts[0]
			if c.dialect != Chat && c.dialect != Responses && p.Failed != failed {
				t.Errorf("%s: failed %t, want %t", c.name, p.Failed, failed)
			}
			if c.name != "tool search" && !strings.Contains(string(raw), `"text \"1\""`) || p.Kind != Result {
				t.Errorf("%s: %s", c.name, raw)
			}
		}
	}
	if raw := ResultElement(Responses, Part{Type: "computer_call"}, "x", true); raw != nil {
		t.Errorf("a computer's screen as text: %s", raw)
	}
}

func TestTextElement(t *testing.T) {
	for d := Chat; d <= Gemini; d++ {
		for _, role := range []Role{RoleUser, RoleAssistant} {
			list := map[Dialect]string{Chat: `{"messages":[`, Messages: `{"messages":[`, Responses: `{"input":[`, Gemini: `{"contents":[`}[d]
			body := list + string(TextMessage(d, RoleUser, "u")) + `,` + string(TextMessage(d, role, "one")) + `]}`
			r := parsed(t, d, body)
			draft := r.Draft()
			draft.InsertPart(1, 1, TextElement(d, role, "\ntwo"))
			next, err := draft.Build()
			if err != nil {
				t.Fatalf("%v: %v", d, err)
			}
			if err := Validate(d, next.Body); err != nil || !json.Valid(next.Body) {
				t.Errorf("%v %v: %v\n%s", d, role, err, next.Body)
			}
			if m := next.Messages[1]; m.Role != role || len(m.Parts) != 2 || string(next.Raw(m.Parts[1].Texts[0])) != `"\ntwo"` {
				t.Errorf("%v %v: %s", d, role, sketch(next))
			}
		}
	}
}

func TestNames(t *testing.T) {
	for d := Chat; d <= Gemini; d++ {
		if got, ok := ParseDialect(d.String()); !ok || got != d {
			t.Errorf("%v came back as %v", d, got)
		}
	}
	if _, ok := ParseDialect("unknown"); ok || Dialect(0).String() != "unknown" || Dialect(9).String() != "unknown" {
		t.Error("a dialect that is none has a name")
	}
	if got := Role(99).String() + PartKind(99).String() + (Referenced | Summarising).String(); got != "toolcompactionreferenced,summarising" {
		t.Errorf("names %s", got)
	}
}

// Each client asks for its own summary in its own place.
func TestOwnCompaction(t *testing.T) {
	for _, c := range []struct {
		dialect Dialect
		body    string
		want    Bypass
	}{
		{Gemini, `{"systemInstruction":{"parts":[{"text":"\nYou are a specialized system component responsible for distilling chat history into XML"}]},"contents":[]}`, Summarising},
		{Chat, `{"messages":[{"role":"system","content":"You are a context summarization agent. You"},{"role":"user","content":"x"}]}`, Summarising},
		{Responses, `{"instructions":"You are Codex","input":[{"role":"user","content":"x"},{"role":"user","content":[{"type":"input_text","text":"You are performing a CONTEXT CHECKPOINT COMPACTION. Create"}]}]}`, Summarising},
		// Once the summary is there, the request for it is an old message like any other.
		{Responses, `{"input":[{"role":"user","content":"You are performing a CONTEXT CHECKPOINT COMPACTION. Create"},{"role":"user","content":"x"}]}`, 0},
		{Chat, `{"messages":[{"role":"user","content":"` + strings.Repeat("word ", 1000) + `You are a context summarization agent"}]}`, 0},
	} {
		r := parsed(t, c.dialect, c.body)
		if r.Bypass != c.want {
			t.Errorf("bypass %q, want %q: %.120s", r.Bypass, c.want, c.body)
		}
	}
}
