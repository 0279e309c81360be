package standin_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/agent/standin"
	"github.com/plimsoll/plimsoll/window/wire"
)

// Whatever is sent, there is one answer in JSON or one whole stream, and what is answered
// with calls stays a conversation that a strict provider takes.
func FuzzRequest(f *testing.F) {
	h := standin.New(standin.Options{Window: 20_000})
	for _, seed := range []string{
		`{"model":"standin-planner","messages":[{"role":"user","content":"list all echo and page 2"}],` + echoTool + `}`,
		`{"model":"standin-planner","stream":true,"messages":[{"role":"user","content":"echo \"x\" 3 times"}],` + echoTool + `}`,
		`{"model":"standin-planner","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"echo {\"text\":1}"}]}],` + echoTool + `}`,
		`{"model":"standin-planner","messages":[{"role":"user","content":"x"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"echo","arguments":"{\"a\":"}}]},{"role":"tool","tool_call_id":"c1","content":"{\"pagination\":{\"page\":1,\"total_pages\":99999999999},\"items\":[{\"a\":1},{\"b\":[[[\"\u202e"}],` + echoTool + `}`,
		`{"model":"standin-planner","messages":[{"role":"tool"}]}`,
		strings.Repeat(`[`, 3000),
		`{"model":"standin-planner","messages":[{"role":"user","content":"` + "\xff\xfe" + `page 999999999999999999999"}]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		w := post(h, body)
		if h.Stats().Running != 0 {
			t.Fatal("it still runs")
		}
		if strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
			if text := w.Body.String(); !strings.HasSuffix(text, "data: [DONE]\n\n") || !utf8.ValidString(text) {
				t.Errorf("a stream that ends in %q", text[max(0, len(text)-40):])
			}
			return
		}
		var got struct {
			Error   *struct{ Message string }
			Choices []struct{ Message json.RawMessage }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatalf("%d %q: %v", w.Code, w.Body, err)
		}
		if w.Code != 200 {
			if got.Error == nil || got.Error.Message == "" {
				t.Errorf("%d says nothing: %s", w.Code, w.Body)
			}
			return
		}
		var said struct {
			Calls []struct {
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		if len(got.Choices) != 1 || json.Unmarshal(got.Choices[0].Message, &said) != nil {
			t.Fatalf("%s", w.Body)
		}
		var next strings.Builder
		next.WriteString(`{"messages":[{"role":"user","content":"x"},` + string(got.Choices[0].Message))
		for _, c := range said.Calls {
			if !json.Valid([]byte(c.Function.Arguments)) {
				t.Errorf("the arguments of %s are %q", c.Function.Name, c.Function.Arguments)
			}
			next.WriteString(`,{"role":"tool","content":"y","tool_call_id":"` + c.ID + `"}`)
		}
		if err := wire.Validate(wire.Chat, []byte(next.String()+`]}`)); err != nil {
			t.Errorf("%v: %s", err, next.String())
		}
	})
}
