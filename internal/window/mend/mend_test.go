package mend_test

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/window/mend"
	"github.com/plimsoll/plimsoll/window/wire"
)

var dialects = []wire.Dialect{wire.Chat, wire.Responses, wire.Messages, wire.Gemini, wire.Converse}

// fix mends, and holds the outcome to what is promised of every mending.
func fix(t testing.TB, d wire.Dialect, body string, o mend.Options) (*wire.Request, []mend.Action) {
	t.Helper()
	r, err := wire.Parse(d, []byte(body))
	if err != nil {
		t.Fatalf("%v: %.2000s", err, body)
	}
	next, actions, err := mend.Mend(r, o)
	if err != nil {
		t.Fatalf("%v: %.2000s", err, body)
	}
	if !json.Valid(next.Body) {
		t.Fatalf("no JSON: %.2000s\nfrom %.2000s", next.Body, body)
	}
	if string(r.Body) != body {
		t.Error("the body that came was changed")
	}
	done := slices.ContainsFunc(actions, func(a mend.Action) bool { return a.Kind != mend.Cut })
	if (next != r) != done {
		t.Errorf("actions %v, another request: %v", actions, next != r)
	}
	if again, more, err := mend.Mend(next, o); err != nil || again != next || slices.ContainsFunc(more, func(a mend.Action) bool { return a.Kind != mend.Cut }) {
		t.Errorf("a second mending: %v, %v\nof   %.2000s\nfrom %.2000s", more, err, next.Body, body)
	}
	twin, _ := wire.Parse(d, []byte(body))
	if twin, _, _ := mend.Mend(twin, o); !bytes.Equal(twin.Body, next.Body) {
		t.Errorf("another mending of the same differs:\n%.2000s\n%.2000s", twin.Body, next.Body)
	}
	for i := range min(o.From, len(r.Messages), len(next.Messages)) {
		var before, after []byte
		r.Fingerprint(i, func(b []byte) { before = append(before, b...) })
		next.Fingerprint(i, func(b []byte) { after = append(after, b...) })
		if !bytes.Equal(before, after) {
			t.Errorf("message %d, which was sent before, was changed", i)
		}
	}
	return next, actions
}

func kinds(actions []mend.Action) string {
	var list []string
	for _, a := range actions {
		list = append(list, a.Kind)
	}
	return strings.Join(list, " ")
}

// messages makes a request of the Messages dialect out of its messages.
func messages(list ...string) string {
	return `{"model":"claude-opus-4-8","max_tokens":1000,"messages":[` + strings.Join(list, ",") + `]}`
}

func chat(model string, list ...string) string {
	return fmt.Sprintf(`{"model":%q,"messages":[%s]}`, model, strings.Join(list, ","))
}

func input(list ...string) string {
	return `{"model":"gpt-5.1","input":[` + strings.Join(list, ",") + `]}`
}

func contents(list ...string) string { return `{"contents":[` + strings.Join(list, ",") + `]}` }

const (
	hello = `{"role":"user","content":"a"}`
	then  = `{"role":"user","content":"c"}`
	said  = `{"role":"assistant","content":"b"}`
	using = `{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"sh","input":{}}]}`
)

func one(block string) string { return `{"role":"user","content":[` + block + `]}` }

func returned(content string) string {
	return one(`{"type":"tool_result","tool_use_id":"t1","content":` + content + `}`)
}

func pictureOf(kind, data string) string {
	return fmt.Sprintf(`{"type":"image","source":{"type":"base64","media_type":%q,"data":%q}}`, kind, data)
}

// painted is an image that is not all of one colour.
func painted(w, h int) image.Image {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			img.Set(x, y, color.RGBA{uint8(x), uint8(y), uint8(x ^ y), 0xff})
		}
	}
	return img
}

