package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/night"
	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/models"
	"github.com/plimsoll/plimsoll/window/wire"
)

// Every form in which a provider says "too long" is recovered from, in every dialect that
// has it, streaming and not, whether or not it names its limit.
func TestEveryRefusalIsRecoveredFrom(t *testing.T) {
	t.Parallel()
	for _, d := range everyDialect {
		for i, form := range scripted.FormsOf(d) {
			for _, stream := range night.Else([]bool{true, false}, []bool{i%2 == 0}) { // each form once, in a stream or whole
				t.Run(fmt.Sprintf("%v/%s/%v", d, form, stream), func(t *testing.T) {
					const window = 9000
					provider, _, root, j := scripting(t, scripted.Options{Window: window, Form: form}, Options{Target: 0.5, Store: memoryStore(t)})
					k := talkIn(d)
					k.stream = stream
					if form == "silent" {
						k.model = "llama-3.1-8b" // who serves the others refuses
					}
					res, text := k.ask(t, root, 40)
					if res.StatusCode != http.StatusOK {
						t.Fatalf("%s %.300s", res.Status, text)
					}
					list := asked(provider)
					final := list[len(list)-1]
					if form == "silent" {
						if learned := events[journal.WindowOverflow](j); len(learned) != 1 || learned[0].Action != "learned" {
							t.Errorf("the journal has %+v", learned)
						}
						return
					}
					if !bytes.Contains(final.Body, []byte(task)) || !bytes.Contains(final.Body, fmt.Appendf(nil, newest, 40)) {
						t.Error("the task or the newest word of the user is gone")
					}
					if final.Input < window/4 {
						t.Errorf("%d tokens are sent of %d: less than a quarter", final.Input, window)
					}
					over := events[journal.WindowOverflow](j)
					if len(over) < 2 || over[0].Action != "retried" || over[len(over)-1].Action != "recovered" || len(list) != len(over) {
						t.Errorf("%d requests, and the journal has %+v", len(list), over)
					}
					if strings.Contains(text, "context_length_exceeded") || strings.Contains(text, "too long") {
						t.Errorf("the refusal went down: %.300s", text)
					}
					// The next turn is not refused again where the limit was named, and sends the same bytes.
					before := len(list)
					if res, text := k.ask(t, root, 41); res.StatusCode != http.StatusOK {
						t.Fatalf("the next turn: %s %.300s", res.Status, text)
					}
					if list = asked(provider); over[0].LimitTokens > 0 && len(list) != before+1 {
						t.Errorf("the next turn took %d requests", len(list)-before)
					}
				})
			}
		}
	}
}

func TestRefusalGoesDownWhenNothingHelps(t *testing.T) {
	t.Parallel()
	for form, tries := range map[string]int{"anthropic": 2, "anthropic.413": 1 + maxTries} {
		// The system prompt alone is over the window, and what is sacred is not cut.
		provider, _, root, j := scripting(t, scripted.Options{Window: 3000, Form: form}, Options{Store: memoryStore(t), Resolver: models.NewResolver(models.Options{})})
		k := talkIn(wire.Messages)
		body := bytes.Replace(k.body(60), []byte("You are an agent."), []byte(strings.Repeat("You are an agent that never gives up. ", 700)), 1)
		res, text := post(t, root+k.path(), string(body))
		if res.StatusCode != http.StatusBadRequest && res.StatusCode != http.StatusRequestEntityTooLarge || !json.Valid([]byte(text)) {
			t.Errorf("%s: %s %.300s, want the provider's own refusal", form, res.Status, text)
		}
		if n := len(asked(provider)); n > tries {
			t.Errorf("%s: %d requests, want at most %d", form, n, tries)
		}
		over := events[journal.WindowOverflow](j)
		if len(over) == 0 || over[len(over)-1].Action != "given_up" {
			t.Errorf("%s: the journal has %+v", form, over)
		}
	}
}

// What the provider refuses in a message that an answer follows is mended once it has refused it: the conversation is new here and nobody
// knows what was sent before. It is mended once, and the turns after it are not refused again.
func TestContentBeforeAnAnswerIsMendedWhenRefused(t *testing.T) {
	t.Parallel()
	const pdf = `{"type":"image","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="}}`
	for refused, messages := range map[string]string{
		`{"type":"text","text":""}`:    `{"role":"assistant","content":[{"type":"text","text":""},{"type":"tool_use","id":"t1","name":"sh","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}`,
		`{"role":"user","content":""}`: `{"role":"assistant","content":"b"},{"role":"user","content":""}`,
		pdf:                            `{"role":"assistant","content":"b"},{"role":"user","content":[{"type":"text","text":"look"},` + pdf + `]}`,
	} {
		for _, status := range []int{http.StatusBadRequest, http.StatusUnprocessableEntity} {
			asked, refusals := 0, 0
			upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				w.Header().Set("Content-Type", "application/json")
				asked++
				if bytes.Contains(body, []byte(refused)) {
					refusals++
					w.WriteHeader(status)
					fmt.Fprint(w, `{"type":"error","error":{"type":"invalid_request_error","message":"messages: no provider takes that"}}`)
					return
				}
				fmt.Fprint(w, `{"id":"m","type":"message","role":"assistant","model":"claude-opus-4-8","content":[{"type":"text","text":"d"}],"stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":1}}`)
			}))
			_, root, _ := start(t, upstream.URL, Options{Store: memoryStore(t)})
			history := `{"role":"user","content":"a"},` + messages + `,{"role":"assistant","content":"c"},{"role":"user","content":"d"}`
			for turn := range 3 {
				res, text := post(t, root+"/anthropic/v1/messages", `{"model":"claude-opus-4-8","max_tokens":1000,"messages":[`+history+`]}`)
				if res.StatusCode != http.StatusOK || asked != turn+2 || refusals != 1 {
					t.Fatalf("%s, turn %d: %s %s; %d requests, %d were refused", refused, turn, res.Status, text, asked, refusals)
				}
				history += `,{"role":"assistant","content":[{"type":"text","text":"d"}]},{"role":"user","content":"go on"}`
			}
			upstream.Close()
		}
	}
}

