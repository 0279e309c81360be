package anthropic_test

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/anthropic"
	"github.com/plimsoll/plimsoll/internal/testing/scripted"
)

var tools = []agent.ToolSpec{
	{Name: "search", Description: "Finds things.", Schema: json.RawMessage(`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}},"$defs":{"x":{}}}`)},
	{Name: "files.read", Schema: json.RawMessage(`{"properties":{"path":{"type":"string"}}}`)},
	{Name: "now"},
}

func nothing(string) {}

func model(t *testing.T, url string, change func(*anthropic.Options)) *anthropic.Model {
	t.Helper()
	o := anthropic.Options{BaseURL: url, Key: "sk-ant-secret-key", Model: "claude-sonnet-4-5"}
	if change != nil {
		change(&o)
	}
	m, err := anthropic.New(o)
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
	MaxTokens  int `json:"max_tokens"`
	Thinking   json.RawMessage
	System     json.RawMessage
	ToolChoice json.RawMessage `json:"tool_choice"`
	Tools      []struct {
		Name        string
		InputSchema json.RawMessage `json:"input_schema"`
		Cache       json.RawMessage `json:"cache_control"`
	}
	Messages []struct {
		Role    string
		Content []struct {
			Type, Text, ID, Name, Thinking, Signature, Data string
			ToolUseID                                       string `json:"tool_use_id"`
			IsError                                         bool   `json:"is_error"`
			Input                                           json.RawMessage
			Cache                                           json.RawMessage `json:"cache_control"`
		}
	}
}

