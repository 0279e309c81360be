package mend_test

import (
	"fmt"
	"image"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/window/mend"
	"github.com/plimsoll/plimsoll/window/repair"
	"github.com/plimsoll/plimsoll/window/wire"
)

// refusal is what a row of docs/refusals.md is about.
type refusal struct {
	d     wire.Dialect
	model string
	body  string
	kind  string // what is done; "" when it is passed on, or package repair's
}

// heavy is an image over 5 MB.
func heavy() string {
	img := image.NewRGBA(image.Rect(0, 0, 1200, 1200))
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range img.Pix {
		img.Pix[i] = byte(rng.Uint32()) | byte(i&3/3*255)
	}
	return encoded("image/png", img)
}

func repeated(n int, format string, block string) string {
	return strings.TrimSuffix(strings.Repeat(fmt.Sprintf(format, block)+",", n), ",")
}

func refusals() map[string]refusal {
	opus := func(body, kind string) refusal { return refusal{wire.Messages, "claude-opus-4-8", body, kind} }
	older := func(body, kind string) refusal {
		return refusal{wire.Messages, "claude-haiku-4-5", strings.Replace(body, "claude-opus-4-8", "claude-haiku-4-5", 1), kind}
	}
	gpt := func(body, kind string) refusal { return refusal{wire.Chat, "gpt-5.1", body, kind} }
	codex := func(body, kind string) refusal { return refusal{wire.Responses, "gpt-5.1", body, kind} }
	google := func(body, kind string) refusal { return refusal{wire.Gemini, "gemini-3-pro", body, kind} }

	jpg, bad := encoded("image/jpeg", painted(8, 8)), "bm90IGEgcG5n"
	mark := `,"cache_control":{"type":"ephemeral"}`
	call := func(name, arguments string) string {
		return `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"` + name + `","arguments":` + arguments + `}}]}`
	}
	tool := func(content string) string { return `{"role":"tool","tool_call_id":"c1","content":` + content + `}` }
	asked, answered := `{"role":"user","parts":[{"text":"a"}]}`, `{"role":"model","parts":[{"text":"b"}]}`
	inline := func(kind, data string) string {
		return contents(`{"role":"user","parts":[{"inlineData":{"mimeType":"` + kind + `","data":"` + data + `"}}]}`)
	}
	seen := func(kind, data string) string {
		return chat("gpt-5.1", one(`{"type":"image_url","image_url":{"url":"data:`+kind+`;base64,`+data+`"}}`))
	}
	return map[string]refusal{
		"Anthropic/an empty text beside others":                                  opus(messages(hello, strings.Replace(using, `[`, `[{"type":"text","text":""},`, 1), returned(`"x"`)), mend.Emptied),
		"Anthropic/an empty text with a cache mark":                              opus(messages(hello, said, one(`{"type":"text","text":"c"},{"type":"text","text":""`+mark+`}`)), mend.Emptied),
		"Anthropic/an answer of white space":                                     opus(messages(hello, `{"role":"assistant","content":[{"type":"text","text":" \n"}]}`, then), mend.Emptied),
		"Anthropic/an empty message of the user":                                 opus(messages(hello, said, `{"role":"user","content":""}`, said, then), mend.Emptied),
		"Anthropic/an empty text within a result":                                opus(messages(hello, using, returned(`[{"type":"text","text":""}]`)), mend.Emptied),
		"Anthropic/five cache marks":                                             opus(messages(one(repeated(5, `{"type":"text","text":"a"%s}`, mark))), mend.Unmarked),
		"Anthropic/an image of 8,100 pixels":                                     opus(messages(one(pictureOf("image/png", flat(16, 8100)))), mend.Scaled),
		"Anthropic/an image that is too large to scale":                          opus(messages(one(pictureOf("image/png", flat(9000, 2000)))), mend.Described),
		"Anthropic/a large image among more than 20":                             opus(messages(one(repeated(20, "%s", pictureOf("image/png", flat(20, 20)))+","+pictureOf("image/png", flat(2162, 322)))), mend.Scaled),
		"Anthropic/an image over 5 MB":                                           opus(messages(one(pictureOf("image/png", heavy()))), mend.Scaled),
		"Anthropic/an image of another type than it says":                        opus(messages(one(pictureOf("image/png", jpg))), mend.Retyped),
		"Anthropic/a PDF as an image":                                            opus(messages(hello, using, returned(`[`+pictureOf("application/pdf", "JVBERi0=")+`]`)), mend.Described),
		"Anthropic/bytes that are no image":                                      opus(messages(hello, using, returned(`[`+pictureOf("image/png", bad)+`]`)), mend.Described),
		"Anthropic/an image in a failed result":                                  opus(messages(hello, using, returned(`[`+pictureOf("image/jpeg", jpg)+`],"is_error":true`)), mend.Described),
		"Anthropic/more than 600 images, 100 where the window is 200,000 tokens": opus(messages(one(repeated(601, "%s", pictureOf("image/png", flat(2, 2))))), mend.Described),
		"Anthropic/a failed result without words":                                opus(messages(hello, using, returned(`"","is_error":true`)), mend.Filled),
		"Anthropic/thinking without a signature":                                 opus(messages(hello, `{"role":"assistant","content":[{"type":"thinking","thinking":"x"},{"type":"text","text":"b"}]}`, then), mend.Unsigned),
		"Anthropic/thinking at the end of a message":                             opus(messages(hello, `{"role":"assistant","content":[{"type":"text","text":"b"},{"type":"thinking","thinking":"x","signature":"c2ln"}]}`, then), mend.Unsigned),
		"Anthropic/a turn that lost the thinking it began with":                  older(`{"thinking":{"type":"enabled","budget_tokens":1024},`+strings.Replace(messages(hello, using, returned(`"x"`)), "1000", "9000", 1)[1:], mend.Budgeted),
		"Anthropic/the input of a call as a text":                                opus(messages(hello, strings.Replace(using, `{}`, `"{\"a\":"`, 1), returned(`"x"`)), mend.Closed),
		"Anthropic/a tool's name of 201 characters":                              opus(messages(hello, strings.Replace(using, `"sh"`, `"`+strings.Repeat("x", 201)+`"`, 1), returned(`"x"`)), mend.Renamed),
		"Anthropic/the model's words at the end, from Claude 4.6 on":             opus(messages(hello, said), mend.Prompted),
		"Anthropic/prefill that ends in white space":                             older(messages(hello, `{"role":"assistant","content":"so "}`), mend.Trimmed),
		"Anthropic/a call without its result":                                    opus(messages(hello, using, then), ""),
		"Anthropic/a result without its call":                                    opus(messages(hello, said, returned(`"x"`), then), ""),
		"Anthropic/two calls of one id":                                          opus(messages(hello, using, returned(`"x"`), using, returned(`"y"`)), ""),

		"OpenAI/half a call, cut by the output limit":              gpt(chat("gpt-5.1", hello, call("sh", `"{\"a\":\"so"`), tool(`"x"`)), mend.Closed),
		"OpenAI/half a call in Responses":                          codex(input(hello, `{"type":"function_call","call_id":"c","name":"sh","arguments":"{\"a\":"}`, `{"type":"function_call_output","call_id":"c","output":"x"}`), mend.Closed),
		"OpenAI/arguments that are no JSON":                        gpt(chat("gpt-5.1", hello, call("sh", `"ls"`), tool(`"x"`)), mend.Wrapped),
		"OpenAI/arguments as an object":                            gpt(chat("gpt-5.1", hello, call("sh", `{"a":1}`), tool(`"x"`)), mend.Wrapped),
		"OpenAI/no arguments":                                      gpt(chat("gpt-5.1", hello, call("sh", `null`), tool(`"x"`)), mend.Wrapped),
		"OpenAI/a message without content":                         gpt(chat("gpt-5.1", hello, `{"role":"assistant","content":null}`, then), mend.Emptied),
		"OpenAI/a result without content":                          gpt(chat("gpt-5.1", hello, call("sh", `"{}"`), tool(`null`)), mend.Emptied),
		"OpenAI/a result that is an empty list":                    gpt(chat("gpt-5.1", hello, call("sh", `"{}"`), tool(`[]`)), mend.Emptied),
		"OpenAI/a tool's name with a dot":                          gpt(chat("gpt-5.1", hello, call("functions.sh", `"{}"`), tool(`"x"`)), mend.Renamed),
		"OpenAI/bytes that are no image":                           gpt(seen("image/png", bad), mend.Described),
		"OpenAI/an image that says it is something else":           gpt(seen("application/octet-stream", jpg), mend.Retyped),
		"OpenAI/a call without its output":                         codex(input(hello, `{"type":"function_call","call_id":"c","name":"sh","arguments":"{}"}`, then), ""),
		"OpenAI/an empty answer, for Kimi":                         {wire.Chat, "kimi-k3", chat("kimi-k3", hello, `{"role":"assistant","content":""}`, then), mend.Emptied},
		"OpenAI/the model's words at the end, for Mistral":         {wire.Chat, "mistral-large", chat("mistral-large", hello, said), mend.Prompted},
		"OpenAI/a request for an approval that the user went past": codex(input(hello, `{"type":"mcp_approval_request","id":"mcpr_1","server_label":"s","name":"n","arguments":"{}"}`, then), ""),
		"OpenAI/an image in the message of a tool":                 gpt(chat("gpt-5.1", hello, call("sh", `"{}"`), tool(`[{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,`+jpg+`"}}]`)), ""),
		"OpenAI/ids of items that another provider made":           codex(input(hello, `{"type":"message","role":"assistant","id":"x-1","content":[{"type":"output_text","text":"b"}]}`, then), ""),

		"Gemini/a content without parts":                google(contents(asked, `{"role":"model","parts":[]}`, asked), mend.Emptied),
		"Gemini/an empty part":                          google(contents(asked, `{"role":"model","parts":[{"text":"b"},{}]}`, asked), mend.Emptied),
		"Gemini/arguments as a text":                    google(contents(asked, `{"role":"model","parts":[{"functionCall":{"name":"sh","args":"{\"a\":1"}}]}`, `{"role":"user","parts":[{"functionResponse":{"name":"sh","response":{}}}]}`), mend.Closed),
		"Gemini/a response as a text":                   google(contents(asked, `{"role":"model","parts":[{"functionCall":{"name":"sh","args":{}}}]}`, `{"role":"user","parts":[{"functionResponse":{"name":"sh","response":"x"}}]}`), mend.Wrapped),
		"Gemini/a GIF":                                  google(inline("image/gif", encoded("image/gif", painted(8, 8))), mend.Scaled),
		"Gemini/a short media type":                     google(inline("jpeg", jpg), mend.Retyped),
		"Gemini/bytes that are no image":                google(inline("image/png", bad), mend.Described),
		"Gemini/as many responses as calls are missing": google(contents(asked, `{"role":"model","parts":[{"functionCall":{"name":"sh","args":{}}}]}`, asked), ""),
		"Gemini/a signature without words":              google(contents(asked, `{"role":"model","parts":[{"text":"b"},{"text":"","thoughtSignature":"c2ln"}]}`, answered, asked), ""),
	}
}