// refusing is a provider that refuses what judge says and answers the rest; bodies has what it was sent.
func refusing(t *testing.T, answer string, judge func(body string) (status int, kind, text string)) (url string, bodies *[]string) {
	bodies = new([]string)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*bodies = append(*bodies, string(body))
		status, kind, text := judge(string(body))
		if status == 0 {
			status, kind, text = http.StatusOK, "application/json", answer
		}
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		fmt.Fprint(w, text)
	}))
	t.Cleanup(upstream.Close)
	return upstream.URL, bodies
}

const (
	messagesAnswer  = `{"id":"m","type":"message","role":"assistant","model":"claude-opus-4-8","content":[{"type":"text","text":"d"}],"stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":1}}`
	chatAnswer      = `{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"d"}}],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10}}`
	responsesAnswer = `{"id":"r","object":"response","status":"completed","model":"gpt-5.1","output":[{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"d","annotations":[]}]}],"usage":{"input_tokens":9,"output_tokens":1,"total_tokens":10}}`
	geminiAnswer    = `{"candidates":[{"content":{"role":"model","parts":[{"text":"d"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":1}}`
)

// What Claude alone demands is not made of other models that speak its protocol: their ids and their reasoning, which nobody signs, are sent
// byte for byte, until the service refuses them.
func TestOtherModelsInMessagesAreLeftAlone(t *testing.T) {
	t.Parallel()
	history := func(model string) string {
		return `{"model":"` + model + `","max_tokens":1000,"thinking":{"type":"enabled","budget_tokens":4000},"messages":[{"role":"user","content":"a"},` +
			`{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"tool_use","id":"functions.sh:0","name":"sh","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"functions.sh:0","content":"x"}]}]}`
	}
	for _, c := range []struct {
		model   string
		refuses bool
		want    string // a part of the last body; "" for the body as it came
		sent    int
	}{
		{model: "kimi-k2.5", sent: 1},
		{model: "glm-5", sent: 1},
		{model: "deepseek-v4-pro", sent: 1},
		{model: "kimi-k2.5", refuses: true, want: `"thinking":"hm"},{"type":"tool_use","id":"functions_sh_0_`, sent: 2},
		{model: "claude-opus-4-8", want: `"id":"functions_sh_0_`, sent: 1},
	} {
		url, bodies := refusing(t, messagesAnswer, func(body string) (int, string, string) {
			if c.refuses && strings.Contains(body, "functions.sh:0") {
				return http.StatusBadRequest, "application/json", `{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.1.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"}}`
			}
			return 0, "", ""
		})
		_, root, _ := start(t, url, Options{Store: memoryStore(t)})
		body := history(c.model)
		res, text := post(t, root+"/anthropic/v1/messages", body)
		last := (*bodies)[len(*bodies)-1]
		if res.StatusCode != http.StatusOK || len(*bodies) != c.sent || c.want == "" && last != body || !strings.Contains(last, c.want) {
			t.Errorf("%s (refuses: %v): %s %s after %d requests: %s", c.model, c.refuses, res.Status, text, len(*bodies), last)
		}
	}
}

// Ids that only their own model may have are no model for those that are given in their place.
func TestRepeatedIDsOfOtherModelsInMessages(t *testing.T) {
	t.Parallel()
	turn := `{"role":"assistant","content":[{"type":"tool_use","id":"write:0","name":"write","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"write:0","content":"x"}]}`
	url, bodies := refusing(t, messagesAnswer, func(string) (int, string, string) { return 0, "", "" })
	_, root, _ := start(t, url, Options{Store: memoryStore(t)})
	res, text := post(t, root+"/anthropic/v1/messages", `{"model":"kimi-k3","max_tokens":1000,"messages":[{"role":"user","content":"a"},`+turn+`,{"role":"assistant","content":"d"},{"role":"user","content":"e"},`+turn+`]}`)
	if last := (*bodies)[len(*bodies)-1]; res.StatusCode != http.StatusOK || strings.Count(last, `"write:0"`) != 2 || strings.Count(last, `"write_0_2`) != 2 {
		t.Errorf("%s %s: %s", res.Status, text, last)
	}
}

