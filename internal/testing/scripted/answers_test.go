package scripted

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/window/overflow"
	"github.com/plimsoll/plimsoll/window/wire"
)

// Turns are counted for each conversation, and usage may be under the truth.
func TestConversationsAndUsage(t *testing.T) {
	p, server := start(t, Options{
		Conversation: func(r *Request) string { return r.LastUser },
		Usage:        func(input int) int { return input / 2 },
		Script:       func(turn int, _ *Request) Reply { return Reply{Text: strings.Repeat("turn ", turn+1)} },
	})
	for _, text := range []string{"a", "b", "a", "a"} {
		path, body := ask(wire.Chat, false, text)
		_, _, answer := send(t, server, path, body)
		var v struct {
			Usage struct {
				Prompt int `json:"prompt_tokens"`
			}
		}
		if err := json.Unmarshal([]byte(answer), &v); err != nil {
			t.Fatal(err)
		}
		list := p.Requests()
		if in := list[len(list)-1].Input; v.Usage.Prompt != in/2 {
			t.Errorf("%d reported of %d", v.Usage.Prompt, in)
		}
	}
	if p.Turns("a") != 3 || p.Turns("b") != 1 {
		t.Errorf("turns %d and %d", p.Turns("a"), p.Turns("b"))
	}
}

func TestOutputCounts(t *testing.T) {
	_, server := start(t, Options{Window: 900, WithOutput: true})
	path, body := ask(wire.Messages, false, "short") // asks for 1000 tokens of output
	status, header, answer := send(t, server, path, body)
	o, ok := overflow.Classify(status, header.Get("Content-Type"), []byte(answer))
	if !ok || o.Output != 1000 || o.Limit != 900 {
		t.Errorf("%d %s: %+v", status, answer, o)
	}
}

func TestSilentTruncation(t *testing.T) {
	p, server := start(t, Options{Window: 1000, Form: "silent"})
	path, body := ask(wire.Chat, false, strings.Repeat("a long text ", 5000))
	status, _, answer := send(t, server, path, body)
	var v struct {
		Usage struct {
			Prompt int `json:"prompt_tokens"`
		}
	}
	if err := json.Unmarshal([]byte(answer), &v); err != nil || status != 200 || v.Usage.Prompt != 1000 {
		t.Errorf("%d, reported %d (%v)", status, v.Usage.Prompt, err)
	}
	if in := p.Requests()[0].Input; in < 5000 {
		t.Errorf("counted %d", in)
	}
}