func read(t *testing.T, r *scripted.Recorded) sent {
	t.Helper()
	var s sent
	if err := json.Unmarshal(r.Body, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s sent) types() []string {
	var list []string
	for _, m := range s.Messages {
		var line strings.Builder
		line.WriteString(m.Role)
		for _, b := range m.Content {
			line.WriteString(" " + b.Type)
		}
		list = append(list, line.String())
	}
	return list
}

func TestConversation(t *testing.T) {
	t.Parallel()
	thought := "hm <both> at once & now ✓"
	p := scripted.New(scripted.Options{Key: "sk-ant-secret-key", CheckSignatures: true, Script: scripted.Replies(
		scripted.Reply{Thinking: thought, Text: "I look.", Calls: []scripted.Call{
			{Tool: "search", Args: map[string]any{"z": "needle ✓", "a": 3}},
			{Tool: "now"},
		}},
		scripted.Reply{Thinking: "good", Text: "Found: needle ✓."},
		scripted.Reply{Text: "Bye."},
	)})
	server := httptest.NewServer(p)
	defer server.Close()
	m := model(t, server.URL+"/v1", func(o *anthropic.Options) { o.Thinking = 2000 })
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
	if c[0].Name != "search" || c[0].Arguments != `{"a":3,"z":"needle ✓"}` || c[1].Arguments != "{}" || c[0].ID == c[1].ID {
		t.Fatalf("calls %+v", c)
	}
	r.Messages = append(r.Messages, one.Message,
		agent.Message{Role: agent.RoleTool, CallID: c[0].ID, Name: "search", Text: "needle ✓", Failed: true},
		agent.Message{Role: agent.RoleUser, Text: "quick"},
		agent.Message{Role: agent.RoleTool, CallID: c[1].ID, Name: "now"},
		agent.Message{Role: agent.RoleUser, Text: " "},
		agent.Message{Role: agent.RoleUser, Text: "please"},
	)
	two, err := m.Generate(t.Context(), r, nothing)
	if err != nil {
		t.Fatal(err)
	}
	if two.Stop != agent.StopEnd || two.Message.Text != "Found: needle ✓." || two.Usage.Cached == 0 || two.Usage.Cached > two.Usage.Input || two.Usage.Output == 0 {
		t.Fatalf("%+v", two)
	}
	s := read(t, p.Requests()[1])
	if diff := cmp.Diff([]string{"user text", "assistant thinking text tool_use tool_use", "user tool_result tool_result text text"}, s.types()); diff != "" {
		t.Fatalf("messages (-want +got):\n%s", diff)
	}
	if b := s.Messages[1].Content[0]; b.Thinking != thought || b.Signature == "" {
		t.Errorf("the thought went back as %+v", b)
	}
	results := s.Messages[2].Content
	if results[0].ToolUseID != c[0].ID || !results[0].IsError || results[1].IsError || results[2].Text != "quick" {
		t.Errorf("results %+v", results)
	}
	if s.MaxTokens != 2500 || !strings.Contains(string(s.Thinking), "2000") {
		t.Errorf("max_tokens %d, thinking %s", s.MaxTokens, s.Thinking)
	}
	if s.Tools[2].Cache == nil || s.Tools[0].Cache != nil || results[3].Cache == nil || !strings.Contains(string(s.System), "cache_control") {
		t.Errorf("cache marks: %s", p.Requests()[1].Body)
	}
	for i, want := range []string{string(tools[0].Schema), `{"type":"object","properties":{"path":{"type":"string"}}}`, `{"type":"object","properties":{}}`} {
		if got := string(s.Tools[i].InputSchema); got != want {
			t.Errorf("schema %d was sent as %s, not %s", i, got, want)
		}
	}
	// The last step has no tools; the calls of the history are still of known ones.
	r.Messages = append(r.Messages, two.Message, agent.Message{Role: agent.RoleUser, Text: "bye"})
	r.Tools = nil
	if _, err := m.Generate(t.Context(), r, nothing); err != nil {
		t.Fatal(err)
	}
	s = read(t, p.Requests()[2])
	if len(s.Tools) != 2 || s.Tools[0].Name != "search" || string(s.ToolChoice) != `{"type":"none"}` {
		t.Errorf("without tools: %s", p.Requests()[2].Body)
	}
}

// TestChangedHistory sends a turn of which room was made: without its thoughts, with other
// words, with fewer calls.
func TestChangedHistory(t *testing.T) {
	t.Parallel()
	p := scripted.New(scripted.Options{CheckSignatures: true, Script: scripted.Replies(
		scripted.Reply{Thinking: "think", Text: "some words", Calls: []scripted.Call{{Tool: "now"}, {Tool: "search"}}},
		scripted.Reply{Text: "ok"},
	)})
	server := httptest.NewServer(p)
	defer server.Close()
	m := model(t, server.URL, func(o *anthropic.Options) { o.Thinking = 1024 })
	user := agent.Message{Role: agent.RoleUser, Text: "a"}
	one, err := m.Generate(t.Context(), &agent.Request{Tools: tools, Messages: []agent.Message{user}}, nothing)
	if err != nil {
		t.Fatal(err)
	}
	with := func(change func(*agent.Message)) []string {
		t.Helper()
		message := one.Message
		message.Calls = append([]agent.Call(nil), message.Calls...)
		change(&message)
		list := []agent.Message{user, message}
		for _, c := range message.Calls {
			list = append(list, agent.Message{Role: agent.RoleTool, CallID: c.ID, Text: "b"})
		}
		if _, err := m.Generate(t.Context(), &agent.Request{Tools: tools, Messages: list}, nothing); err != nil {
			t.Fatal(err)
		}
		all := p.Requests()
		s := read(t, all[len(all)-1])
		kind := "off"
		if s.Thinking != nil {
			kind = "on"
		}
		return append(s.types()[1:2], kind)
	}
	for name, c := range map[string]struct {
		change func(*agent.Message)
		want   []string
	}{
		"as it was":   {func(*agent.Message) {}, []string{"assistant thinking text tool_use tool_use", "on"}},
		"no thoughts": {func(m *agent.Message) { m.Opaque = nil }, []string{"assistant text tool_use tool_use", "off"}},
		"another model": {func(m *agent.Message) {
			m.Opaque = json.RawMessage(strings.Replace(string(m.Opaque), "sonnet", "opus", 1))
		}, []string{"assistant text tool_use tool_use", "off"}},
		"no JSON": {func(m *agent.Message) { m.Opaque = json.RawMessage(`{"model":"claude-sonnet-4-5","blocks":[{}`) }, []string{"assistant text tool_use tool_use", "off"}},
		"nothing in it": {func(m *agent.Message) {
			m.Opaque = json.RawMessage(`{"model":"claude-sonnet-4-5","blocks":[{},{"text":-3},{"text":99},{"call":"x"}]}`)
		}, []string{"assistant text tool_use tool_use", "off"}},
		"other words":   {func(m *agent.Message) { m.Text = "some other words" }, []string{"assistant thinking text tool_use tool_use", "on"}},
		"no words":      {func(m *agent.Message) { m.Text = "" }, []string{"assistant thinking tool_use tool_use", "on"}},
		"fewer calls":   {func(m *agent.Message) { m.Calls = m.Calls[1:] }, []string{"assistant thinking text tool_use", "on"}},
		"renamed calls": {func(m *agent.Message) { m.Calls[0].ID = "call/x" }, []string{"assistant thinking text tool_use tool_use", "on"}},
	} {
		if diff := cmp.Diff(c.want, with(c.change)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestStrictHistory sends what other models and cut conversations leave behind, to Anthropic
// and to Bedrock's rules.
func TestStrictHistory(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long.id:", 10)
	messages := []agent.Message{
		{Role: agent.RoleUser, Text: ""},
		{Role: agent.RoleUser, Text: "b"},
		{Role: agent.RoleAssistant, Text: "\n"},
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
	for name, bedrock := range map[string]bool{"anthropic": false, "bedrock": true} {
		p := scripted.New(scripted.Options{Bedrock: bedrock})
		server := httptest.NewServer(p)
		if _, err := model(t, server.URL, nil).Generate(t.Context(), &agent.Request{System: " ", Messages: messages, Tools: tools}, nothing); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		server.Close()
		s := read(t, p.Requests()[0])
		if strings.Contains(string(p.Requests()[0].Body), "theirs") {
			t.Error("the thoughts of another model were sent")
		}
		if diff := cmp.Diff([]string{"user text", "assistant text tool_use tool_use tool_use", "user tool_result tool_result tool_result", "assistant text text"}, s.types()); diff != "" {
			t.Fatalf("messages (-want +got):\n%s", diff)
		}
		if calls := s.Messages[1].Content[1:]; calls[0].ID != s.Messages[2].Content[0].ToolUseID || string(calls[0].Input) != `{"_not_an_object":"{\"a\":"}` || string(calls[2].Input) != "{}" {
			t.Errorf("calls %+v", calls)
		}
		if got := s.Messages[3].Content[1].Text; got != "two" {
			t.Errorf("the last text is %q", got)
		}
		if s.System != nil || s.MaxTokens != 16_384 {
			t.Errorf("system %s, max_tokens %d", s.System, s.MaxTokens)
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("ANTHROPIC_CONFIG_DIR", t.TempDir())
	for name, value := range map[string]string{
		"ANTHROPIC_API_KEY": "sk-environment", "ANTHROPIC_AUTH_TOKEN": "environment", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1",
		"ANTHROPIC_PROFILE": "environment", "ANTHROPIC_CUSTOM_HEADERS": "X-Environment: environment",
	} {
		t.Setenv(name, value)
	}
	p := scripted.New(scripted.Options{})
	server := httptest.NewServer(p)
	defer server.Close()
	m := model(t, server.URL, func(o *anthropic.Options) { o.Key, o.Header = "", map[string]string{"X-Team": "seven"} })
	if _, err := m.Generate(t.Context(), &agent.Request{Messages: []agent.Message{{Role: agent.RoleUser, Text: "a"}}}, nothing); err != nil {
		t.Fatal(err)
	}
	header := p.Requests()[0].Header
	for name, values := range header {
		if name == "Authorization" || name == "X-Api-Key" || strings.Contains(strings.Join(values, " "), "environment") {
			t.Errorf("sent %s: %v", name, values)
		}
	}
	if header.Get("X-Team") != "seven" || header.Get("Anthropic-Version") == "" {
		t.Errorf("sent %v", header)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o    anthropic.Options
		want string
	}{
		"no model": {anthropic.Options{BaseURL: "http://h"}, "Model"},
		"no key":   {anthropic.Options{Model: "m"}, "Key"},
		"thinking": {anthropic.Options{BaseURL: "http://h", Model: "m", Thinking: 5}, "1024"},
		"extra":    {anthropic.Options{BaseURL: "http://h", Model: "m", Extra: map[string]json.RawMessage{"x": nil}}, "Extra"},
		"negative": {anthropic.Options{BaseURL: "http://h", Model: "m", MaxOutput: -1}, "negative"},
		"header":   {anthropic.Options{BaseURL: "http://h", Model: "m", Header: map[string]string{"": "c"}}, "header"},
		"address":  {anthropic.Options{BaseURL: "h", Model: "m"}, "http://"},
	} {
		if _, err := anthropic.New(c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	m, err := anthropic.New(anthropic.Options{BaseURL: "https://api.deepseek.com/anthropic/v1/messages", Model: "m", Window: 7, Standin: true})
	if err != nil {
		t.Fatal(err)
	}
	want := agent.ModelInfo{Provider: "deepseek", Name: "m", URL: "https://api.deepseek.com/anthropic", Window: 7, Standin: true}
	if diff := cmp.Diff(want, m.Info()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLimits: max_tokens is demanded; it goes by the request, the options, the model.
func TestLimits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o    anthropic.Options
		ask  int
		want int
	}{
		"request":         {anthropic.Options{Model: "claude-sonnet-4-5"}, 77, 77},
		"request, capped": {anthropic.Options{Model: "claude-sonnet-4-5", MaxOutput: 50}, 77, 50},
		"options":         {anthropic.Options{Model: "claude-sonnet-4-5", MaxOutput: 50}, 0, 50},
		"a small model":   {anthropic.Options{Model: "claude-3-haiku-20240307"}, 0, 4096},
		"unknown":         {anthropic.Options{Model: "nobody-knows-it"}, 0, 8192},
		"thinking":        {anthropic.Options{Model: "claude-sonnet-4-5", Thinking: -1}, 77, 77},
	} {
		p := scripted.New(scripted.Options{})
		server := httptest.NewServer(p)
		m := model(t, server.URL, func(o *anthropic.Options) { *o = c.o; o.BaseURL = server.URL })
		if _, err := m.Generate(t.Context(), &agent.Request{MaxOutput: c.ask, Messages: []agent.Message{{Role: agent.RoleUser, Text: "a"}}}, nothing); err != nil {
			t.Fatal(err)
		}
		server.Close()
		s := read(t, p.Requests()[0])
		if s.MaxTokens != c.want {
			t.Errorf("%s: max_tokens is %d, not %d", name, s.MaxTokens, c.want)
		}
		if name == "thinking" && string(s.Thinking) != `{"type":"adaptive"}` {
			t.Errorf("thinking %s", s.Thinking)
		}
	}
}