// What has nothing to do with the contents changes nothing that the model has seen: once the money is there, the thoughts are sent as before.
func TestRefusalForMoneyChangesNothing(t *testing.T) {
	t.Parallel()
	poor := true
	url, bodies := refusing(t, messagesAnswer, func(string) (int, string, string) {
		if poor {
			return http.StatusBadRequest, "application/json", `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`
		}
		return 0, "", ""
	})
	_, root, j := start(t, url, Options{Store: memoryStore(t)})
	body := `{"model":"claude-opus-5-5","max_tokens":1000,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"thinking","thinking":"long thoughts","signature":"c2ln"},{"type":"text","text":""},{"type":"tool_use","id":"t1","name":"sh","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"x"}]},{"role":"assistant","content":"d"},{"role":"user","content":"e"}]}`
	post(t, root+"/anthropic/v1/messages", body)
	poor = false
	post(t, root+"/anthropic/v1/messages", body)
	if len(*bodies) != 2 || (*bodies)[1] != body || len(events[journal.WindowBreak](j)) > 0 {
		t.Errorf("%d requests, the last is %s; breaks %+v", len(*bodies), (*bodies)[len(*bodies)-1], events[journal.WindowBreak](j))
	}
}

// A mended request that is refused all the same is no decision: nothing of it is kept.
func TestMendThatDidNotHelpIsNotKept(t *testing.T) {
	t.Parallel()
	broken := true
	url, bodies := refusing(t, messagesAnswer, func(string) (int, string, string) {
		if broken {
			return http.StatusBadRequest, "application/json", `{"type":"error","error":{"type":"invalid_request_error","message":"temperature: out of range"}}`
		}
		return 0, "", ""
	})
	_, root, _ := start(t, url, Options{Store: memoryStore(t)})
	body := `{"model":"claude-opus-4-8","max_tokens":1000,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"text","text":""},{"type":"text","text":"b"}]},{"role":"user","content":"c"},{"role":"assistant","content":"d"},{"role":"user","content":"e"}]}`
	post(t, root+"/anthropic/v1/messages", body)
	broken = false
	post(t, root+"/anthropic/v1/messages", body)
	if last := (*bodies)[len(*bodies)-1]; last != body {
		t.Errorf("after %d requests it is %s", len(*bodies), last)
	}
}