func encoded(kind string, img image.Image) string {
	var b bytes.Buffer
	switch kind {
	case "image/png":
		_ = png.Encode(&b, img)
	case "image/jpeg":
		_ = jpeg.Encode(&b, img, nil)
	case "image/gif":
		_ = gif.Encode(&b, img, nil)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// flat is a PNG of one colour: small, however large it is.
func flat(w, h int) string {
	return encoded("image/png", image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.White, color.Black}))
}

// Two pictures of one pixel, lossy and lossless.
const (
	webpLossy    = "UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA"
	webpLossless = "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=="
)

func TestMessages(t *testing.T) {
	mark := `,"cache_control":{"type":"ephemeral"}`
	for _, c := range []struct{ name, before, after, kinds string }{
		{"nothing to do", messages(hello, said, then), "", ""},
		{"white space beside a call is taken", messages(hello, `{"role":"assistant","content":[{"type":"text","text":"\n"},{"type":"tool_use","id":"t1","name":"sh","input":{}}]}`, returned(`"x"`)), "", ""},
		{"empty text beside a call", messages(hello, `{"role":"assistant","content":[{"type":"text","text":""},{"type":"tool_use","id":"t1","name":"sh","input":{}}]}`, returned(`"x"`)), messages(hello, using, returned(`"x"`)), "emptied"},
		{"the mark moves", messages(hello, said, one(`{"type":"text","text":"c"},{"type":"text","text":""`+mark+`}`)), messages(hello, said, one(`{"type":"text","text":"c"`+mark+`}`)), "emptied"},
		{"white message of the model", messages(hello, `{"role":"assistant","content":[{"type":"text","text":" \n"}]}`, then), messages(hello, then), "emptied"},
		{"empty message of the user", messages(hello, said, `{"role":"user","content":""}`, said, then), messages(hello, said, said, then), "emptied"},
		{"empty prompt", messages(hello, said, `{"role":"user","content":[]}`), messages(hello, said, `{"role":"user","content":"[The user sent an empty message here.]"}`), "emptied"},
		{"empty beginning", messages(`{"role":"user","content":" "}`, said, then), messages(`{"role":"user","content":"[The user sent an empty message here.]"}`, said, then), "emptied"},
		{"empty end of the model", messages(hello, said, then, `{"role":"assistant","content":[{"type":"text","text":""}]}`), messages(hello, said, then), "emptied"},
		{"ends with the model", messages(hello, said), messages(hello, said, `{"role":"user","content":"[Go on from where the last message ends.]"}`), "prompted"},
		{"unsigned thinking", messages(hello, `{"role":"assistant","content":[{"type":"thinking","thinking":"x"},{"type":"text","text":"b"}]}`, then), messages(hello, `{"role":"assistant","content":[{"type":"text","text":"b"}]}`, then), "unsigned"},
		{"only unsigned thinking", messages(hello, `{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":""}]}`, then), messages(hello, then), "emptied"},
		{"thinking at the end", messages(hello, `{"role":"assistant","content":[{"type":"text","text":"b"},{"type":"thinking","thinking":"x","signature":"c2ln"}]}`, then), messages(hello, `{"role":"assistant","content":[{"type":"text","text":"b"}]}`, then), "unsigned"},
		{"input is a text", messages(hello, strings.Replace(using, `{}`, `"{\"a\":1}"`, 1), returned(`"x"`)), messages(hello, strings.Replace(using, `{}`, `{"a":1}`, 1), returned(`"x"`)), "wrapped"},
		{"input is half a text", messages(hello, strings.Replace(using, `{}`, `"{\"a\":\"so"`, 1), returned(`"x"`)), messages(hello, strings.Replace(using, `{}`, `{"a":"so"}`, 1), returned(`"[The arguments of this call were cut by the output limit; what was missing is not there. Call again with less at once.]\nx"`)), "closed"},
		{"input is null", messages(hello, strings.Replace(using, `{}`, `null`, 1), returned(`"x"`)), messages(hello, using, returned(`"x"`)), "wrapped"},
		{"input is a list", messages(hello, strings.Replace(using, `{}`, `[1]`, 1), returned(`"x"`)), messages(hello, strings.Replace(using, `{}`, `{"arguments":[1]}`, 1), returned(`"x"`)), "wrapped"},
		{"empty text in a result", messages(hello, using, returned(`[{"type":"text","text":""},{"type":"text","text":"x"}]`)), messages(hello, using, returned(`[{"type":"text","text":"x"}]`)), "emptied"},
		{"nothing but empty text in a result", messages(hello, using, returned(`[{"type":"text","text":""}]`)), messages(hello, using, returned(`""`)), "emptied"},
		{"failed and silent", messages(hello, using, returned(`"","is_error":true`)), messages(hello, using, returned(`"[The tool failed and said nothing.]","is_error":true`)), "filled"},
		{"a long name", messages(hello, strings.Replace(using, `"sh"`, `"`+strings.Repeat("x", 201)+`"`, 1), returned(`"x"`)), messages(hello, strings.Replace(using, `"sh"`, `"`+strings.Repeat("x", 200)+`"`, 1), returned(`"x"`)), "renamed"},
		{"an empty system prompt", `{"system":[{"type":"text","text":""}],` + messages(hello)[1:], `{"system":"",` + messages(hello)[1:], "emptied"},
		{"the server's own tool goes on", messages(hello, `{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{}}]}`), "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			next, actions := fix(t, wire.Messages, c.before, mend.Options{Provider: "anthropic"})
			if c.after == "" {
				c.after = c.before
			}
			if string(next.Body) != c.after || kinds(actions) != c.kinds {
				t.Errorf("%s\ngave %s\nwant %s\nby %q, want %q", c.before, next.Body, c.after, kinds(actions), c.kinds)
			}
		})
	}
}

