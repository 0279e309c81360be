package openai_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/openai"
	"github.com/plimsoll/plimsoll/internal/testing/adapters"
	"github.com/plimsoll/plimsoll/internal/testing/scripted"
)

// wire is the protocol, as the tests of all adapters ask for it.
var wire = adapters.Wire{
	New: func(o adapters.Options) (agent.Model, error) {
		if o.URL != "" {
			o.URL += "/v1"
		}
		return openai.New(openai.Options{
			BaseURL: o.URL, Key: o.Key, Model: o.Model, HTTPClient: o.Client, Header: o.Header, Extra: o.Extra, MaxOutput: o.MaxOutput,
		})
	},
	Model: "gpt-5.1",
	Environment: []string{
		"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY", "OPENAI_CUSTOM_HEADERS",
	},
	Begin: "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\n",
	Word: func(s string) string {
		return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", s)
	},
	End: "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
}

func TestAdapter(t *testing.T) { adapters.Test(t, wire) }

func model(t *testing.T, o openai.Options) *openai.Model {
	t.Helper()
	o.Key, o.Model = adapters.Key, "gpt-5.1"
	o.BaseURL += "/v1"
	m, err := openai.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestConversation(t *testing.T) {
	t.Parallel()
	tools := adapters.Tools()
	tools[1].Schema = json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"anyOf":[{"required":["path"]}]}`)
	_, requests := adapters.Talk{
		Model:    func(url string) agent.Model { return model(t, openai.Options{BaseURL: url}) },
		Provider: scripted.Options{Key: adapters.Key},
		Tools:    tools, Sent: "now", Thoughts: [2]string{"hm, both at once", ""},
	}.Hold(t)
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
	body := requests[1].Body
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
	one, err := model(t, openai.Options{BaseURL: server.URL}).Generate(t.Context(), &agent.Request{Tools: adapters.Tools(), Messages: []agent.Message{{Role: agent.RoleUser, Text: "read"}}}, adapters.Ignore)
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
	history := adapters.History()
	id := history[4].Calls[0].ID
	for _, provider := range []string{"", "openai", "mistral", "kimi", "deepseek"} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			p := scripted.New(scripted.Options{})
			server := httptest.NewServer(p)
			defer server.Close()
			m := model(t, openai.Options{BaseURL: server.URL, Provider: provider})
			if _, err := m.Generate(t.Context(), &agent.Request{System: " ", Messages: history, Tools: adapters.Tools(), MaxOutput: 9, Session: "s"}, adapters.Ignore); err != nil {
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
			case provider == "kimi" && calls[0].ID != id:
				t.Errorf("kimi: the id is %q", calls[0].ID)
			}
		})
	}
}

func TestThoughtsThatMustGoBack(t *testing.T) {
	t.Parallel()
	for provider, want := range map[string][4]any{
		"kimi":               {"think", " ", " ", " "},
		"deepseek":           {"think", " ", " ", " "},
		"kimi, thinking off": {"think", nil, nil, nil},
		"glm":                {"think", nil, nil, nil},
		"openai":             {nil, nil, nil, nil},
		"groq":               {nil, nil, nil, nil},
	} {
		p := scripted.New(scripted.Options{Script: scripted.Replies(
			scripted.Reply{Thinking: "think", Calls: []scripted.Call{{Tool: "now"}}},
			scripted.Reply{Thinking: "so", Text: "done"},
			scripted.Reply{Thinking: "so", Text: "done"},
		)})
		server := httptest.NewServer(p)
		var extra map[string]json.RawMessage
		if name, ok := strings.CutSuffix(provider, ", thinking off"); ok {
			provider, extra = name, map[string]json.RawMessage{"thinking": json.RawMessage(`{"type":"disabled"}`)}
		}
		m := model(t, openai.Options{BaseURL: server.URL, Provider: provider, Extra: extra})
		r := adapters.Ask("a")
		r.Tools = adapters.Tools()
		one, err := m.Generate(t.Context(), r, adapters.Ignore)
		if err != nil {
			t.Fatal(err)
		}
		r.Messages = append(r.Messages, one.Message, agent.Message{Role: agent.RoleTool, CallID: one.Message.Calls[0].ID, Text: "12:00"},
			agent.Message{Role: agent.RoleAssistant, Calls: []agent.Call{{ID: "b", Name: "now", Arguments: "{}"}}},
			agent.Message{Role: agent.RoleTool, CallID: "b", Text: "12:01"})
		if one, err = m.Generate(t.Context(), r, adapters.Ignore); err != nil {
			t.Fatal(err)
		}
		r.Messages = append(r.Messages, one.Message, agent.Message{Role: agent.RoleUser, Text: "b"}, agent.Message{Role: agent.RoleAssistant, Text: "another model's"}, agent.Message{Role: agent.RoleUser, Text: "c"})
		if _, err := m.Generate(t.Context(), r, adapters.Ignore); err != nil {
			t.Fatal(err)
		}
		var sent struct{ Messages []map[string]any }
		if err := json.Unmarshal(p.Requests()[2].Body, &sent); err != nil {
			t.Fatal(err)
		}
		var got [4]any
		for i, message := range []int{1, 3, 5, 7} {
			got[i] = sent.Messages[message]["reasoning_content"]
		}
		if got != want {
			t.Errorf("%s: got back %v, want %v", provider, got, want)
		}
		server.Close()
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	if _, err := openai.New(openai.Options{BaseURL: "http://h", Model: "m", OutputMember: "n"}); err == nil || !strings.Contains(err.Error(), "OutputMember") {
		t.Errorf("an unknown member: %v", err)
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
	m := model(t, openai.Options{
		BaseURL:      server.URL,
		Extra:        map[string]json.RawMessage{"reasoning_effort": json.RawMessage(`"high"`), "a.b": json.RawMessage(`[1]`)},
		Header:       map[string]string{"X-Team": "seven", "Authorization": "Bearer other"},
		OutputMember: "max_completion_tokens",
	})
	if _, err := m.Generate(t.Context(), &agent.Request{MaxOutput: 3, Messages: []agent.Message{{Role: agent.RoleUser, Text: "a"}}}, adapters.Ignore); err != nil {
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