// Each refusal is answered by a mended request: in a stream that begins with 200 too, in any dialect, with several faults one after the other,
// and the turns after it are taken at once.
func TestRefusedContentsAreMended(t *testing.T) {
	t.Parallel()
	anthropic := func(text string) string {
		return `{"type":"error","error":{"type":"invalid_request_error","message":"` + text + `"}}`
	}
	openai := func(text string) string {
		return `{"error":{"message":"` + text + `","type":"invalid_request_error"}}`
	}
	const (
		empty = `{"type":"text","text":""}`
		png   = `iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAAElEQVR4`
		plain = "application/json"
	)
	type answer struct {
		bad    string // what the provider refuses; behind "!" what it wants
		status int
		kind   string
		text   string
	}
	for name, c := range map[string]struct {
		path, head, history, then, ok string
		refusals                      []answer
	}{
		"a stream of Messages": {
			"/anthropic/v1/messages", `{"model":"claude-opus-4-8","stream":true,"max_tokens":1000,"messages":[`, `{"role":"user","content":"a"},{"role":"assistant","content":[` + empty + `,{"type":"text","text":"b"}]},{"role":"user","content":"c"},{"role":"assistant","content":"d"},{"role":"user","content":"e"}`, `,{"role":"assistant","content":"d"},{"role":"user","content":"e"}`, messagesAnswer,
			[]answer{{empty, 200, "text/event-stream", "event: error\ndata: " + anthropic("messages: text content blocks must be non-empty") + "\n\n"}},
		},
		"an error in a 200": {
			"/anthropic/v1/messages", `{"model":"claude-opus-4-8","max_tokens":1000,"messages":[`, `{"role":"user","content":"a"},{"role":"assistant","content":[` + empty + `,{"type":"text","text":"b"}]},{"role":"user","content":"c"},{"role":"assistant","content":"d"},{"role":"user","content":"e"}`, `,{"role":"assistant","content":"d"},{"role":"user","content":"e"}`, messagesAnswer,
			[]answer{{empty, 200, plain, anthropic("messages: text content blocks must be non-empty")}},
		},
		"two faults": {
			"/anthropic/v1/messages", `{"model":"claude-opus-4-8","max_tokens":1000,"messages":[`, `{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + png + `"}}]},{"role":"assistant","content":[` + empty + `,{"type":"text","text":"b"}]},{"role":"user","content":"c"},{"role":"assistant","content":"d"},{"role":"user","content":"e"}`, `,{"role":"assistant","content":"d"},{"role":"user","content":"e"}`, messagesAnswer,
			[]answer{{empty, 400, plain, anthropic("messages: text content blocks must be non-empty")}, {png, 400, plain, anthropic("Could not process image")}},
		},
		"half a surrogate pair": {
			"/openai/v1/chat/completions", `{"model":"m","messages":[`, `{"role":"user","content":"cut \ud83d"}`, `,{"role":"assistant","content":"d"},{"role":"user","content":"e"}`, chatAnswer,
			[]answer{{`\ud83d`, 400, plain, openai("The request body is not valid JSON: no low surrogate in string: line 1 column 90")}},
		},
		"arguments that llama.cpp cannot parse": {
			"/openai/v1/chat/completions", `{"model":"qwen3-32b","messages":[`, `{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"sh","arguments":"{\"a\":\"so"}}]},{"role":"tool","tool_call_id":"c1","content":"x"},{"role":"assistant","content":"c"},{"role":"user","content":"d"}`, `,{"role":"assistant","content":"d"},{"role":"user","content":"e"}`, chatAnswer,
			[]answer{{`"arguments":"{\"a\":\"so"`, 500, plain, openai("Failed to parse tool call arguments as JSON")}},
		},
		"words at the end that llama.cpp does not go on from": {
			"/openai/v1/chat/completions", `{"model":"qwen3-32b","messages":[`, `{"role":"user","content":"a"},{"role":"assistant","content":"b"}`, `,{"role":"user","content":"c"},{"role":"assistant","content":"b"}`, chatAnswer,
			[]answer{{`"content":"b"}]`, 400, plain, openai("Assistant response prefill is incompatible with enable_thinking.")}},
		},
		"a model without eyes": {
			"/openai/v1/chat/completions", `{"model":"deepseek-chat","messages":[`, `{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]}`, `,{"role":"assistant","content":"d"},{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.com/b.png"}},{"type":"text","text":"f"}]}`, chatAnswer,
			[]answer{{`"image_url"`, 404, plain, openai("No endpoints found that support image input")}},
		},
		"a model of DeepSeek without eyes, in Messages": {
			"/anthropic/v1/messages", `{"model":"deepseek-v4-pro","max_tokens":1000,"messages":[`, `{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}]}`, `,{"role":"assistant","content":"d"},{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://example.com/b.png"}},{"type":"text","text":"f"}]}`, messagesAnswer,
			[]answer{{`"type":"image"`, 400, plain, openai("unknown variant `image`, expected one of `text`, `tool_use`")}},
		},
		"a model of GLM without eyes": {
			"/openai/v1/chat/completions", `{"model":"glm-4.6","messages":[`, `{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]}`, `,{"role":"assistant","content":"d"},{"role":"user","content":"e"}`, chatAnswer,
			[]answer{{`"image_url"`, 400, plain, `{"error":{"code":"1210","message":"messages.content.type 参数非法，取值范围 ['text']"}}`}},
		},
		"too many images": {
			"/openai/v1/chat/completions", `{"model":"muse-spark","messages":[`, `{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.com/first.png"}}` + strings.Repeat(`,{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}`, 51) + `]}`, `,{"role":"assistant","content":"d"},{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]}`, chatAnswer,
			[]answer{{`first.png`, 400, plain, openai("request contains 52 images, exceeding the maximum of 50 allowed per request")}},
		},
		"a reference to a tool, for Kimi": {
			"/anthropic/v1/messages", `{"model":"kimi-k3","max_tokens":1000,"messages":[`, `{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"ToolSearch","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"tool_reference","tool_name":"DesignSync"}]}]}`, `,{"role":"assistant","content":"d"},{"role":"user","content":"e"}`, messagesAnswer,
			[]answer{{`tool_reference`, 400, plain, openai("failed to convert tool result content: unsupported content type in ContentBlockParamUnion: tool_reference")}},
		},
		"a reference to a tool, at Ark": {
			"/anthropic/v1/messages", `{"model":"doubao-seed","max_tokens":1000,"messages":[`, `{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"ToolSearch","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"tool_reference","tool_name":"DesignSync"}]}]}`, `,{"role":"assistant","content":"d"},{"role":"user","content":"e"}`, messagesAnswer,
			[]answer{{`tool_reference`, 400, plain, openai("invalid value: tool_reference, supported values are: text, thinking, image")}},
		},
		"a reference to a tool, at DeepSeek": {
			"/anthropic/v1/messages", `{"model":"deepseek-v4-pro","max_tokens":1000,"messages":[`, `{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"ToolSearch","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"tool_reference","tool_name":"DesignSync"}]}]}`, `,{"role":"assistant","content":"d"},{"role":"user","content":"e"}`, messagesAnswer,
			[]answer{{`tool_reference`, 400, plain, openai("Failed to deserialize the JSON body into the target type: messages[4].content: unknown variant `tool_reference`, expected `text` at line 1 column 42187")}},
		},
		"a reference to a tool that is gone": {
			"/anthropic/v1/messages", `{"model":"claude-opus-4-8","max_tokens":1000,"tools":[{"name":"ToolSearch","input_schema":{"type":"object"}}],"messages":[`, `{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"ToolSearch","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"tool_reference","tool_name":"DesignSync"}]}]}`, `,{"role":"assistant","content":"d"},{"role":"user","content":"e"}`, messagesAnswer,
			[]answer{{`tool_reference`, 400, plain, anthropic("Tool reference 'DesignSync' not found in available tools")}},
		},
		"a PDF": {
			"/anthropic/v1/messages", `{"model":"claude-opus-4-8","max_tokens":1000,"messages":[`, `{"role":"user","content":[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="}},{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"QUFBQQ=="}},{"type":"text","text":"a"}]}`, `,{"role":"assistant","content":"d"},{"role":"user","content":"e"}`, messagesAnswer,
			[]answer{{`"JVBERi0="`, 400, plain, anthropic("messages.0.content.0.pdf.source.base64.data: The PDF specified was not valid.")}},
		},
		"ids of calls": {
			"/openai/v1/responses", `{"model":"gpt-5.1","input":[`, `{"role":"user","content":"a"},{"type":"function_call","call_id":"call_` + strings.Repeat("x", 70) + `","name":"sh","arguments":"{}"},{"type":"function_call_output","call_id":"call_` + strings.Repeat("x", 70) + `","output":"x"}`, `,{"role":"assistant","content":"d"},{"role":"user","content":"e"}`, responsesAnswer,
			[]answer{{strings.Repeat("x", 70), 400, plain, openai("Invalid 'input[1].call_id': string too long. Expected a string with maximum length 64, but got a string with length 75 instead.")}},
		},
		"a summary of calls, without tools": {
			"/anthropic/v1/messages", `{"model":"claude-opus-4-8","max_tokens":1000,"messages":[`, `{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"sh","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}`, `,{"role":"assistant","content":"d"},{"role":"user","content":"e"}`, messagesAnswer,
			[]answer{{`!"name":"sh"}]`, 400, plain, anthropic("Requests which include `tool_use` or `tool_result` blocks must define tools")}},
		},
		"arguments that are a list": {
			"/openai/v1/chat/completions", `{"model":"minimax-m2","messages":[`, `{"role":"user","content":"a"},{"role":"assistant","content":"","tool_calls":[{"id":"call_1","type":"function","function":{"name":"sh","arguments":"[1]"}}]},{"role":"tool","tool_call_id":"call_1","content":"x"}`, `,{"role":"assistant","content":"d"},{"role":"user","content":"e"}`, chatAnswer,
			[]answer{{`"arguments":"[1]"`, 400, plain, openai("invalid params, invalid function arguments json string, tool_call_id: call_1 (2013)")}},
		},
		"no arguments": {
			"/openai/v1/chat/completions", `{"model":"gpt-5.1","messages":[`, `{"role":"user","content":"a"},{"role":"assistant","content":"","tool_calls":[{"id":"call_1","type":"function","function":{"name":"sh","arguments":""}}]},{"role":"tool","tool_call_id":"call_1","content":"x"}`, `,{"role":"assistant","content":"d"},{"role":"user","content":"e"}`, chatAnswer,
			[]answer{{`"arguments":""`, 400, plain, openai("Invalid request: messages.1.tool_calls.0.function.arguments: arguments must be a valid JSON object string")}},
		},
		"no arguments, in Responses": {
			"/openai/v1/responses", `{"model":"gpt-5.1","input":[`, `{"role":"user","content":"a"},{"type":"function_call","call_id":"c","name":"sh","arguments":""},{"type":"function_call_output","call_id":"c","output":"x"}`, `,{"role":"assistant","content":"d"},{"role":"user","content":"e"}`, responsesAnswer,
			[]answer{{`"arguments":""`, 400, plain, openai("`arguments` must be valid JSON")}},
		},
		"ids of Mistral": {
			"/openai/v1/chat/completions", `{"model":"mistral-large","messages":[`, `{"role":"user","content":"a"},{"role":"assistant","content":"","tool_calls":[{"id":"call_1","type":"function","function":{"name":"sh","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_1","content":"x"}`, `,{"role":"assistant","content":"d"},{"role":"user","content":"e"}`, chatAnswer,
			[]answer{{`"call_1"`, 400, plain, openai("Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.")}},
		},
		"a member of another maker": {
			"/openai/v1/chat/completions", `{"model":"m","messages":[`, `{"role":"user","content":"a"},{"role":"assistant","content":"b","reasoning_content":"deep"},{"role":"user","content":"c"}`, `,{"role":"assistant","content":"d","reasoning_content":"deeper"},{"role":"user","content":"e"}`, chatAnswer,
			[]answer{{`"reasoning_content"`, 400, plain, openai("property 'messages.1.assistant.reasoning_content' is unsupported")}},
		},
		"the user's words behind results, for Mistral": {
			"/openai/v1/chat/completions", `{"model":"devstral-small","messages":[`, `{"role":"user","content":"a"},{"role":"assistant","content":"","tool_calls":[{"id":"abcdefghi","type":"function","function":{"name":"sh","arguments":"{}"}}]},{"role":"tool","tool_call_id":"abcdefghi","content":"x"},{"role":"user","content":"b"}`, `,{"role":"assistant","content":"d"},{"role":"user","content":"e"}`, chatAnswer,
			[]answer{{`"content":"x"},{"role":"user"`, 400, plain, openai("After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.")}},
		},
		"a member of another maker, for Mistral": {
			"/openai/v1/chat/completions", `{"model":"mistral-medium-3-5","messages":[`, `{"role":"user","content":"a"},{"role":"assistant","content":"b","reasoning_content":"deep"},{"role":"user","content":"c"}`, `,{"role":"assistant","content":"d","reasoning_content":"deeper"},{"role":"user","content":"e"}`, chatAnswer,
			[]answer{{`"reasoning_content"`, 422, plain, `{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","messages",1,"assistant","reasoning_content"],"msg":"Extra inputs are not permitted","input":"deep"}]},"type":"invalid_request_error","param":null,"code":null}`}},
		},
		"reasoning that Kimi wants back": {
			"/openai/v1/chat/completions", `{"model":"kimi-k3","messages":[`, `{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"sh:0","type":"function","function":{"name":"sh","arguments":"{}"}}]},{"role":"tool","tool_call_id":"sh:0","content":"x"}`, `,{"role":"assistant","content":"d"},{"role":"user","content":"e"}`, chatAnswer,
			[]answer{{`!"arguments":"{}"}}],"reasoning_content":" "}`, 400, plain, openai("thinking is enabled but reasoning_content is missing in assistant tool call message at index 1")}},
		},
		"reasoning that DeepSeek wants back, in Messages": {
			"/anthropic/v1/messages", `{"model":"deepseek-v4-pro","max_tokens":1000,"messages":[`, `{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"sh","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}`, `,{"role":"assistant","content":"d"},{"role":"user","content":"e"}`, messagesAnswer,
			[]answer{{`![{"type":"thinking","thinking":" ","signature":""},{"type":"tool_use"`, 400, plain, openai("The `content[].thinking` in the thinking mode must be passed back to the API.")}},
		},
		"an id of Kimi's, behind a gateway to Claude": {
			"/openai/v1/chat/completions", `{"model":"smart","messages":[`, `{"role":"user","content":"a"},{"role":"assistant","content":"","tool_calls":[{"id":"sh:0","type":"function","function":{"name":"sh","arguments":"{}"}}]},{"role":"tool","tool_call_id":"sh:0","content":"x"}`, `,{"role":"assistant","content":"d"},{"role":"user","content":"e"}`, chatAnswer,
			[]answer{{`"sh:0"`, 400, plain, anthropic("messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")}},
		},
		"a message of the system among the others": {
			"/openai/v1/chat/completions", `{"model":"qwen3.5-27b","messages":[`, `{"role":"system","content":"s"},{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"system","content":"t"},{"role":"user","content":"c"}`, `,{"role":"assistant","content":"d"},{"role":"system","content":"t"},{"role":"user","content":"e"}`, chatAnswer,
			[]answer{{`{"role":"system","content":"t"}`, 500, plain, `{"error":{"code":500,"message":"Jinja Exception: System message must be at the beginning.","type":"server_error"}}`}},
		},
		"a message of the system that Claude Code sends to a template of Qwen": {
			"/anthropic/v1/messages", `{"model":"qwen3.5-27b","max_tokens":1000,"system":"s","messages":[`, `{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"sh","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]},{"role":"system","content":"t"}`, `,{"role":"assistant","content":"d"},{"role":"user","content":"e"},{"role":"system","content":"t"}`, messagesAnswer,
			[]answer{{`"role":"system"`, 400, plain, openai("System message must be at the beginning.")}},
		},
		"a message of the system that DeepSeek refuses in Messages": {
			"/anthropic/v1/messages", `{"model":"deepseek-v4-pro","max_tokens":1000,"system":"s","messages":[`, `{"role":"user","content":"a"},{"role":"system","content":"t"}`, `,{"role":"assistant","content":"d"},{"role":"user","content":"e"},{"role":"system","content":"t"}`, messagesAnswer,
			[]answer{{`"role":"system"`, 400, plain, openai("Failed to deserialize the JSON body into the target type: messages[1].role: unknown variant `system`, expected `user` or `assistant` at line 1 column 7954")}},
		},
		"a developer": {
			"/openai/v1/chat/completions", `{"model":"deepseek-chat","messages":[`, `{"role":"developer","content":"s"},{"role":"user","content":"a"}`, `,{"role":"assistant","content":"d"},{"role":"user","content":"e"}`, chatAnswer,
			[]answer{{`"developer"`, 400, plain, openai("Failed to deserialize the JSON body into the target type: messages[0].role: unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool` at line 1 column 85")}},
		},
		"a developer, at DashScope": {
			"/openai/v1/chat/completions", `{"model":"qwen3.7-flash","messages":[`, `{"role":"developer","content":"s"},{"role":"user","content":"a"}`, `,{"role":"assistant","content":"d"},{"role":"user","content":"e"}`, chatAnswer,
			[]answer{{`"developer"`, 400, plain, openai("developer is not one of ['system', 'assistant', 'user', 'tool', 'function'] - 'messages.['0'].role'")}},
		},
		"an item of another maker": {
			"/openai/v1/responses", `{"model":"gpt-5.1","input":[`, `{"role":"user","content":"a"},{"type":"function_call","id":"x-1","call_id":"c","name":"sh","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"x"}`, `,{"role":"assistant","content":"d"},{"role":"user","content":"e"}`, responsesAnswer,
			[]answer{{`"id":"x-1"`, 400, plain, openai("Invalid 'input[1].id': 'x-1'. Expected an ID that begins with 'fc'.")}},
		},
		"reasoning of another maker": {
			"/openai/v1/responses", `{"model":"gpt-5.1","store":false,"input":[`, `{"role":"user","content":"a"},{"type":"reasoning","id":"thinking_0","summary":[],"encrypted_content":"gAAA"},{"type":"function_call","call_id":"c","name":"sh","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"x"}`, `,{"role":"assistant","content":"d"},{"role":"user","content":"e"}`, responsesAnswer,
			[]answer{{`"id":"thinking_0"`, 400, plain, openai("Invalid 'input[1].id': 'thinking_0'. Expected an ID that begins with 'rs'.")}},
		},
		"two items of one id": {
			"/openai/v1/responses", `{"model":"gpt-5.1","input":[`, `{"role":"user","content":"a"},{"type":"message","id":"msg_4","role":"assistant","content":[{"type":"output_text","text":"b"}]},{"role":"user","content":"c"},{"type":"message","id":"msg_4","role":"assistant","content":[{"type":"output_text","text":"d"}]},{"role":"user","content":"e"}`, `,{"type":"message","id":"msg_4","role":"assistant","content":[{"type":"output_text","text":"d"}]},{"role":"user","content":"e"}`, responsesAnswer,
			[]answer{{`"id":"msg_4"`, 400, plain, `{"error":{"message":"Duplicate item found with id msg_4. Remove duplicate items from your input and try again.","code":"invalid_request_body"}}`}},
		},
		"a member that Gemini does not know": {
			"/gemini/v1beta/models/gemini-3-pro:generateContent", `{"contents":[`, `{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"text":"b","note":"x"}]},{"role":"user","parts":[{"text":"c"}]}`, `,{"role":"model","parts":[{"text":"d"}]},{"role":"user","parts":[{"text":"e"}]}`, geminiAnswer,
			[]answer{{`"note"`, 400, plain, `{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"note\" at 'contents[1].parts[0]': Cannot find field.","status":"INVALID_ARGUMENT"}}`}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			url, bodies := refusing(t, c.ok, func(body string) (int, string, string) {
				for _, a := range c.refusals {
					if want, ok := strings.CutPrefix(a.bad, "!"); strings.Contains(body, want) != ok {
						return a.status, a.kind, a.text
					}
				}
				return 0, "", ""
			})
			_, root, _ := start(t, url, Options{Store: memoryStore(t)})
			history, want := c.history, len(c.refusals)+1
			for turn := range 3 {
				res, text := post(t, root+c.path, c.head+history+`]}`)
				if res.StatusCode != http.StatusOK || text != c.ok || len(*bodies) != want {
					t.Fatalf("turn %d: %s %s after %d requests, want %d; the last: %s", turn, res.Status, text, len(*bodies), want, (*bodies)[len(*bodies)-1])
				}
				history, want = history+c.then, want+1
			}
		})
	}
}