func TestChatAndResponses(t *testing.T) {
	call := func(arguments string) string {
		return `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"sh","arguments":` + arguments + `}}]}`
	}
	tool := func(content string) string { return `{"role":"tool","tool_call_id":"c1","content":` + content + `}` }
	item := func(arguments string) string {
		return `{"type":"function_call","call_id":"c1","name":"sh","arguments":` + arguments + `}`
	}
	output := func(text string) string {
		return `{"type":"function_call_output","call_id":"c1","output":` + text + `}`
	}
	const cut = `[The arguments of this call were cut by the output limit; what was missing is not there. Call again with less at once.]`
	for _, c := range []struct {
		name          string
		d             wire.Dialect
		before, after string
		kinds         string
	}{
		{"nothing to do", wire.Chat, chat("gpt-5.1", hello, call(`"{\"a\":1}"`), tool(`"x"`), said), "", ""},
		{"OpenAI's own empty arguments", wire.Chat, chat("gpt-5.1", hello, call(`""`), tool(`"x"`)), "", ""},
		{"empty arguments elsewhere", wire.Chat, chat("qwen3-coder", hello, call(`""`), tool(`"x"`)), chat("qwen3-coder", hello, call(`"{}"`), tool(`"x"`)), "wrapped"},
		{"half a call", wire.Chat, chat("gpt-5.1", hello, call(`"{\"path\":\"a\",\"text\":\"one\\ntw"`), tool(`"failed to parse"`)), chat("gpt-5.1", hello, call(`"{\"path\":\"a\",\"text\":\"one\\ntw\"}"`), tool(`"`+cut+`\nfailed to parse"`)), "closed"},
		{"half a call, a list of blocks", wire.Chat, chat("gpt-5.1", hello, call(`"{\"n\":12"`), tool(`[{"type":"text","text":"x"}]`)), chat("gpt-5.1", hello, call(`"{}"`), tool(`[{"type":"text","text":"`+cut+`"},{"type":"text","text":"x"}]`)), "closed"},
		{"no JSON", wire.Chat, chat("gpt-5.1", hello, call(`"ls -l"`), tool(`"x"`)), chat("gpt-5.1", hello, call(`"{\"arguments\":\"ls -l\"}"`), tool(`"[The arguments of this call were no JSON.]\nx"`)), "wrapped"},
		{"an object for a text", wire.Chat, chat("gpt-5.1", hello, call(`{"a":1}`), tool(`"x"`)), chat("gpt-5.1", hello, call(`"{\"a\":1}"`), tool(`"x"`)), "wrapped"},
		{"no arguments", wire.Chat, chat("gpt-5.1", hello, call(`null`), tool(`"x"`)), chat("gpt-5.1", hello, call(`"{}"`), tool(`"x"`)), "wrapped"},
		{"a name", wire.Chat, chat("gpt-5.1", hello, strings.Replace(call(`"{}"`), `"sh"`, `"functions.sh"`, 1), tool(`"x"`)), chat("gpt-5.1", hello, strings.Replace(call(`"{}"`), `"sh"`, `"functions_sh"`, 1), tool(`"x"`)), "renamed"},
		{"no content", wire.Chat, chat("gpt-5.1", hello, `{"role":"assistant","content":null}`, then), chat("gpt-5.1", hello, `{"role":"assistant","content":""}`, then), "emptied"},
		{"an empty list", wire.Chat, chat("gpt-5.1", hello, call(`"{}"`), tool(`[]`)), chat("gpt-5.1", hello, call(`"{}"`), tool(`""`)), "emptied"},
		{"empty, for Kimi", wire.Chat, chat("kimi-k3", hello, `{"role":"assistant","content":""}`, then), chat("kimi-k3", hello, then), "emptied"},
		{"empty, where it is taken", wire.Chat, chat("gpt-5.1", hello, `{"role":"assistant","content":""}`, then), "", ""},
		{"Mistral's end", wire.Chat, chat("mistral-large", hello, said), chat("mistral-large", hello, said, `{"role":"user","content":"[Go on from where the last message ends.]"}`), "prompted"},
		{"Mistral's prefix", wire.Chat, chat("mistral-large", hello, `{"role":"assistant","content":"b","prefix":true}`), "", ""},
		{"a Claude at a gateway", wire.Chat, chat("anthropic/claude-opus-4.8", hello, said), chat("anthropic/claude-opus-4.8", hello, said, `{"role":"user","content":"[Go on from where the last message ends.]"}`), "prompted"},
		{"Responses: half a call", wire.Responses, input(hello, item(`"{\"a\":[1,{\"b\":tr"`), output(`"x"`)), input(hello, item(`"{\"a\":[1,{}]}"`), output(`"`+cut+`\nx"`)), "closed"},
		{"Responses: half a call, blocks", wire.Responses, input(hello, item(`"{\"a\""`), output(`[{"type":"input_text","text":"x"}]`)), input(hello, item(`"{}"`), output(`[{"type":"input_text","text":"`+cut+`"},{"type":"input_text","text":"x"}]`)), "closed"},
		{"Responses: no output", wire.Responses, input(hello, item(`"{}"`), output(`null`)), input(hello, item(`"{}"`), output(`""`)), "filled"},
		{"Responses: an object", wire.Responses, input(hello, item(`{}`), output(`"x"`)), input(hello, item(`"{}"`), output(`"x"`)), "wrapped"},
		{"Responses: free text is no JSON", wire.Responses, input(hello, `{"type":"custom_tool_call","call_id":"c1","name":"apply_patch","input":"*** Begin"}`, `{"type":"custom_tool_call_output","call_id":"c1","output":"ok"}`), "", ""},
		{"Responses: a string", wire.Responses, `{"model":"gpt-5.1","input":"do it"}`, "", ""},
		{"Gemini: an empty text", wire.Gemini, contents(`{"role":"user","parts":[{"text":"a"}]}`, `{"role":"model","parts":[{"text":""},{"text":"b"}]}`, `{"role":"user","parts":[{"text":"c"}]}`), contents(`{"role":"user","parts":[{"text":"a"}]}`, `{"role":"model","parts":[{"text":"b"}]}`, `{"role":"user","parts":[{"text":"c"}]}`), "emptied"},
		{"Gemini: a signature without words", wire.Gemini, contents(`{"role":"user","parts":[{"text":"a"}]}`, `{"role":"model","parts":[{"text":"b"},{"text":"","thoughtSignature":"c2ln"}]}`, `{"role":"user","parts":[{"text":"c"}]}`), "", ""},
		{"Gemini: no parts", wire.Gemini, contents(`{"role":"user","parts":[{"text":"a"}]}`, `{"role":"model","parts":[]}`, `{"role":"user","parts":[{"text":"c"}]}`), contents(`{"role":"user","parts":[{"text":"a"}]}`, `{"role":"user","parts":[{"text":"c"}]}`), "emptied"},
		{"Gemini: half a call", wire.Gemini, contents(`{"role":"user","parts":[{"text":"a"}]}`, `{"role":"model","parts":[{"functionCall":{"name":"sh","args":"{\"a\":1,"}}]}`, `{"role":"user","parts":[{"functionResponse":{"name":"sh","response":{"output":"x"}}}]}`), contents(`{"role":"user","parts":[{"text":"a"}]}`, `{"role":"model","parts":[{"functionCall":{"name":"sh","args":{"a":1}}}]}`, `{"role":"user","parts":[{"functionResponse":{"name":"sh","response":{"output":"x","note":"`+cut+`"}}}]}`), "closed"},
		{"Gemini: a response that is a text", wire.Gemini, contents(`{"role":"user","parts":[{"text":"a"}]}`, `{"role":"model","parts":[{"functionCall":{"name":"sh","args":{}}}]}`, `{"role":"user","parts":[{"functionResponse":{"name":"sh","response":"x"}}]}`), contents(`{"role":"user","parts":[{"text":"a"}]}`, `{"role":"model","parts":[{"functionCall":{"name":"sh","args":{}}}]}`, `{"role":"user","parts":[{"functionResponse":{"name":"sh","response":{"output":"x"}}}]}`), "wrapped"},
	} {
		t.Run(c.name, func(t *testing.T) {
			next, actions := fix(t, c.d, c.before, mend.Options{})
			if c.after == "" {
				c.after = c.before
			}
			if string(next.Body) != c.after || kinds(actions) != c.kinds {
				t.Errorf("%s\ngave %s\nwant %s\nby %q, want %q", c.before, next.Body, c.after, kinds(actions), c.kinds)
			}
		})
	}
}

