package anthropic_test

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/anthropic"
	"github.com/plimsoll/plimsoll/internal/testing/adapters"
	"github.com/plimsoll/plimsoll/internal/testing/scripted"
)

// wire is the protocol, as the tests of all adapters ask for it.
var wire = adapters.Wire{
	New: func(o adapters.Options) (agent.Model, error) {
		return anthropic.New(anthropic.Options{
			BaseURL: o.URL, Key: o.Key, Model: o.Model, HTTPClient: o.Client, Header: o.Header, Extra: o.Extra, MaxOutput: o.MaxOutput,
		})
	},
	Model: "claude-sonnet-4-5",
	Environment: []string{
		"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_PROFILE", "ANTHROPIC_CUSTOM_HEADERS",
	},
	Begin: begin + textBlock, Word: word, End: end,
	Interleaved: true,
}

func TestAdapter(t *testing.T) {
	t.Setenv("ANTHROPIC_CONFIG_DIR", t.TempDir())
	adapters.Test(t, wire)
}

func model(t *testing.T, o anthropic.Options) *anthropic.Model {
	t.Helper()
	o.Key = adapters.Key
	if o.Model == "" {
		o.Model = wire.Model
	}
	m, err := anthropic.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
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
	tools := adapters.Tools()
	c, requests := adapters.Talk{
		Model:    func(url string) agent.Model { return model(t, anthropic.Options{BaseURL: url + "/v1", Thinking: 2000}) },
		Provider: scripted.Options{Key: adapters.Key, CheckSignatures: true},
		Tools:    tools, Sent: "now", Thoughts: [2]string{thought, "good"},
		Between: true,
	}.Hold(t)
	s := read(t, requests[1])
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
		t.Errorf("cache marks: %s", requests[1].Body)
	}
	for i, want := range []string{string(tools[0].Schema), `{"type":"object","properties":{"path":{"type":"string"}}}`, `{"type":"object","properties":{}}`} {
		if got := string(s.Tools[i].InputSchema); got != want {
			t.Errorf("schema %d was sent as %s, not %s", i, got, want)
		}
	}
	s = read(t, requests[2])
	if len(s.Tools) != 2 || s.Tools[0].Name != "search" || string(s.ToolChoice) != `{"type":"none"}` {
		t.Errorf("without tools: %s", requests[2].Body)
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
	tools := adapters.Tools()
	m := model(t, anthropic.Options{BaseURL: server.URL, Thinking: 1024})
	user := agent.Message{Role: agent.RoleUser, Text: "a"}
	one, err := m.Generate(t.Context(), &agent.Request{Tools: tools, Messages: []agent.Message{user}}, adapters.Ignore)
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
		if _, err := m.Generate(t.Context(), &agent.Request{Tools: tools, Messages: list}, adapters.Ignore); err != nil {
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
	for name, bedrock := range map[string]bool{"anthropic": false, "bedrock": true} {
		p := scripted.New(scripted.Options{Bedrock: bedrock})
		server := httptest.NewServer(p)
		if _, err := model(t, anthropic.Options{BaseURL: server.URL}).Generate(t.Context(), &agent.Request{System: " ", Messages: adapters.History(), Tools: adapters.Tools()}, adapters.Ignore); err != nil {
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

func TestOptions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o    anthropic.Options
		want string
	}{
		"thinking": {anthropic.Options{BaseURL: "http://h", Model: "m", Thinking: 5}, "1024"},
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
		c.o.BaseURL = server.URL
		m := model(t, c.o)
		if _, err := m.Generate(t.Context(), &agent.Request{MaxOutput: c.ask, Messages: []agent.Message{{Role: agent.RoleUser, Text: "a"}}}, adapters.Ignore); err != nil {
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