// A provider that takes an id of a call once in a history gets another for each later call with the same, turn after turn, and what it was
// sent stays as it was sent.
func TestRepeatedIDsAreRenamed(t *testing.T) {
	t.Parallel()
	for _, words := range []string{"Invalid request: tool call id write:0 is duplicated", "Duplicate value for 'tool_call_id' of in message[4]"} {
		url, bodies := refusing(t, chatAnswer, func(body string) (int, string, string) {
			var r struct {
				Messages []struct {
					Calls []struct{ ID string } `json:"tool_calls"`
				}
			}
			seen := map[string]bool{}
			_ = json.Unmarshal([]byte(body), &r)
			for _, m := range r.Messages {
				for _, c := range m.Calls {
					if seen[c.ID] {
						return http.StatusBadRequest, "application/json", `{"error":{"message":"` + words + `","type":"invalid_request_error"}}`
					}
					seen[c.ID] = true
				}
			}
			return 0, "", ""
		})
		_, root, _ := start(t, url, Options{Store: memoryStore(t)})
		turn := `{"role":"assistant","content":null,"tool_calls":[{"id":"write:0","type":"function","function":{"name":"write","arguments":"{}"}}]},{"role":"tool","tool_call_id":"write:0","content":"x"}`
		history, want, sent := `{"role":"user","content":"a"},`+turn+`,`+turn, 2, ""
		for n := range 5 {
			res, text := post(t, root+"/openai/v1/chat/completions", `{"model":"kimi-k3","messages":[`+history+`]}`)
			last := strings.TrimSuffix((*bodies)[len(*bodies)-1], "]}")
			if res.StatusCode != http.StatusOK || len(*bodies) != want || !strings.HasPrefix(last, sent) {
				t.Fatalf("turn %d: %s %s after %d requests, want %d; the last: %s\nafter %s", n, res.Status, text, len(*bodies), want, last, sent)
			}
			if id := fmt.Sprintf(`"tool_call_id":"write:0_%d"`, n+2); !strings.Contains(last, id) {
				t.Errorf("turn %d: there is no %s in %s", n, id, last)
			}
			history, want, sent = history+`,{"role":"assistant","content":"d"},{"role":"user","content":"e"},`+turn, want+1, last
		}
	}
}