// Reasoning that nobody signs stays as it came, and what a model asks for and the client has dropped is filled in.
func TestReasoningWithoutSignature(t *testing.T) {
	thinking := strings.NewReplacer("claude-opus-4-8", "deepseek-v4-pro", `"messages"`, `"thinking":{"type":"enabled","budget_tokens":32000},"messages"`).Replace
	call := func(more string) string {
		return `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"sh","arguments":"{}"}}]` + more + `}`
	}
	result := `{"role":"tool","tool_call_id":"c1","content":"x"}`
	blank := `"reasoning_content":" "`
	use := `{"type":"tool_use","id":"t1","name":"sh","input":{}}`
	turn := func(blocks string) string {
		return messages(hello, `{"role":"assistant","content":[`+blocks+`]}`, returned(`"x"`), said, then)
	}
	for name, body := range map[string]string{
		"none":               thinking(turn(use)),
		"without":            thinking(turn(`{"type":"thinking","thinking":"x"},` + use)),
		"an empty signature": thinking(turn(`{"type":"thinking","thinking":"","signature":""},` + use)),
		// DeepSeek answers with a model of its own.
		"under a Claude's name": turn(`{"type":"thinking","thinking":"x"},` + use),
	} {
		t.Run(name, func(t *testing.T) {
			if next, actions := fix(t, wire.Messages, body, mend.Options{Provider: "deepseek"}); len(actions) > 0 {
				t.Errorf("%v: %s", actions, next.Body)
			}
		})
	}
	for _, c := range []struct {
		name          string
		d             wire.Dialect
		before, after string // after is "" for what stays
	}{
		{"none", wire.Chat, chat("kimi-k3", hello, call(""), result, said, then), chat("kimi-k3", hello, call(","+blank), result, strings.TrimSuffix(said, "}")+","+blank+"}", then)},
		{"null, and an empty one", wire.Chat, chat("kimi-k3", hello, call(`,"reasoning_content":null`), result, call(`,"reasoning_content":""`), result), chat("kimi-k3", hello, call(","+blank), result, call(","+blank), result)},
		{"under another name", wire.Chat, chat("kimi-k3", hello, call(`,"reasoning":"so"`), result), chat("kimi-k3", hello, call(`,"reasoning":"so","reasoning_content":"so"`), result)},
		{"some", wire.Chat, chat("kimi-k3", hello, call(`,"reasoning_content":"so"`), result), ""},
		{"in Messages", wire.Messages, thinking(turn(use)), thinking(turn(`{"type":"thinking","thinking":" ","signature":""},` + use))},
		{"some, in Messages", wire.Messages, thinking(turn(`{"type":"thinking","thinking":""},` + use)), ""},
		{"a Claude", wire.Messages, turn(use), ""},
		{"a dialect without such models", wire.Responses, input(hello, `{"type":"function_call","call_id":"c","name":"sh","arguments":"{}"}`, `{"type":"function_call_output","call_id":"c","output":"x"}`), ""},
	} {
		t.Run("asked for: "+c.name, func(t *testing.T) {
			next, actions := fix(t, c.d, c.before, mend.Options{NeedReasoning: true})
			if want := cmp.Or(c.after, c.before); string(next.Body) != want {
				t.Errorf("%v\ngave %s\nwant %s", actions, next.Body, want)
			}
		})
	}
	body := chat("kimi-k3", hello, call(""), result, call(""), result)
	next, actions := fix(t, wire.Chat, body, mend.Options{NeedReasoning: true, From: 3})
	if at, cut := mend.First(actions); strings.Count(string(next.Body), blank) != 1 || !cut || at != 1 {
		t.Errorf("a message that was sent before has changed, or nobody is told that it has to: %v, %s", actions, next.Body)
	}
	body = chat("devstral-small", hello, call(""), result, then, call(""), result, then)
	next, actions = fix(t, wire.Chat, body, mend.Options{NeedAnswers: true, From: 4})
	if at, cut := mend.First(actions); len(next.Messages) != 8 || !cut || at != 3 {
		t.Errorf("likewise between results and the user's words: %v, %s", actions, next.Body)
	}
}

