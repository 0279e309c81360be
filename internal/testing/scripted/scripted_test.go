package scripted

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/modelserver"
	"github.com/plimsoll/plimsoll/internal/window/overflow"
	"github.com/plimsoll/plimsoll/window/wire"
)

const (
	shellSchema = `{"type":"object","properties":{"command":{"type":"string"},"description":{"type":"string"},"background":{"type":"boolean"}},"required":["command","description","background"]}`
	task        = "do the task"
)

var dialects = []wire.Dialect{wire.Chat, wire.Responses, wire.Messages, wire.Gemini}

// ask builds a request of a dialect: a task of the user and whatever comes after.
func ask(d wire.Dialect, stream bool, text string, more ...string) (path, body string) {
	flag := "false"
	if stream {
		flag = "true"
	}
	join := func(first string) string { return strings.Join(append([]string{first}, more...), ",") }
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	switch d {
	case wire.Chat:
		return "/v1/chat/completions", `{"model":"m","stream":` + flag + `,"stream_options":{"include_usage":true},"tools":[{"type":"function","function":{"name":"bash","parameters":` + shellSchema + `}}],"messages":[` +
			join(`{"role":"user","content":`+string(quoted)+`}`) + `]}`
	case wire.Responses:
		return "/v1/responses", `{"model":"m","stream":` + flag + `,"tools":[{"type":"function","name":"shell","parameters":{"type":"object","properties":{"command":{"type":"array","items":{"type":"string"}}},"required":["command"]}}],"input":[` +
			join(`{"type":"message","role":"user","content":[{"type":"input_text","text":`+string(quoted)+`}]}`) + `]}`
	case wire.Messages:
		return "/v1/messages", `{"model":"m","stream":` + flag + `,"max_tokens":1000,"thinking":{"type":"enabled","budget_tokens":1024},"tools":[{"name":"Bash","input_schema":` + shellSchema + `}],"messages":[` +
			join(`{"role":"user","content":[{"type":"text","text":`+string(quoted)+`,"cache_control":{"type":"ephemeral"}}]}`) + `]}`
	default:
		verb := ":generateContent"
		if stream {
			verb = ":streamGenerateContent?alt=sse"
		}
		return "/v1beta/models/m" + verb, `{"tools":[{"functionDeclarations":[{"name":"run_shell_command","parametersJsonSchema":` + shellSchema + `}]}],"contents":[` +
			join(`{"role":"user","parts":[{"text":`+string(quoted)+`}]}`) + `]}`
	}
}

func send(t *testing.T, server *httptest.Server, path, body string) (int, http.Header, string) {
	t.Helper()
	resp, err := server.Client().Post(server.URL+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(text)
}

func start(t *testing.T, o Options) (*Provider, *httptest.Server) {
	t.Helper()
	p := New(o)
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	return p, server
}

// events returns the data of a stream's events.
func events(t *testing.T, text string) []map[string]any {
	t.Helper()
	var list []map[string]any
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 1<<24)
	name := ""
	for lines.Scan() {
		line := lines.Text()
		if after, ok := strings.CutPrefix(line, "event: "); ok {
			name = after
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var v map[string]any
		if err := json.Unmarshal([]byte(data), &v); err != nil {
			t.Fatalf("event %q: %v", data, err)
		}
		if name != "" && v["type"] != name {
			t.Errorf("event %s carries type %v", name, v["type"])
		}
		list = append(list, v)
	}
	return list
}

func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			object, ok := v.(map[string]any)
			if !ok {
				return nil
			}
			v = object[p]
		case int:
			list, ok := v.([]any)
			if !ok || p >= len(list) {
				return nil
			}
			v = list[p]
		}
	}
	return v
}

// turn1 is the history after the first call, built from the answer as a client would.
func turn1(t *testing.T, d wire.Dialect, answer string) []string {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(answer), &v); err != nil {
		t.Fatalf("%s: %v", answer, err)
	}
	text := func(v any) string {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	switch d {
	case wire.Chat:
		message := at(v, "choices", 0, "message")
		return []string{text(message), text(m{"role": "tool", "tool_call_id": at(message, "tool_calls", 0, "id"), "content": "ok"})}
	case wire.Responses:
		var list []string
		for _, item := range v["output"].([]any) {
			list = append(list, text(item))
			if at(item, "type") == "function_call" {
				list = append(list, text(m{"type": "function_call_output", "call_id": at(item, "call_id"), "output": "ok"}))
			}
		}
		return list
	case wire.Messages:
		var id any
		for _, b := range v["content"].([]any) {
			if at(b, "type") == "tool_use" {
				id = at(b, "id")
			}
		}
		return []string{text(m{"role": "assistant", "content": v["content"]}), text(m{"role": "user", "content": []any{m{"type": "tool_result", "tool_use_id": id, "content": "ok"}}})}
	default:
		content := at(v, "candidates", 0, "content")
		var call any
		for _, part := range at(content, "parts").([]any) {
			if c := at(part, "functionCall"); c != nil {
				call = c
			}
		}
		return []string{text(content), text(m{"role": "user", "parts": []any{m{"functionResponse": m{"id": at(call, "id"), "name": at(call, "name"), "response": m{"output": "ok"}}}}})}
	}
}