// knownFrom names, for each row, who has seen the refusal: an issue, or in quotes a page of the provider's documentation.
var knownFrom = map[string]string{
	"Anthropic/an empty text beside others":                                  "claude-code#88536",
	"Anthropic/an empty text with a cache mark":                              "claude-code#50082",
	"Anthropic/an answer of white space":                                     "claude-code#23390",
	"Anthropic/an empty message of the user":                                 "opencode#15372",
	"Anthropic/an empty text within a result":                                "vercel/ai#5576",
	"Anthropic/five cache marks":                                             "sub2api#176",
	"Anthropic/an image of 8,100 pixels":                                     "claude-code#29551, 'vision'",
	"Anthropic/an image that is too large to scale":                          "claude-code#5147",
	"Anthropic/a large image among more than 20":                             "claude-code#34120, 'vision'",
	"Anthropic/an image over 5 MB":                                           "claude-code#19631",
	"Anthropic/an image of another type than it says":                        "home-assistant/core#167208",
	"Anthropic/a PDF as an image":                                            "piclaw#9",
	"Anthropic/bytes that are no image":                                      "claude-code#56016",
	"Anthropic/an image in a failed result":                                  "vellum-assistant#18387",
	"Anthropic/more than 600 images, 100 where the window is 200,000 tokens": "pi#401, 'vision'",
	"Anthropic/a failed result without words":                                "oh-my-pi#2250",
	"Anthropic/thinking without a signature":                                 "openclaw#120596",
	"Anthropic/thinking at the end of a message":                             "claude-code",
	"Anthropic/a turn that lost the thinking it began with":                  "opencode#6418",
	"Anthropic/the input of a call as a text":                                "claude-code#6696",
	"Anthropic/a tool's name of 201 characters":                              "pi#1643, goose#10807",
	"Anthropic/the model's words at the end, from Claude 4.6 on":             "opencode#13768, migration guides",
	"Anthropic/prefill that ends in white space":                             "'prefill'",
	"Anthropic/a call without its result":                                    "claude-code",
	"Anthropic/a result without its call":                                    "claude-code",
	"Anthropic/two calls of one id":                                          "oh-my-pi#2055",
	"OpenAI/half a call, cut by the output limit":                            "codegraff#752, MiniMax cli#235, hermes-agent#11617",
	"OpenAI/half a call in Responses":                                        "codex#35350",
	"OpenAI/arguments that are no JSON":                                      "openai-agents-python#2283",
	"OpenAI/arguments as an object":                                          "API reference",
	"OpenAI/no arguments":                                                    "API reference",
	"OpenAI/a message without content":                                       "API reference",
	"OpenAI/a result without content":                                        "API reference",
	"OpenAI/a result that is an empty list":                                  "API reference",
	"OpenAI/a tool's name with a dot":                                        "mcp-use#94",
	"OpenAI/bytes that are no image":                                         "codex#7214, codex#4946",
	"OpenAI/an image that says it is something else":                         "codex#4946",
	"OpenAI/a call without its output":                                       "codex",
	"OpenAI/a request for an approval that the user went past":               "zscaler-mcp-server, its guide for Azure",
	"OpenAI/an empty answer, for Kimi":                                       "kimi-code#1985, AstrBot#7200",
	"OpenAI/the model's words at the end, for Mistral":                       "smolagents#757",
	"OpenAI/an image in the message of a tool":                               "API reference",
	"OpenAI/ids of items that another provider made":                         "API reference",
	"Gemini/a content without parts":                                         "chatwise-releases#250",
	"Gemini/an empty part":                                                   "CLIProxyAPI#1293",
	"Gemini/arguments as a text":                                             "google.protobuf.Struct",
	"Gemini/a response as a text":                                            "AstrBot#7216",
	"Gemini/a GIF":                                                           "'image-understanding'",
	"Gemini/a short media type":                                              "crush#995",
	"Gemini/bytes that are no image":                                         "chatwise-releases#799",
	"Gemini/as many responses as calls are missing":                          "gemini-cli#15568",
	"Gemini/a signature without words":                                       "'thought-signatures'",
}