// Marks go from the front of the messages; those of the tools and the system prompt stay for as long as they can.
func TestOldestMarksGo(t *testing.T) {
	marked := func(text string) string {
		return fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":%q,"cache_control":{"type":"ephemeral"}}]}`, text)
	}
	body := `{"system":[{"cache_control":{"type":"ephemeral"},"type":"text","text":"s"}],` + messages(marked("a"), marked("b"), marked("c"), marked("d"))[1:]
	next, actions := fix(t, wire.Messages, body, mend.Options{From: 4})
	if want := strings.Replace(body, marked("a"), `{"role":"user","content":[{"type":"text","text":"a"}]}`, 1); string(next.Body) != want || kinds(actions) != "unmarked" {
		t.Errorf("%v\ngave %s\nwant %s", actions, next.Body, want)
	}
	all := `{"cache_control":{"type":"ephemeral"},` + messages(marked("a"), marked("b"), marked("c"), marked("d"))[1:]
	if next, _ := fix(t, wire.Messages, all, mend.Options{}); len(next.Marks) != 3 {
		t.Errorf("beside one for the whole request %d marks are left, want 3", len(next.Marks))
	}
	if next, actions := fix(t, wire.Messages, strings.Replace(body, `{"type":"ephemeral"}`, "null", 1), mend.Options{}); len(actions) != 0 {
		t.Errorf("a null is no mark: %v, %s", actions, next.Body)
	}
}