// A client's own requests beside the task take no turn.
func TestSideRequests(t *testing.T) {
	p, server := start(t, Options{})
	_, _, title := send(t, server, "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"a title please"}]}`)
	path, body := ask(wire.Messages, false, "Your task is to create a detailed summary of the conversation so far")
	_, _, summary := send(t, server, path, body)
	path, body = ask(wire.Responses, false, task, `{"type":"compaction_trigger"}`)
	_, _, item := send(t, server, path, body)
	_, _, form := send(t, server, "/v1beta/models/m:generateContent", `{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"responseJsonSchema":{"type":"OBJECT","properties":{"score":{"type":"INTEGER"}},"required":["score"]}}}`)
	if !strings.Contains(title, "A scripted task") || !strings.Contains(summary, "summary") || !strings.Contains(form, `{\"score\":1}`) ||
		strings.Count(item, `"type":"compaction"`) != 1 || strings.Contains(item, `"type":"message"`) {
		t.Errorf("%s\n%s\n%s\n%s", title, summary, item, form)
	}
	if p.Turns("") != 0 {
		t.Errorf("%d turns", p.Turns(""))
	}
}

func TestOtherPaths(t *testing.T) {
	_, server := start(t, Options{Key: "k", Window: 5000})
	for _, c := range []struct {
		method, path, body string
		header             http.Header
		status             int
		want               string
	}{
		{"HEAD", "/", "", nil, 200, ""},
		{"GET", "/v1/responses", "", http.Header{"Upgrade": {"websocket"}, "Connection": {"Upgrade"}}, 426, "WebSocket"},
		{"GET", "/v1/models", "", http.Header{"Authorization": {"Bearer k"}}, 200, `"object":"list"`},
		{"GET", "/v1/models", "", http.Header{"X-Api-Key": {"k"}, "Anthropic-Version": {"2023-06-01"}}, 200, `"has_more":false`},
		{"GET", "/v1beta/models/gemini-x", "", http.Header{"X-Goog-Api-Key": {"k"}}, 200, `"inputTokenLimit":5000`},
		{"POST", "/v1/messages/count_tokens", `{"messages":[{"role":"user","content":"x"}]}`, http.Header{"X-Api-Key": {"k"}}, 200, `"input_tokens":`},
		{"POST", "/v1beta/models/m:countTokens", `{"contents":[{"parts":[{"text":"x"}]}]}`, http.Header{"X-Goog-Api-Key": {"k"}}, 200, `"totalTokens":`},
		{"POST", "/v1/messages", `{}`, nil, 401, "authentication_error"},
		{"POST", "/v1/embeddings", `{}`, http.Header{"Authorization": {"Bearer k"}}, 404, "Unknown request URL"},
		{"POST", "/v1/messages", `{"messages":`, http.Header{"X-Api-Key": {"k"}}, 400, "could not parse"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, server.URL+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(req.Header, c.header)
		resp, err := server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != c.status || !strings.Contains(string(text), c.want) || resp.Header.Get("Scripted-Digest") == "" {
			t.Errorf("%s %s: %d %s (%v), want %d and %q", c.method, c.path, resp.StatusCode, text, err, c.status, c.want)
		}
	}
}

func TestRecordIsBounded(t *testing.T) {
	p, server := start(t, Options{RecordBytes: 20_000})
	path, body := ask(wire.Chat, false, strings.Repeat("x", 3000))
	for range 10 {
		send(t, server, path, body)
	}
	if kept := len(p.Requests()); kept == 0 || kept+p.Dropped() != 10 || p.Dropped() == 0 {
		t.Errorf("%d kept, %d dropped", kept, p.Dropped())
	}
	dir := t.TempDir()
	if err := p.Dump(dir); err != nil {
		t.Error(err)
	}
}

// Moving the cache marks, or turning a plain string into a block, is the same prefix.
func TestCacheMarksDoNotCount(t *testing.T) {
	p, server := start(t, Options{})
	one := `{"model":"m","messages":[{"role":"user","content":"a text"}]}`
	two := `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a text","cache_control":{"type":"ephemeral"}}]}]}`
	send(t, server, "/v1/messages", one)
	send(t, server, "/v1/messages", two)
	if r := p.Requests()[1].Request; r.Cached != r.Input {
		t.Errorf("%d of %d cached", r.Cached, r.Input)
	}
}

func TestTokenizers(t *testing.T) {
	hexdump := strings.Repeat("00000010  7f 45 4c 46 02 01 01 00  00 00 00 00 00 00 00 00\n", 20)
	mixed := strings.Repeat("Привет мир, 你好世界, γειά σου\n", 20)
	claude := Claude(Simple)
	for text, percent := range map[string]int{hexdump: 82, mixed: 157, "": 0} {
		if got, want := claude(text), (Simple(text)*percent+99)/100; got != want {
			t.Errorf("%.20q: %d, want %d", text, got, want)
		}
	}
	if n := O200K("hello world"); n != 2 {
		t.Errorf("hello world is %d tokens of o200k, want 2", n)
	}
	if n := Simple(strings.Repeat("The quick brown fox jumps over it. ", 100)); n < 700 || n > 1200 {
		t.Errorf("3500 characters of English are %d tokens", n)
	}
}

func TestUnknownFormPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	New(Options{Form: "nobody's"})
}