// A client that sends the answers back walks through the script, in every protocol.
func TestScriptIsPlayed(t *testing.T) {
	for _, d := range dialects {
		t.Run(d.String(), func(t *testing.T) {
			p, server := start(t, Options{CheckSignatures: true, Script: Replies(
				Reply{Thinking: "let me see", Text: "first", Calls: []Call{{Shell: "ls -l"}}}, Reply{Text: "all done"},
			)})
			path, body := ask(d, false, task)
			status, _, answer := send(t, server, path, body)
			if status != 200 || !strings.Contains(answer, "ls -l") || !strings.Contains(answer, "first") {
				t.Fatalf("%d %s", status, answer)
			}
			if d != wire.Responses && !strings.Contains(answer, "background") {
				t.Errorf("a required argument lacks: %s", answer)
			}
			if d == wire.Responses && !strings.Contains(answer, `[\"bash\",\"-lc\",\"ls -l\"]`) {
				t.Errorf("the shell takes an argv: %s", answer)
			}
			path, body = ask(d, false, task, turn1(t, d, answer)...)
			if status, _, answer = send(t, server, path, body); status != 200 || !strings.Contains(answer, "all done") {
				t.Fatalf("%d %s", status, answer)
			}
			last := p.Requests()[1]
			if p.Turns("") != 2 || last.Turn != 1 || last.Request.LastUser != task {
				t.Errorf("turns %d, turn of the last request %d, its user text %q", p.Turns(""), last.Turn, last.Request.LastUser)
			}
			if last.Request.Cached == 0 || last.Request.Cached >= last.Input {
				t.Errorf("%d of %d tokens were cached; the first request is a prefix of the second", last.Request.Cached, last.Input)
			}
		})
	}
}

// The four streams have the events, in the order, that the providers' clients wait for.
func TestStreams(t *testing.T) {
	reply := Reply{Thinking: "let me see", Text: strings.Repeat("wörter ", 20), Calls: []Call{{Shell: "ls"}, {Shell: "pwd"}}}
	for _, d := range dialects {
		t.Run(d.String(), func(t *testing.T) {
			_, server := start(t, Options{Script: Replies(reply)})
			path, body := ask(d, true, task)
			status, header, text := send(t, server, path, body)
			if status != 200 || !strings.HasPrefix(header.Get("Content-Type"), "text/event-stream") {
				t.Fatalf("%d %s", status, header.Get("Content-Type"))
			}
			list := events(t, text)
			var order []string
			var said, arguments strings.Builder
			str := func(v any) string { s, _ := v.(string); return s }
			for i, e := range list {
				kind := str(e["type"])
				if kind != "" && (len(order) == 0 || order[len(order)-1] != kind) {
					order = append(order, kind)
				}
				switch d {
				case wire.Chat:
					said.WriteString(str(at(e, "choices", 0, "delta", "content")))
					arguments.WriteString(str(at(e, "choices", 0, "delta", "tool_calls", 0, "function", "arguments")))
				case wire.Responses:
					if at(e, "sequence_number") != float64(i) {
						t.Errorf("event %d has number %v", i, at(e, "sequence_number"))
					}
					if kind == "response.output_text.delta" {
						said.WriteString(str(e["delta"]))
					}
					if kind == "response.function_call_arguments.delta" {
						arguments.WriteString(str(e["delta"]))
					}
				case wire.Messages:
					said.WriteString(str(at(e, "delta", "text")))
					arguments.WriteString(str(at(e, "delta", "partial_json")))
				case wire.Gemini:
					if at(e, "candidates", 0, "content", "parts", 0, "thought") == nil {
						said.WriteString(str(at(e, "candidates", 0, "content", "parts", 0, "text")))
					}
					arguments.WriteString(str(at(e, "candidates", 0, "content", "parts", 0, "functionCall", "args", "command")))
				}
			}
			if said.String() != reply.Text {
				t.Errorf("said %q, want %q", said.String(), reply.Text)
			}
			if got := arguments.String(); !strings.Contains(got, "ls") || !strings.Contains(got, "pwd") {
				t.Errorf("arguments %q", got)
			}
			want := map[wire.Dialect]string{
				wire.Responses: "response.created response.in_progress response.output_item.added response.reasoning_summary_part.added",
				wire.Messages:  "message_start ping content_block_start content_block_delta content_block_stop content_block_start",
			}[d]
			if got := strings.Join(order, " "); !strings.HasPrefix(got, want) {
				t.Errorf("events %s, want %s first", got, want)
			}
			end := list[len(list)-1]
			switch d {
			case wire.Chat:
				if at(end, "usage", "prompt_tokens").(float64) <= 0 || !strings.HasSuffix(text, "data: [DONE]\n\n") {
					t.Errorf("no usage, or no end: %v", end)
				}
			case wire.Responses:
				if at(end, "response", "usage", "input_tokens").(float64) <= 0 || len(at(end, "response", "output").([]any)) != 4 {
					t.Errorf("the last event: %v", end)
				}
			case wire.Messages:
				if delta := list[len(list)-2]; at(delta, "delta", "stop_reason") != "tool_use" || at(delta, "usage", "output_tokens").(float64) <= 0 {
					t.Errorf("message_delta: %v", delta)
				}
			case wire.Gemini:
				if at(end, "candidates", 0, "finishReason") != "STOP" || !strings.Contains(text, "\r\n\r\n") {
					t.Errorf("the last event: %v", end)
				}
			}
		})
	}
}

