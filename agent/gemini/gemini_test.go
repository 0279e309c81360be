package gemini_test

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/gemini"
	"github.com/plimsoll/plimsoll/internal/testing/adapters"
	"github.com/plimsoll/plimsoll/internal/testing/scripted"
)

// wire is the protocol, as the tests of all adapters ask for it.
var wire = adapters.Wire{
	New: func(o adapters.Options) (agent.Model, error) {
		return gemini.New(gemini.Options{
			BaseURL: o.URL, Key: o.Key, Model: o.Model, HTTPClient: o.Client, Header: o.Header, Extra: o.Extra, MaxOutput: o.MaxOutput,
		})
	},
	Model:       "gemini-3-pro-preview",
	Environment: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_APPLICATION_CREDENTIALS"},
	Word:        word, End: stop("STOP"),
}

func TestAdapter(t *testing.T) { adapters.Test(t, wire) }

func model(t *testing.T, o gemini.Options) *gemini.Model {
	t.Helper()
	o.Key = adapters.Key
	if o.Model == "" {
		o.Model = wire.Model
	}
	m, err := gemini.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// sent is what the tests look at of a request.
type sent struct {
	System   json.RawMessage `json:"systemInstruction"`
	Contents []struct {
		Role  string
		Parts []map[string]any
	}
	Tools []struct {
		Functions []struct {
			Name   string
			Schema json.RawMessage `json:"parametersJsonSchema"`
		} `json:"functionDeclarations"`
	}
	Config json.RawMessage `json:"generationConfig"`
}

func read(t *testing.T, body []byte) sent {
	t.Helper()
	var s sent
	if err := json.Unmarshal(body, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s sent) types() []string {
	var list []string
	for _, c := range s.Contents {
		var line strings.Builder
		line.WriteString(c.Role)
		for _, p := range c.Parts {
			for _, kind := range []string{"text", "functionCall", "functionResponse", "thoughtSignature"} {
				if p[kind] != nil {
					line.WriteString(" " + kind)
				}
			}
		}
		list = append(list, line.String())
	}
	return list
}

func TestConversation(t *testing.T) {
	t.Parallel()
	tools := adapters.Tools()
	tools[2].Name = "2fa"
	c, requests := adapters.Talk{
		Model: func(url string) agent.Model {
			return model(t, gemini.Options{BaseURL: url + "/v1beta", Thinking: 2000, Extra: map[string]json.RawMessage{
				"generationConfig": json.RawMessage(`{"temperature":0,"maxOutputTokens":1}`), "safetySettings": json.RawMessage(`[]`), "contents": json.RawMessage(`[]`),
			}})
		},
		Provider: scripted.Options{Key: adapters.Key},
		Tools:    tools, Sent: "_2fa",
		Between: true,
	}.Hold(t)
	if path := requests[1].Path; path != "/v1beta/models/gemini-3-pro-preview:streamGenerateContent" {
		t.Errorf("asked was %s", path)
	}
	s := read(t, requests[1].Body)
	want := []string{"user text", "model text functionCall thoughtSignature functionCall", "user functionResponse functionResponse text text"}
	if diff := cmp.Diff(want, s.types()); diff != "" {
		t.Fatalf("contents (-want +got):\n%s", diff)
	}
	results := s.Contents[2].Parts
	if diff := cmp.Diff(map[string]any{"id": c[0].ID, "name": "search", "response": map[string]any{"error": "needle ✓"}}, results[0]["functionResponse"]); diff != "" {
		t.Errorf("a failed result (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"id": c[1].ID, "name": "_2fa", "response": map[string]any{"output": ""}}, results[1]["functionResponse"]); diff != "" {
		t.Errorf("a result (-want +got):\n%s", diff)
	}
	var config map[string]any
	if err := json.Unmarshal(s.Config, &config); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"temperature": 0.0, "maxOutputTokens": 2500.0, "thinkingConfig": map[string]any{"thinkingBudget": 2000.0}}, config); diff != "" {
		t.Errorf("generationConfig (-want +got):\n%s", diff)
	}
	for i, want := range []string{string(tools[0].Schema), `{"type":"object","properties":{"path":{"type":"string"}}}`, `{"type":"object","properties":{}}`} {
		if got := string(s.Tools[0].Functions[i].Schema); got != want {
			t.Errorf("schema %d was sent as %s, not %s", i, got, want)
		}
	}
}

// TestSignatures: signatures go back in their places and to the letter; to another model none of them does.
func TestSignatures(t *testing.T) {
	t.Parallel()
	parts := `[{"text":"one","thoughtSignature":"c2lnMQ=="},{"text":"two"},{"functionCall":{"id":"c1","name":"f","args":{"x":1}},"thoughtSignature":"c2lnMg=="},` +
		`{"functionCall":{"id":"c2","name":"g","args":{}}},{"text":"","thoughtSignature":"c2lnMw=="}]`
	var body []byte
	a := adapters.Stream(`{"candidates":[{"content":{"role":"model","parts":[{"text":"a thought","thought":true},` + parts[1:] + `},"finishReason":"STOP"}]}`)
	a.Sent = &body
	at := func(name string) *gemini.Model {
		return model(t, gemini.Options{BaseURL: "http://model.test", Model: name, HTTPClient: a.Client()})
	}
	one, err := at("gemini-3-pro").Generate(t.Context(), adapters.Question, adapters.Ignore)
	if err != nil {
		t.Fatal(err)
	}
	if one.Message.Text != "onetwo" {
		t.Errorf("the text is %q", one.Message.Text)
	}
	with := func(name string, change func(*agent.Message)) []string {
		t.Helper()
		message := one.Message
		message.Calls = append([]agent.Call(nil), message.Calls...)
		change(&message)
		list := []agent.Message{adapters.Question.Messages[0], message}
		for _, c := range message.Calls {
			list = append(list, agent.Message{Role: agent.RoleTool, CallID: c.ID, Text: "r"})
		}
		if _, err := at(name).Generate(t.Context(), &agent.Request{Messages: list}, adapters.Ignore); err != nil {
			t.Fatal(err)
		}
		return read(t, body).types()[1:2]
	}
	same := func(*agent.Message) {}
	if got := with("gemini-3-pro", same); got[0] == "" {
		t.Error(got)
	}
	var want []map[string]any
	if err := json.Unmarshal([]byte(parts), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, read(t, body).Contents[1].Parts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	dummy := "model text functionCall thoughtSignature functionCall"
	for name, c := range map[string]struct {
		model  string
		change func(*agent.Message)
		want   string
	}{
		"another model":  {"gemini-3-flash", same, dummy},
		"an older model": {"gemini-2.5-pro", same, "model text functionCall functionCall"},
		"no signatures":  {"gemini-3-pro", func(m *agent.Message) { m.Opaque = nil }, dummy},
		"no JSON":        {"gemini-3-pro", func(m *agent.Message) { m.Opaque = json.RawMessage(`{"model":"gemini-3-pro","parts":[{}`) }, dummy},
		"nothing in it": {"gemini-3-pro", func(m *agent.Message) {
			m.Opaque = json.RawMessage(`{"model":"gemini-3-pro","parts":[{"text":-3},{"call":99}]}`)
		}, dummy},
		"other words":       {"gemini-3-pro", func(m *agent.Message) { m.Text = "some other words" }, dummy},
		"fewer calls":       {"gemini-3-pro", func(m *agent.Message) { m.Calls = m.Calls[:1] }, "model text functionCall thoughtSignature"},
		"renamed calls":     {"gemini-3-pro", func(m *agent.Message) { m.Calls[0].ID = "call/x" }, "model text thoughtSignature text functionCall thoughtSignature functionCall text thoughtSignature"},
		"without the calls": {"gemini-3-pro", func(m *agent.Message) { m.Calls = nil }, "model text"},
	} {
		if diff := cmp.Diff([]string{c.want}, with(c.model, c.change)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if c.want == dummy && read(t, body).Contents[1].Parts[1]["thoughtSignature"] != "skip_thought_signature_validator" {
			t.Errorf("%s: %s", name, body)
		}
	}
}

// TestStrictHistory sends what other models and cut conversations leave behind.
func TestStrictHistory(t *testing.T) {
	t.Parallel()
	p := scripted.New(scripted.Options{})
	server := httptest.NewServer(p)
	defer server.Close()
	if _, err := model(t, gemini.Options{BaseURL: server.URL}).Generate(t.Context(), &agent.Request{System: " ", Messages: adapters.History(), Tools: adapters.Tools()}, adapters.Ignore); err != nil {
		t.Fatal(err)
	}
	body := p.Requests()[0].Body
	s := read(t, body)
	if strings.Contains(string(body), "theirs") {
		t.Error("the thoughts of another model were sent")
	}
	want := []string{
		"user text", "model text", "user text", "model text functionCall thoughtSignature functionCall functionCall",
		"user functionResponse functionResponse functionResponse", "model text text",
	}
	if diff := cmp.Diff(want, s.types()); diff != "" {
		t.Fatalf("contents (-want +got):\n%s", diff)
	}
	call := s.Contents[3].Parts[1]["functionCall"].(map[string]any)
	result := s.Contents[4].Parts[0]["functionResponse"].(map[string]any)
	if call["id"] != result["id"] || call["name"] != result["name"] || !cmp.Equal(call["args"], any(map[string]any{"_not_an_object": `{"a":`})) {
		t.Errorf("a call %v, its result %v", call, result)
	}
	if s.System != nil || s.Config != nil {
		t.Errorf("system %s, config %s", s.System, s.Config)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	list := map[string]json.RawMessage{"generationConfig": json.RawMessage("[]")}
	if _, err := gemini.New(gemini.Options{BaseURL: "http://h", Model: "m", Extra: list}); err == nil || !strings.Contains(err.Error(), "object") {
		t.Errorf("a list as generationConfig: %v", err)
	}
	m, err := gemini.New(gemini.Options{Key: "k", Model: "models/gemini-2.5-pro", Window: 7, Standin: true})
	if err != nil {
		t.Fatal(err)
	}
	want := agent.ModelInfo{Provider: "gemini", Name: "gemini-2.5-pro", URL: gemini.DefaultURL, Window: 7, Standin: true}
	if diff := cmp.Diff(want, m.Info()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
