package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/openai"
	"github.com/plimsoll/plimsoll/internal/testing/scripted"
)

var tools = []agent.ToolSpec{
	{Name: "search", Description: "Finds things.", Schema: json.RawMessage(`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}}}`)},
	{Name: "files.read", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"anyOf":[{"required":["path"]}]}`)},
	{Name: "now"},
}

func nothing(string) {}

func model(t *testing.T, url string, change func(*openai.Options)) *openai.Model {
	t.Helper()
	o := openai.Options{BaseURL: url + "/v1", Key: "sk-test-secret-key", Model: "gpt-5.1"}
	if change != nil {
		change(&o)
	}
	m, err := openai.New(o)
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

func TestConversation(t *testing.T) {
	t.Parallel()
	p := scripted.New(scripted.Options{Key: "sk-test-secret-key", Script: scripted.Replies(
		scripted.Reply{Thinking: "hm, both at once", Text: "I look.", Calls: []scripted.Call{
			{Tool: "search", Args: map[string]any{"z": "needle ✓", "a": 3}},
			{Tool: "now"},
		}},
		scripted.Reply{Text: "Found: needle ✓."},
	)})
	server := httptest.NewServer(p)
	defer server.Close()
	m := model(t, server.URL, nil)
	var text strings.Builder
	r := &agent.Request{
		System: "You search.", Tools: tools, MaxOutput: 500, Session: "one",
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
	if c[0].Name != "search" || c[0].Arguments != `{"a":3,"z":"needle ✓"}` || c[1].Name != "now" || c[1].Arguments != "{}" || c[0].ID == c[1].ID || c[0].ID == "" {
		t.Fatalf("calls %+v", c)
	}
	if one.Usage.Input == 0 || one.Usage.Output == 0 {
		t.Fatalf("usage %+v", one.Usage)
	}
	r.Messages = append(r.Messages, one.Message,
		agent.Message{Role: agent.RoleTool, CallID: c[0].ID, Name: "search", Text: "needle ✓"},
		agent.Message{Role: agent.RoleTool, CallID: c[1].ID, Name: "now"},
	)
	two, err := m.Generate(t.Context(), r, nothing)
	if err != nil {
		t.Fatal(err)
	}
	if two.Stop != agent.StopEnd || two.Message.Text != "Found: needle ✓." || two.Usage.Cached == 0 || two.Usage.Cached > two.Usage.Input {
		t.Fatalf("%+v", two)
	}
	var sent struct {
		MaxTokens int    `json:"max_tokens"`
		CacheKey  string `json:"prompt_cache_key"`
		Stream    bool
		Options   struct {
			Usage bool `json:"include_usage"`
		} `json:"stream_options"`
		Tools []struct {
			Function struct {
				Name       string
				Parameters json.RawMessage
			}
		}
		Messages []map[string]any
	}
	body := p.Requests()[1].Body
	if err := json.Unmarshal(body, &sent); err != nil {
		t.Fatal(err)
	}
	if sent.MaxTokens != 500 || !sent.Stream || !sent.Options.Usage || sent.CacheKey != "" {
		t.Fatalf("sent %s", body)
	}
	if got := string(sent.Tools[0].Function.Parameters); got != string(tools[0].Schema) {
		t.Errorf("the schema was sent as %s", got)
	}
	if got := string(sent.Tools[1].Function.Parameters); got != `{"type":"object","properties":{"path":{"type":"string"}}}` {
		t.Errorf("a schema with anyOf at its top was sent as %s", got)
	}
	if name := sent.Tools[1].Function.Name; !strings.HasPrefix(name, "files_read_") {
		t.Errorf("files.read was sent as %q", name)
	}
	// Nobody knows whose service this is: the thought goes back with the calls it led to.
	if got := sent.Messages[2]["reasoning_content"]; got != "hm, both at once" {
		t.Errorf("the thought came back as %v", got)
	}
	if got := sent.Messages[4]["content"]; got != "(no output)" {
		t.Errorf("an empty result was sent as %q", got)
	}
}

func TestMadeNames(t *testing.T) {
	t.Parallel()
	p := scripted.New(scripted.Options{Script: func(_ int, r *scripted.Request) scripted.Reply {
		return scripted.Reply{Calls: []scripted.Call{{Tool: r.Tools[1].Name, Args: map[string]string{"path": "x"}}}}
	}})
	server := httptest.NewServer(p)
	defer server.Close()
	one, err := model(t, server.URL, nil).Generate(t.Context(), &agent.Request{Tools: tools, Messages: []agent.Message{{Role: agent.RoleUser, Text: "read"}}}, nothing)
	if err != nil {
		t.Fatal(err)
	}
	if got := one.Message.Calls[0].Name; got != "files.read" {
		t.Errorf("the call is of %q, not of the tool's own name", got)
	}
}

// TestStrictHistory sends what other models and cut conversations leave behind.
func TestStrictHistory(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long.id:", 10)
	messages := []agent.Message{
		{Role: agent.RoleUser, Text: "a"},
		{Role: agent.RoleUser, Text: "b"},
		{Role: agent.RoleAssistant},
		{Role: agent.RoleAssistant, Calls: []agent.Call{
			{ID: long, Name: "search", Arguments: `{"a": `},
			{ID: "two", Name: "", Arguments: `[1,2]`},
			{ID: "three", Name: strings.Repeat("x", 100), Arguments: ""},
		}, Opaque: json.RawMessage(`{"model":"another","member":"reasoning_content","reasoning":"theirs"}`)},
		{Role: agent.RoleTool, CallID: long, Text: "not JSON", Failed: true},
		{Role: agent.RoleTool, CallID: "two", Text: "x\x00\xffy"},
		{Role: agent.RoleTool, CallID: "three", Text: "ok"},
		{Role: agent.RoleUser, Text: "go on"},
	}
	for _, provider := range []string{"", "openai", "mistral", "kimi", "deepseek"} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			p := scripted.New(scripted.Options{})
			server := httptest.NewServer(p)
			defer server.Close()
			m := model(t, server.URL, func(o *openai.Options) { o.Provider = provider })
			if _, err := m.Generate(t.Context(), &agent.Request{System: " ", Messages: messages, Tools: tools, MaxOutput: 9, Session: "s"}, nothing); err != nil {
				t.Fatal(err)
			}
			body := p.Requests()[0].Body
			var sent struct {
				CacheKey   string `json:"prompt_cache_key"`
				Completion int    `json:"max_completion_tokens"`
				Max        int    `json:"max_tokens"`
				Messages   []struct {
					ID        string `json:"tool_call_id"`
					ToolCalls []struct {
						ID       string
						Function struct{ Name, Arguments string }
					} `json:"tool_calls"`
				}
			}
			if err := json.Unmarshal(body, &sent); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(body), "theirs") {
				t.Error("the thoughts of another model were sent")
			}
			calls := sent.Messages[2].ToolCalls
			if calls[0].ID != sent.Messages[3].ID {
				t.Errorf("a call is %q, its result %q", calls[0].ID, sent.Messages[3].ID)
			}
			var arguments []string
			for _, c := range calls {
				arguments = append(arguments, c.Function.Arguments)
				if n := len(c.Function.Name); n == 0 || n > 64 {
					t.Errorf("the name %q was sent", c.Function.Name)
				}
			}
			if diff := cmp.Diff([]string{`{"_not_an_object":"{\"a\":"}`, `{"_not_an_object":"[1,2]"}`, "{}"}, arguments); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
			switch n := len(calls[0].ID); {
			case provider == "openai" && (n > 40 || sent.CacheKey == "" || sent.Completion != 9):
				t.Errorf("openai: id of %d bytes, cache key %q, max %d", n, sent.CacheKey, sent.Completion)
			case provider == "mistral" && (n != 9 || sent.Max != 9):
				t.Errorf("mistral: id of %d bytes", n)
			case provider == "kimi" && calls[0].ID != long:
				t.Errorf("kimi: the id is %q", calls[0].ID)
			}
		})
	}
}

func TestThoughtsThatMustGoBack(t *testing.T) {
	t.Parallel()
	for provider, want := range map[string][2]any{
		"kimi":     {"think", ""},
		"deepseek": {"think", ""},
		"glm":      {"think", nil},
		"openai":   {nil, nil},
		"groq":     {nil, nil},
	} {
		p := scripted.New(scripted.Options{Script: scripted.Replies(
			scripted.Reply{Thinking: "think", Calls: []scripted.Call{{Tool: "now"}}},
			scripted.Reply{Text: "done"},
		)})
		server := httptest.NewServer(p)
		m := model(t, server.URL, func(o *openai.Options) { o.Provider = provider })
		r := &agent.Request{Tools: tools, Messages: []agent.Message{{Role: agent.RoleUser, Text: "a"}}}
		one, err := m.Generate(t.Context(), r, nothing)
		if err != nil {
			t.Fatal(err)
		}
		r.Messages = append(r.Messages, one.Message, agent.Message{Role: agent.RoleTool, CallID: one.Message.Calls[0].ID, Text: "12:00"},
			agent.Message{Role: agent.RoleAssistant, Calls: []agent.Call{{ID: "b", Name: "now", Arguments: "{}"}}},
			agent.Message{Role: agent.RoleTool, CallID: "b", Text: "12:01"})
		if _, err := m.Generate(t.Context(), r, nothing); err != nil {
			t.Fatal(err)
		}
		var sent struct{ Messages []map[string]any }
		if err := json.Unmarshal(p.Requests()[1].Body, &sent); err != nil {
			t.Fatal(err)
		}
		if got := [2]any{sent.Messages[1]["reasoning_content"], sent.Messages[3]["reasoning_content"]}; got != want {
			t.Errorf("%s: got back %v, want %v", provider, got, want)
		}
		server.Close()
	}
}

// TestEnvironment: the key and address of somebody else's variables are not used.
func TestEnvironment(t *testing.T) {
	for name, value := range map[string]string{
		"OPENAI_API_KEY": "sk-environment", "OPENAI_BASE_URL": "http://127.0.0.1:1", "OPENAI_ORG_ID": "org-environment",
		"OPENAI_PROJECT_ID": "proj-environment", "OPENAI_ADMIN_KEY": "sk-admin-environment", "OPENAI_CUSTOM_HEADERS": "X-Environment: environment",
	} {
		t.Setenv(name, value)
	}
	p := scripted.New(scripted.Options{})
	server := httptest.NewServer(p)
	defer server.Close()
	m := model(t, server.URL, func(o *openai.Options) { o.Key = "" })
	if _, err := m.Generate(t.Context(), &agent.Request{Messages: []agent.Message{{Role: agent.RoleUser, Text: "a"}}}, nothing); err != nil {
		t.Fatal(err)
	}
	for name, values := range p.Requests()[0].Header {
		if name == "Authorization" || strings.Contains(strings.Join(values, " "), "environment") {
			t.Errorf("sent %s: %v", name, values)
		}
	}
	if _, err := openai.New(openai.Options{Model: "gpt-5.1"}); err == nil || !strings.Contains(err.Error(), "Key") {
		t.Errorf("OpenAI without a key: %v", err)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o    openai.Options
		want string
	}{
		"no model":    {openai.Options{BaseURL: "http://h"}, "Model"},
		"no scheme":   {openai.Options{BaseURL: "localhost:8080", Model: "m"}, "http://"},
		"no URL":      {openai.Options{BaseURL: "http://u:hunter22@[::1", Model: "m"}, "no URL"},
		"query":       {openai.Options{BaseURL: "http://h/v1?key=hunter22", Model: "m"}, "query"},
		"member":      {openai.Options{BaseURL: "http://h", Model: "m", OutputMember: "n"}, "OutputMember"},
		"extra":       {openai.Options{BaseURL: "http://h", Model: "m", Extra: map[string]json.RawMessage{"x": json.RawMessage("{")}}, "Extra"},
		"negative":    {openai.Options{BaseURL: "http://h", Model: "m", Window: -1}, "negative"},
		"two keys":    {openai.Options{BaseURL: "http://h", Model: "m", Key: "hunter22 hunter23"}, "space"},
		"header":      {openai.Options{BaseURL: "http://h", Model: "m", Header: map[string]string{"X-A": "hunter22\r\nX-B: c"}}, "X-A"},
		"header name": {openai.Options{BaseURL: "http://h", Model: "m", Header: map[string]string{"X A": "c"}}, "X A"},
	} {
		_, err := openai.New(c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%s: %v", name, err)
		}
	}
	m, err := openai.New(openai.Options{BaseURL: "https://user:hunter22@api.groq.com/openai/v1/chat/completions", Model: "m", Window: 7, MaxOutput: 5, Standin: true})
	if err != nil {
		t.Fatal(err)
	}
	want := agent.ModelInfo{Provider: "groq", Name: "m", URL: "https://api.groq.com/openai/v1", Window: 7, MaxOutput: 5, Standin: true}
	if diff := cmp.Diff(want, m.Info()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestExtraAndHeader(t *testing.T) {
	t.Parallel()
	p := scripted.New(scripted.Options{})
	server := httptest.NewServer(p)
	defer server.Close()
	m := model(t, server.URL, func(o *openai.Options) {
		o.Extra = map[string]json.RawMessage{"reasoning_effort": json.RawMessage(`"high"`), "a.b": json.RawMessage(`[1]`)}
		o.Header = map[string]string{"X-Team": "seven", "Authorization": "Bearer other"}
		o.OutputMember = "max_completion_tokens"
	})
	if _, err := m.Generate(t.Context(), &agent.Request{MaxOutput: 3, Messages: []agent.Message{{Role: agent.RoleUser, Text: "a"}}}, nothing); err != nil {
		t.Fatal(err)
	}
	r := p.Requests()[0]
	var sent map[string]any
	if err := json.Unmarshal(r.Body, &sent); err != nil {
		t.Fatal(err)
	}
	if sent["reasoning_effort"] != "high" || sent["a.b"] == nil || sent["max_completion_tokens"] != 3.0 || r.Header.Get("X-Team") != "seven" || r.Header.Get("Authorization") != "Bearer other" {
		t.Errorf("sent %s with %v", r.Body, r.Header)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Write([]byte("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"one\"}}]}\n\n"))
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	}))
	defer server.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := model(t, server.URL, nil).Generate(ctx, &agent.Request{Messages: []agent.Message{{Role: agent.RoleUser, Text: "a"}}}, func(string) { cancel(errors.New("enough")) })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v, not the context's", err)
	}
	<-gone
}