// What docs/refusals.md promises holds: each row's request is refused with its words, and taken once it is mended.
func TestRefusals(t *testing.T) {
	page, err := os.ReadFile("../../../docs/refusals.md")
	if err != nil {
		t.Fatal(err)
	}
	cases, provider := refusals(), ""
	for line := range strings.SplitSeq(string(page), "\n") {
		if head, ok := strings.CutPrefix(line, "## "); ok {
			provider = head
		}
		cells := strings.Split(line, " | ")
		if len(cells) != 3 || cells[0] == "| what is sent" || provider == "What only a refusal tells" { // that is for TestLessons
			continue
		}
		name, words := provider+"/"+strings.TrimPrefix(cells[0], "| "), cells[1]
		c, ok := cases[name]
		if !ok || knownFrom[name] == "" {
			t.Errorf("nothing plays the row %q, or nobody has seen it", name)
			continue
		}
		delete(cases, name)
		t.Run(name, func(t *testing.T) { play(t, c, words) })
	}
	for name := range cases {
		t.Errorf("docs/refusals.md has no row %q", name)
	}
}

func play(t *testing.T, c refusal, words string) {
	o := mend.Options{Provider: "anthropic", Model: c.model}
	if words == "*passed on*" {
		if next, actions := fix(t, c.d, c.body, o); len(actions) > 0 || string(next.Body) != c.body {
			t.Errorf("it is not passed on: %v", actions)
		}
		return
	}
	refused := strings.ReplaceAll(strict(c.d, c.model, []byte(c.body)), "`", "") // in a guide what is set as code has to be ours
	rest := refused
	for piece := range strings.SplitSeq(words, "…") {
		_, behind, found := strings.Cut(rest, strings.TrimSpace(piece))
		if !found {
			t.Fatalf("the refusal is %q, and not %q", refused, words)
		}
		rest = behind
	}
	r, err := wire.Parse(c.d, []byte(c.body))
	if err != nil {
		t.Fatal(err)
	}
	paired, _, err := repair.Repair(r, repair.Options{})
	if err != nil {
		t.Fatal(err)
	}
	next, actions := fix(t, c.d, string(paired.Body), o)
	if said := strict(c.d, c.model, next.Body); said != "" {
		t.Errorf("mended it is still refused: %s\n%.1000s", said, next.Body)
	}
	if !strings.Contains(kinds(actions), c.kind) || c.kind == "" && len(actions) > 0 {
		t.Errorf("what was done is %q, want %q", kinds(actions), c.kind)
	}
}

