package gemini_test

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/gemini"
	"github.com/plimsoll/plimsoll/internal/testing/scripted"
)

var tools = []agent.ToolSpec{
	{Name: "search", Description: "Finds things.", Schema: json.RawMessage(`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}},"$defs":{"x":{}}}`)},
	{Name: "files.read", Schema: json.RawMessage(`{"properties":{"path":{"type":"string"}}}`)},
	{Name: "2fa"},
}

func nothing(string) {}

func model(t *testing.T, url string, change func(*gemini.Options)) *gemini.Model {
	t.Helper()
	o := gemini.Options{BaseURL: url, Key: "AIza-secret-key", Model: "gemini-3-pro-preview"}
	if change != nil {
		change(&o)
	}
	m, err := gemini.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func failure(t *testing.T, err error) *agent.ModelError {
	t.Helper()
	e, ok := errors.AsType[*agent.ModelError](err)
	if !ok {
		t.Fatalf("the error is %T %v, no *agent.ModelError", err, err)
	}
	return e
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
	p := scripted.New(scripted.Options{Key: "AIza-secret-key", Script: scripted.Replies(
		scripted.Reply{Text: "I look.", Calls: []scripted.Call{
			{Tool: "search", Args: map[string]any{"z": "needle ✓", "a": 3}},
			{Tool: "_2fa"},
		}},
		scripted.Reply{Text: "Found: needle ✓."},
		scripted.Reply{Text: "Bye."},
	)})
	server := httptest.NewServer(p)
	defer server.Close()
	m := model(t, server.URL+"/v1beta", func(o *gemini.Options) {
		o.Thinking = 2000
		o.Extra = map[string]json.RawMessage{"generationConfig": json.RawMessage(`{"temperature":0,"maxOutputTokens":1}`), "safetySettings": json.RawMessage(`[]`), "contents": json.RawMessage(`[]`)}
	})
	var text strings.Builder
	r := &agent.Request{
		System: "You search.", Tools: tools, MaxOutput: 500,
		Messages: []agent.Message{{Role: agent.RoleUser, Text: "find the needle"}},
	}
	one, err := m.Generate(t.Context(), r, func(s string) { text.WriteString(s) })
	if err != nil {
		t.Fatal(err)
	}
	if one.Stop != agent.StopCalls || text.String() != "I look." || one.Message.Text != "I look." || len(one.Message.Calls) != 2 {
		t.Fatalf("stop %q, streamed %q, message %+v", one.Stop, text.String(), one.Message)
	}
	c := one.Message.Calls
	if c[0].Name != "search" || c[0].Arguments != `{"a":3,"z":"needle ✓"}` || c[1].Name != "2fa" || c[1].Arguments != "{}" || c[0].ID == c[1].ID {
		t.Fatalf("calls %+v", c)
	}
	r.Messages = append(r.Messages, one.Message,
		agent.Message{Role: agent.RoleTool, CallID: c[0].ID, Name: "search", Text: "needle ✓", Failed: true},
		agent.Message{Role: agent.RoleUser, Text: "quick"},
		agent.Message{Role: agent.RoleTool, CallID: c[1].ID, Name: "2fa"},
		agent.Message{Role: agent.RoleUser, Text: " "},
		agent.Message{Role: agent.RoleUser, Text: "please"},
	)
	two, err := m.Generate(t.Context(), r, nothing)
	if err != nil {
		t.Fatal(err)
	}
	if two.Stop != agent.StopEnd || two.Message.Text != "Found: needle ✓." || two.Usage.Input == 0 || two.Usage.Cached > two.Usage.Input || two.Usage.Output == 0 {
		t.Fatalf("%+v", two)
	}
	if path := p.Requests()[1].Path; path != "/v1beta/models/gemini-3-pro-preview:streamGenerateContent" {
		t.Errorf("asked was %s", path)
	}
	s := read(t, p.Requests()[1].Body)
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
	r.Messages = append(r.Messages, two.Message, agent.Message{Role: agent.RoleUser, Text: "bye"})
	r.Tools = nil
	if _, err := m.Generate(t.Context(), r, nothing); err != nil {
		t.Fatal(err)
	}
}

// TestSignatures: signatures go back in their places and to the letter; to another model none of them does.
func TestSignatures(t *testing.T) {
	t.Parallel()
	parts := `[{"text":"one","thoughtSignature":"c2lnMQ=="},{"text":"two"},{"functionCall":{"id":"c1","name":"f","args":{"x":1}},"thoughtSignature":"c2lnMg=="},` +
		`{"functionCall":{"id":"c2","name":"g","args":{}}},{"text":"","thoughtSignature":"c2lnMw=="}]`
	whole := streamed(`{"candidates":[{"content":{"role":"model","parts":[{"text":"a thought","thought":true},` + parts[1:] + `},"finishReason":"STOP"}]}`)
	var body []byte
	m := cannedModel(t, keeping{whole, &body}, "gemini-3-pro")
	one, err := m.Generate(t.Context(), question, nothing)
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
		list := []agent.Message{question.Messages[0], message}
		for _, c := range message.Calls {
			list = append(list, agent.Message{Role: agent.RoleTool, CallID: c.ID, Text: "r"})
		}
		if _, err := cannedModel(t, keeping{whole, &body}, name).Generate(t.Context(), &agent.Request{Messages: list}, nothing); err != nil {
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
	long := strings.Repeat("long.id:", 10)
	messages := []agent.Message{
		{Role: agent.RoleUser, Text: ""},
		{Role: agent.RoleAssistant, Text: "\n"},
		{Role: agent.RoleUser, Text: "b"},
		{Role: agent.RoleAssistant, Text: "x", Calls: []agent.Call{
			{ID: long, Name: "search", Arguments: `{"a": `},
			{ID: "two", Name: "", Arguments: `[1,2]`},
			{ID: "three", Name: strings.Repeat("x", 100), Arguments: ""},
		}, Opaque: json.RawMessage(`{"model":"another","member":"reasoning_content","reasoning":"theirs"}`)},
		{Role: agent.RoleTool, CallID: long, Text: "not JSON", Failed: true},
		{Role: agent.RoleTool, CallID: "two", Text: "x\x00\xffy"},
		{Role: agent.RoleTool, CallID: "three", Text: " \n"},
		{Role: agent.RoleAssistant, Text: "one "},
		{Role: agent.RoleAssistant, Text: "two \n"},
	}
	p := scripted.New(scripted.Options{})
	server := httptest.NewServer(p)
	defer server.Close()
	if _, err := model(t, server.URL, nil).Generate(t.Context(), &agent.Request{System: " ", Messages: messages, Tools: tools}, nothing); err != nil {
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

func TestEnvironment(t *testing.T) {
	for name, value := range map[string]string{
		"GEMINI_API_KEY": "environment", "GOOGLE_API_KEY": "environment", "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:1", "GOOGLE_APPLICATION_CREDENTIALS": "/environment",
	} {
		t.Setenv(name, value)
	}
	p := scripted.New(scripted.Options{})
	server := httptest.NewServer(p)
	defer server.Close()
	m := model(t, server.URL, func(o *gemini.Options) { o.Key, o.Header = "", map[string]string{"X-Team": "seven"} })
	if _, err := m.Generate(t.Context(), question, nothing); err != nil {
		t.Fatal(err)
	}
	header := p.Requests()[0].Header
	for name, values := range header {
		if name == "Authorization" || name == "X-Goog-Api-Key" || strings.Contains(strings.Join(values, " "), "environment") {
			t.Errorf("sent %s: %v", name, values)
		}
	}
	if header.Get("X-Team") != "seven" {
		t.Errorf("sent %v", header)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o    gemini.Options
		want string
	}{
		"no model": {gemini.Options{BaseURL: "http://h"}, "Model"},
		"no key":   {gemini.Options{Model: "m"}, "Key"},
		"extra":    {gemini.Options{BaseURL: "http://h", Model: "m", Extra: map[string]json.RawMessage{"x": nil}}, "Extra"},
		"config":   {gemini.Options{BaseURL: "http://h", Model: "m", Extra: map[string]json.RawMessage{"generationConfig": json.RawMessage("[]")}}, "object"},
		"negative": {gemini.Options{BaseURL: "http://h", Model: "m", MaxOutput: -1}, "negative"},
		"header":   {gemini.Options{BaseURL: "http://h", Model: "m", Header: map[string]string{"": "c"}}, "header"},
		"address":  {gemini.Options{BaseURL: "h", Model: "m"}, "http://"},
	} {
		if _, err := gemini.New(c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
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