func TestBudget(t *testing.T) {
	request := func(most, budget int, more string) string {
		return fmt.Sprintf(`{"model":"claude-sonnet-4-5","max_tokens":%d,"thinking":{"type":"enabled","budget_tokens":%d},%s"messages":[%s]}`, most, budget, more, hello)
	}
	tool := `"tools":[{"name":"sh","input_schema":{"type":"object"}}],`
	beta := mend.Options{Betas: []string{"x,interleaved-thinking-2025-05-14"}}
	for _, c := range []struct {
		before, after string
		o             mend.Options
	}{
		{request(4096, 1024, ""), request(4096, 1024, ""), mend.Options{}},
		{request(1000, 1024, ""), request(2024, 1024, ""), mend.Options{}},
		{request(8000, 16000, ""), request(8000, 4000, ""), mend.Options{}},
		{request(8000, 8000, ""), request(8000, 4000, ""), mend.Options{}},
		{request(8000, 16000, tool), request(8000, 16000, tool), beta},
		{request(8000, 16000, ""), request(8000, 4000, ""), beta}, // it is for tools
		{request(8000, 16000, tool+`"anthropic_beta":["interleaved-thinking-2025-05-14"],`), request(8000, 16000, tool+`"anthropic_beta":["interleaved-thinking-2025-05-14"],`), mend.Options{Provider: "bedrock"}},
	} {
		if next, _ := fix(t, wire.Messages, c.before, c.o); string(next.Body) != c.after {
			t.Errorf("%s\ngave %s\nwant %s", c.before, next.Body, c.after)
		}
	}
}