// What a provider echoes of a conversation teaches nothing: only its own words do.
func TestEchoesTeachNothing(t *testing.T) {
	t.Parallel()
	const photo = `{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}`
	url, bodies := refusing(t, chatAnswer, func(body string) (int, string, string) {
		if strings.Contains(body, `"arguments":"{\"a\":\"so"`) {
			return http.StatusUnprocessableEntity, "application/json", `{"detail":[{"type":"json_invalid","loc":["body","messages",1,"does not support image input"],"msg":"arguments are no JSON","input":{"content":"it says that the model does not support image input, and failed to download it"}}]}`
		}
		return 0, "", ""
	})
	_, root, _ := start(t, url, Options{Store: memoryStore(t)})
	res, text := post(t, root+"/openai/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":[`+photo+`]},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"sh","arguments":"{\"a\":\"so"}}]},{"role":"tool","tool_call_id":"c1","content":"x"},{"role":"assistant","content":"c"},{"role":"user","content":"d"}]}`)
	if last := (*bodies)[len(*bodies)-1]; res.StatusCode != http.StatusOK || len(*bodies) != 2 || !strings.Contains(last, photo) {
		t.Errorf("%s %s after %d requests: %s", res.Status, text, len(*bodies), last)
	}
}

// Of several faults each refusal names one; all that they teach is kept, for the model that refused.
func TestLessonsAddUp(t *testing.T) {
	t.Parallel()
	members := []string{"one", "two", "three", "four", "five"}
	url, bodies := refusing(t, chatAnswer, func(body string) (int, string, string) {
		if strings.Contains(body, `"model":"other"`) {
			return 0, "", ""
		}
		for _, name := range members {
			if strings.Contains(body, `"`+name+`":`) {
				return http.StatusBadRequest, "application/json", `{"error":{"message":"property 'messages.1.assistant.` + name + `' is unsupported"}}`
			}
		}
		return 0, "", ""
	})
	_, root, _ := start(t, url, Options{Store: memoryStore(t)})
	answer := `{"role":"assistant","content":"b","one":1,"two":2,"three":3,"four":4,"five":5}`
	history, want := `{"role":"user","content":"a"},`+answer+`,{"role":"user","content":"c"}`, len(members)+1
	for turn := range 3 {
		res, text := post(t, root+"/openai/v1/chat/completions", `{"model":"m","messages":[`+history+`]}`)
		if res.StatusCode != http.StatusOK || len(*bodies) != want {
			t.Fatalf("turn %d: %s %s after %d requests, want %d", turn, res.Status, text, len(*bodies), want)
		}
		history, want = history+","+answer+`,{"role":"user","content":"d"}`, want+1
	}
	post(t, root+"/openai/v1/chat/completions", `{"model":"other","messages":[`+history+`]}`)
	if last := (*bodies)[len(*bodies)-1]; !strings.HasSuffix(last, answer+`,{"role":"user","content":"d"}]}`) {
		t.Errorf("another model gets %s", last)
	}
}

func TestOthersErrorsAreNotRetried(t *testing.T) {
	t.Parallel()
	for _, fault := range []scripted.Fault{{Kind: scripted.RateLimit}, {Kind: scripted.ServerErr}, {Kind: scripted.HTML}, {Kind: scripted.Garbage}, {Kind: scripted.HugeEvent}, {Kind: scripted.Gzip}, {Kind: scripted.Drip, Bytes: 7}} {
		for _, d := range everyDialect {
			provider, _, root, _ := scripting(t, scripted.Options{Fault: scripted.FaultAt(0, fault)}, Options{})
			res, text := talkIn(d).ask(t, root, 1)
			if n := len(asked(provider)); n != 1 {
				t.Errorf("%v, %v: %d requests, want 1 (%s %.200s)", d, fault.Kind, n, res.Status, text)
			}
		}
	}
}

// A stop reason that comes after content cannot be undone; the next request is smaller.
func TestOverflowAfterContentTeaches(t *testing.T) {
	t.Parallel()
	script := func(int, *scripted.Request) scripted.Reply {
		return scripted.Reply{Text: "Some words.", Stop: "model_context_window_exceeded", Output: 10}
	}
	provider, p, root, j := scripting(t, scripted.Options{Script: script, Side: script}, Options{Store: memoryStore(t)})
	k := talkIn(wire.Messages)
	res, text := k.ask(t, root, 10)
	if res.StatusCode != http.StatusOK || !strings.Contains(text, "Some words.") {
		t.Fatalf("%s %s", res.Status, text)
	}
	over := events[journal.WindowOverflow](j)
	if len(over) != 1 || over[0].Action != "learned" || over[0].LimitTokens == 0 {
		t.Errorf("the journal has %+v", over)
	}
	if len(asked(provider)) != 1 {
		t.Errorf("%d requests, want 1", len(asked(provider)))
	}
	if w := p.o.Resolver.Window(string(Anthropic)+"+"+p.upstreams["anthropic"].base.String(), k.model, nil); w.Source != models.SourceLearned {
		t.Errorf("the window is %+v", w)
	}
}

func TestRepeatedRefusalsTripTheBreaker(t *testing.T) {
	t.Parallel()
	_, _, root, j := scripting(t, scripted.Options{Window: 9000, Form: "groq"}, Options{Store: memoryStore(t)})
	k := talkIn(wire.Chat)
	for i := range 4 {
		k.model = "gpt-4o"
		k.size = 3000 + i // another conversation each
		k.ask(t, root, 60)
	}
	tripped := events[journal.WindowBreaker](j)
	if len(tripped) == 0 || tripped[0].State != "tripped" || tripped[0].Upstream != "openai" || tripped[0].LimitTokens == 0 {
		t.Errorf("the journal has %+v", tripped)
	}
}

// A gateway whose usage leaves out what was read from a cache has not cut anything: believing
// it would cut the conversation down to what was new in one turn.
func TestUsageWithoutTheCacheIsNoWindow(t *testing.T) {
	t.Parallel()
	upstream, _ := rawUpstream(t, answerOf(`{"type":"message","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":3000,"output_tokens":5}}`))
	_, root, j := start(t, upstream, Options{Store: memoryStore(t)})
	k := talkIn(wire.Messages)
	for turns := 10; turns < 14; turns++ {
		if res, text := k.ask(t, root, turns); res.StatusCode != http.StatusOK || res.Header.Get(LimitHeader) != "200000" || res.Header.Get(ActionsHeader) != "" {
			t.Fatalf("%s, limit %s, done %q: %.200s", res.Status, res.Header.Get(LimitHeader), res.Header.Get(ActionsHeader), text)
		}
	}
	if over := events[journal.WindowOverflow](j); len(over) > 0 {
		t.Errorf("%+v", over)
	}
}

// answerOf is a whole answer of an upstream that closes the connection after it, and says so: else the next
// request may be sent on a connection that is just ending.
func answerOf(body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(body), body)
}