// lessonRow is a row of what docs/refusals.md says of refusals that teach a rule.
type lessonRow struct {
	words, body string
	d           wire.Dialect
	kind        string // what is done with the body once the words are known; "" when that is package repair's
}

// lessonRows reads the table, with a request for each row. The words of each were seen in the issue that knownFrom names in lessons.go.
func lessonRows(t testing.TB) (rows []lessonRow) {
	photo := `{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}`
	paper := `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="}}`
	call := `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"sh","arguments":"{}"}}]}`
	tool := `{"role":"tool","tool_call_id":"c1","content":"x"}`
	described := func(n int) string { return strings.TrimSpace(strings.Repeat(mend.Described+" ", n)) }
	found := func(model string) string {
		return strings.ReplaceAll(messages(hello, using, returned(`[{"type":"tool_reference","tool_name":"DesignSync"}]`)), "claude-opus-4-8", model)
	}
	item := func(text string) string {
		return `{"type":"message","id":"msg_4","role":"assistant","content":[{"type":"output_text","text":"` + text + `"}]}`
	}
	bodies := map[string]lessonRow{
		"half a surrogate pair":                       {body: chat("m", `{"role":"user","content":"cut \ud83d"}`), d: wire.Chat, kind: mend.Replaced},
		"a PDF that cannot be read":                   {body: messages(one(paper + `,{"type":"text","text":"a"}`)), d: wire.Messages, kind: mend.Described},
		"a PDF with too many pages":                   {body: messages(one(paper + `,{"type":"text","text":"a"},` + paper)), d: wire.Messages, kind: mend.Described},
		"a document without pages":                    {body: contents(`{"role":"user","parts":[{"inlineData":{"mimeType":"application/pdf","data":"JVBERi0="}},{"text":"a"}]}`), d: wire.Gemini, kind: mend.Described},
		"a file of a type that is not taken":          {body: contents(`{"role":"user","parts":[{"inlineData":{"mimeType":"application/zip","data":"UEsD"}},{"text":"a"}]}`), d: wire.Gemini, kind: mend.Described},
		"an image, for a model without eyes":          {body: chat("m", one(photo)), d: wire.Chat, kind: mend.Described},
		"an image, for a reader without that variant": {body: chat("m", one(photo)), d: wire.Chat, kind: mend.Described},
		"an image whose address has expired":          {body: input(`{"role":"user","content":[{"type":"input_image","image_url":"https://example.com/a.png"},{"type":"input_text","text":"a"}]}`), d: wire.Responses, kind: mend.Described},
		"an empty answer":                             {body: chat("grok-5", hello, `{"role":"assistant","content":""}`, then), d: wire.Chat, kind: mend.Emptied},
		"a member that another provider made":         {body: chat("m", hello, `{"role":"assistant","content":"b","reasoning_content":"deep"}`, then), d: wire.Chat, kind: mend.Unfielded},
		"a member within a block":                     {body: messages(hello, strings.Replace(using, `"input"`, `"signature":"c2ln","input"`, 1), returned(`"x"`)), d: wire.Messages, kind: mend.Unfielded},
		"an item's id that another provider made":     {body: input(hello, `{"type":"function_call","id":"x-1","call_id":"c","name":"sh","arguments":"{}"}`, `{"type":"function_call_output","call_id":"c","output":"x"}`), d: wire.Responses, kind: mend.Unfielded},
		"calls, and no tools":                         {body: messages(hello, using, returned(`"x"`), said, then), d: wire.Messages, kind: mend.Declared},
		"a list as the arguments of a call": {
			body: chat("m", hello, strings.Replace(call, `"{}"`, `"[1]"`, 1), `{"role":"tool","tool_call_id":"c1","content":"x"}`), d: wire.Chat, kind: mend.Wrapped,
		},
		`"" as the arguments of a call, for OpenAI's models`: {
			body: chat("gpt-5.1", hello, strings.Replace(call, `"{}"`, `""`, 1), `{"role":"tool","tool_call_id":"c1","content":"x"}`), d: wire.Chat, kind: mend.Wrapped,
		},
		"calls without the reasoning that led to them": {
			body: chat("deepseek-v4-pro", hello, call, `{"role":"tool","tool_call_id":"c1","content":"x"}`), d: wire.Chat, kind: mend.Reasoned,
		},
		"the same, for its template where it is served locally": {
			body: chat("devstral-small", hello, call, `{"role":"tool","tool_call_id":"c1","content":"x"}`, then), d: wire.Chat, kind: mend.Answered,
		},
		"an id with other characters, behind a gateway to Claude": {
			body: chat("m", hello, strings.Replace(call, "c1", "sh:0", 1), `{"role":"tool","tool_call_id":"sh:0","content":"x"}`), d: wire.Chat,
		},
		"words of the user right behind results, for Mistral": {
			body: chat("mistral-large", hello, call, `{"role":"tool","tool_call_id":"c1","content":"x"}`, then), d: wire.Chat, kind: mend.Answered,
		},
		"the same, for a reader of Messages": {
			body: strings.ReplaceAll(messages(one(pictureOf("image/jpeg", encoded("image/jpeg", painted(8, 8))))), "claude-opus-4-8", "deepseek-v4-pro"), d: wire.Messages, kind: mend.Described,
		},
		"an image, for a model of GLM without eyes": {body: chat("glm-4.6", one(photo)), d: wire.Chat, kind: mend.Described},
		"reasoning with an id that another provider made": {
			body: input(hello, `{"type":"reasoning","id":"thinking_0","summary":[],"encrypted_content":"gAAA"}`, `{"type":"function_call","call_id":"c","name":"sh","arguments":"{}"}`, `{"type":"function_call_output","call_id":"c","output":"x"}`),
			d:    wire.Responses, kind: mend.Unfielded,
		},
		"two items of one id": {
			body: input(hello, item("b"), then, item("d"), then), d: wire.Responses, kind: mend.Unfielded + " " + mend.Unfielded,
		},
		"more images than the model takes": {
			body: chat("muse-spark", one(repeated(52, "%s", photo))), d: wire.Chat, kind: described(12), // of 50 four in five stay
		},
		"the same, at Copilot":                 {body: chat("gpt-5.1", one(repeated(11, "%s", photo))), d: wire.Chat, kind: described(3)},
		"more images than vLLM is set to take": {body: chat("qwen3-vl", one(repeated(6, "%s", photo))), d: wire.Chat, kind: described(2)},
		"images by their address, at Copilot":  {body: chat("gemini-3-pro", one(repeated(21, "%s", photo))), d: wire.Chat, kind: described(5)},
		"a message of the system among the others": {
			body: chat("qwen3.5-27b", hello, said, `{"role":"system","content":"x"}`, then), d: wire.Chat, kind: mend.Recast,
		},
		"one in Messages": {
			body: strings.ReplaceAll(messages(hello, said, then, `{"role":"system","content":"x"}`), "claude-opus-4-8", "deepseek-v4-pro"), d: wire.Messages, kind: mend.Recast,
		},
		"one for an older Claude": {
			body: messages(hello, said, then, `{"role":"system","content":"x"}`), d: wire.Messages, kind: mend.Recast,
		},
		"a message of the role developer": {body: chat("deepseek-chat", `{"role":"developer","content":"x"}`, hello), d: wire.Chat, kind: mend.Recast},
		"the same, at DashScope":          {body: chat("qwen3.7-flash", `{"role":"developer","content":"x"}`, hello), d: wire.Chat, kind: mend.Recast},
		"the same at Mistral, which names the place beside its words": {
			body: chat("mistral-medium-3-5", hello, `{"role":"assistant","content":"b","reasoning_content":"deep"}`, then), d: wire.Chat, kind: mend.Unfielded,
		},
		"the same, for templates of vLLM":                     {body: found("qwen3-coder"), d: wire.Messages, kind: mend.Described},
		"a result that refers to a tool, for Kimi":            {body: found("kimi-k3"), d: wire.Messages, kind: mend.Described},
		"the same at Ark":                                     {body: found("doubao-seed"), d: wire.Messages, kind: mend.Described},
		"the same at DeepSeek":                                {body: found("deepseek-v4-pro"), d: wire.Messages, kind: mend.Described},
		"the same for Claude, where the tool is not declared": {body: found("claude-opus-4-8"), d: wire.Messages, kind: mend.Described},
		"the model's words at the end, for a model of llama.cpp that thinks": {
			body: chat("qwen3-32b", hello, said), d: wire.Chat, kind: mend.Prompted,
		},
		"the same, in Messages":                      {body: strings.ReplaceAll(messages(hello, using, returned(`"x"`)), "claude-opus-4-8", "deepseek-v4-pro"), d: wire.Messages, kind: mend.Reasoned},
		"two calls of one id in a history, for Kimi": {body: chat("kimi-k3", hello, call, tool, call, tool), d: wire.Chat},
		"the same for DeepSeek":                      {body: chat("deepseek-chat", hello, call, tool, call, tool), d: wire.Chat},
		"an id of a call, for Mistral":               {body: chat("m", hello, call, `{"role":"tool","tool_call_id":"c1","content":"x"}`), d: wire.Chat},
		"an id of a call over 64 characters":         {body: input(hello, `{"type":"function_call","call_id":"c","name":"sh","arguments":"{}"}`, `{"type":"function_call_output","call_id":"c","output":"x"}`), d: wire.Responses},
	}
	page, err := os.ReadFile("../../../docs/refusals.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n## What only a refusal tells\n")
	table, _, _ = strings.Cut(table, "\n## ")
	for line := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if len(cells) != 3 || cells[0] == "what is sent" {
			continue
		}
		row, ok := bodies[cells[0]]
		if !ok {
			t.Errorf("nothing plays the row %q", cells[0])
			continue
		}
		delete(bodies, cells[0])
		row.words = cells[1]
		rows = append(rows, row)
	}
	for name := range bodies {
		t.Errorf("docs/refusals.md has no row %q", name)
	}
	return rows
}