// A turn that lost the thinking it began with goes on without.
func TestTurnWithoutThinking(t *testing.T) {
	body := `{"model":"claude-sonnet-4-5","max_tokens":8000,"thinking":{"type":"enabled","budget_tokens":1024},"messages":[` + hello + `,` +
		strings.Replace(using, `[`, `[{"type":"thinking","thinking":"x"},`, 1) + `,` + returned(`"x"`) + `]}`
	next, actions := fix(t, wire.Messages, body, mend.Options{})
	if !bytes.Contains(next.Body, []byte(`"thinking":{"type":"disabled"}`)) || kinds(actions) != "budgeted unsigned" {
		t.Errorf("%v: %s", actions, next.Body)
	}
	if said := strict(wire.Messages, "claude-sonnet-4-5", next.Body); said != "" {
		t.Errorf("it is refused: %s", said)
	}
}

// The words that a model with prefill goes on from stay, but for white space at their end.
func TestPrefill(t *testing.T) {
	body := strings.Replace(messages(hello, `{"role":"assistant","content":"so \n"}`), "opus-4-8", "haiku-4-5", 1)
	next, _ := fix(t, wire.Messages, body, mend.Options{Provider: "anthropic"})
	if want := strings.Replace(body, `so \n`, `so`, 1); string(next.Body) != want {
		t.Errorf("gave %s", next.Body)
	}
	for model, prompted := range map[string]bool{
		"claude-haiku-4-5": false, "claude-3-5-sonnet-20241022": false, "claude-opus-4-20250514": false, "anthropic.claude-sonnet-4-5-20250929-v1:0": false,
		"claude-opus-4-6": true, "us.anthropic.claude-opus-4-6-v1": true, "anthropic--claude-4-8-opus": true, "claude-sonnet-5": true, "claude-fable-5-1": true, "claude-mythos-preview": true, "claude-next": false,
	} {
		body := strings.Replace(messages(hello, said), "claude-opus-4-8", model, 1)
		if _, actions := fix(t, wire.Messages, body, mend.Options{Provider: "anthropic"}); (kinds(actions) == "prompted") != prompted {
			t.Errorf("%s: %v", model, actions)
		}
	}
}