// What the real provider refuses is refused, in its words and form; a repeat of a refused
// request is the same turn.
func TestOrphansAreRefused(t *testing.T) {
	call := map[wire.Dialect]string{
		wire.Chat:      `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"bash","arguments":"{}"}}]}`,
		wire.Responses: `{"type":"function_call","call_id":"a","name":"shell","arguments":"{}"}`,
		wire.Messages:  `{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"x"},{"type":"tool_use","id":"a","name":"Bash","input":{}}]}`,
		wire.Gemini:    `{"role":"model","parts":[{"functionCall":{"name":"run_shell_command","args":{}}}]}`,
	}
	words := map[wire.Dialect]string{
		wire.Chat: "must be followed by tool messages", wire.Responses: "No tool output found for function call a.",
		wire.Messages: "`tool_use` ids were found without `tool_result` blocks immediately after: a.", wire.Gemini: "number of function response parts",
	}
	for _, d := range dialects {
		p, server := start(t, Options{})
		path, body := ask(d, true, task, call[d])
		status, _, answer := send(t, server, path, body)
		if status != 400 || !strings.Contains(answer, words[d]) || !json.Valid([]byte(answer)) {
			t.Errorf("%s: %d %s", d, status, answer)
		}
		if kept := p.Requests()[0]; kept.Request.Broken == nil || kept.Status != 400 || p.Turns("") != 0 || p.Refused() != 1 {
			t.Errorf("%s: recorded as %+v", d, kept)
		}
	}
}

func TestChangedThinkingIsRefused(t *testing.T) {
	_, server := start(t, Options{CheckSignatures: true})
	path, body := ask(wire.Messages, false, task,
		`{"role":"assistant","content":[{"type":"thinking","thinking":"other","signature":"`+modelserver.Sign("this")+`"},{"type":"tool_use","id":"a","name":"Bash","input":{}}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"ok"}]}`)
	if status, _, answer := send(t, server, path, body); status != 400 || !strings.Contains(answer, "Invalid `signature`") {
		t.Errorf("%d %s", status, answer)
	}
}

// Every form of "too long" is one that Plimsoll's own table knows, and what fits is
// answered under all of them.
func TestFormsAreOverflows(t *testing.T) {
	for _, name := range Forms() {
		if name == "silent" {
			continue
		}
		for _, d := range dialects {
			if !strings.Contains(" "+strings.Join(FormsOf(d), " ")+" ", " "+name+" ") {
				continue
			}
			for _, stream := range []bool{false, true} {
				p, server := start(t, Options{Window: 2000, Form: name})
				path, body := ask(d, stream, "short")
				if status, _, answer := send(t, server, path, body); status != 200 {
					t.Errorf("%s: a short request: %d %s", name, status, answer)
				}
				path, body = ask(d, stream, strings.Repeat("a long text ", 5000))
				status, header, answer := send(t, server, path, body)
				found, ok := overflow.Classify(status, header.Get("Content-Type"), []byte(answer))
				if name == "anthropic.stop" {
					ok = strings.Contains(answer, `"stop_reason":"model_context_window_exceeded"`)
				}
				if !ok {
					t.Errorf("%s over %s (stream %v) is no overflow: %d %s", name, d, stream, status, answer)
				}
				if found.Limit != 0 && found.Limit != 2000 && name != "vllm.bug" {
					t.Errorf("%s: limit %d read, 2000 said", name, found.Limit)
				}
				if p.Turns("") != 1 {
					t.Errorf("%s: %d turns, want only the short one", name, p.Turns(""))
				}
			}
		}
	}
}

func TestBedrock(t *testing.T) {
	_, server := start(t, Options{Bedrock: true})
	_, body := ask(wire.Messages, false, task, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}`)
	status, header, answer := send(t, server, "/model/anthropic.claude-v1:0/invoke", body)
	if status != 400 || header.Get("X-Amzn-Errortype") != "ValidationException" || !strings.HasPrefix(answer, `{"message":"The number of toolResult blocks`) {
		t.Errorf("%d %v %s", status, header, answer)
	}
}

func newRequest(path, body string) (*http.Request, error) {
	return http.NewRequest(http.MethodPost, "http://127.0.0.1"+path, strings.NewReader(body))
}