func TestLessons(t *testing.T) {
	for _, row := range lessonRows(t) {
		o, ok := mend.Learn(mend.Options{Provider: "anthropic"}, row.words)
		if !ok {
			t.Errorf("%q teaches nothing", row.words)
			continue
		}
		if _, again := mend.Learn(o, row.words); again && !o.OldDocuments { // of pages there may be too many in the newest alone
			t.Errorf("%q teaches something twice", row.words)
		}
		next, actions := fix(t, row.d, row.body, o)
		if o.OldDocuments && strings.Count(string(next.Body), "JVBERi0=") != 1 {
			t.Errorf("the newest document is not there: %s", next.Body)
		}
		if kinds(actions) != row.kind {
			t.Errorf("%q: %q is done, want %q: %s", row.words, kinds(actions), row.kind, next.Body)
		}
		if before, done := fix(t, row.d, row.body, mend.Options{Provider: "anthropic"}); len(done) > 0 {
			t.Errorf("%q: without the refusal %v is done: %s", row.words, done, before.Body)
		}
	}
	for _, words := range []string{
		"context_management: Extra inputs are not permitted", "messages.0.role: Extra inputs are not permitted", "messages.1.content.0.thinking.signature: Extra inputs are not permitted",
		"Invalid 'input[0].content': string too long. Expected a string with maximum length 10485760", "property 'tools.0.strict' is unsupported", "Unsupported value: 'temperature' does not support 0",
	} {
		if o, ok := mend.Learn(mend.Options{}, words); ok {
			t.Errorf("%q teaches %+v", words, o)
		}
	}
}
