package clouds

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/anthropic"
	"github.com/plimsoll/plimsoll/internal/eventstream"
	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/window/wire"
)

// nova is a model that another maker than Anthropic has at Bedrock, asked at url.
func nova(t *testing.T, url string, o anthropic.Options) agent.Model {
	t.Helper()
	o.BaseURL, o.Model, o.Provider = url, "eu.amazon.nova-pro-v1:0", "bedrock"
	o.HTTPClient = &http.Client{Transport: Bedrock{Credentials: aws.CredentialsProviderFunc(keys), Region: "eu-west-1", Converse: true}}
	m, err := anthropic.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestConverse: a turn of calls at a provider that refuses what Bedrock refuses, and reads back what it said before.
func TestConverse(t *testing.T) {
	t.Parallel()
	var bodies []map[string]any
	p := scripted.New(scripted.Options{Script: scripted.Replies(
		scripted.Reply{Thinking: "First I look.", Text: "I look.", Calls: []scripted.Call{{Tool: "look", Args: map[string]any{"at": "<hull>"}}, {Tool: "look", Args: map[string]any{}}}},
		scripted.Reply{Text: "A ship's body."},
	)})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		var body map[string]any
		if err == nil {
			err = errors.Join(json.Unmarshal(raw, &body), signedWell(r, raw), wire.Validate(wire.Converse, raw))
		}
		if want := "/model/eu.amazon.nova-pro-v1%3A0/converse-stream"; err != nil || r.RequestURI != want {
			t.Errorf("%s: %v\n%s", r.RequestURI, err, raw)
		}
		bodies = append(bodies, body)
		r.Body = io.NopCloser(strings.NewReader(string(raw)))
		p.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	m := nova(t, s.URL, anthropic.Options{Extra: map[string]json.RawMessage{"temperature": []byte("0.5"), "top_k": []byte("7")}})
	r := &agent.Request{
		System: "Be brief.", Messages: []agent.Message{{Role: agent.RoleUser, Text: "What is <a> hull?"}},
		Tools: []agent.ToolSpec{{Name: "look", Schema: json.RawMessage(`{"type":"object"}`)}}, MaxOutput: 100,
	}
	var text strings.Builder
	reply, err := m.Generate(t.Context(), r, func(s string) { text.WriteString(s) })
	if err != nil {
		t.Fatal(err)
	}
	if calls := reply.Message.Calls; text.String() != "I look." || reply.Stop != agent.StopCalls || len(calls) != 2 || !strings.Contains(calls[0].Arguments, "hull") || reply.Usage.Input == 0 || reply.Usage.Output == 0 {
		t.Fatalf("%+v", reply)
	}
	r = &agent.Request{
		System: r.System, Tools: r.Tools, MaxOutput: 100,
		Messages: []agent.Message{
			r.Messages[0], reply.Message,
			{Role: agent.RoleTool, CallID: reply.Message.Calls[0].ID, Text: "wet"},
			{Role: agent.RoleTool, CallID: reply.Message.Calls[1].ID, Text: "no such place", Failed: true},
		},
	}
	reply, err = m.Generate(t.Context(), r, func(string) {})
	if err != nil || reply.Message.Text != "A ship's body." || reply.Stop != agent.StopEnd {
		t.Fatalf("%+v, %v", reply, err)
	}
	got, err := json.Marshal(bodies[1])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"inferenceConfig":{"maxTokens":100,"temperature":0.5}`, `"additionalModelRequestFields":{"top_k":7}`, `"system":[{"text":"Be brief."}]`,
		`"toolConfig":{"tools":[{"toolSpec":{"inputSchema":{"json":{"properties":{},"type":"object"}},"name":"look"}}]}`,
		`"reasoningText":{"signature":`, `"status":"error"`,
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	for _, not := range []string{"cache", "anthropic", `"stream"`} {
		if strings.Contains(string(got), not) {
			t.Errorf("%s in\n%s", not, got)
		}
	}
}

// TestConverseEnds: what ends an answer early is told as for every other model.
func TestConverseEnds(t *testing.T) {
	t.Parallel()
	begin := string(eventstream.Event("messageStart", []byte(`{"role":"assistant"}`))) +
		string(eventstream.Event("contentBlockDelta", []byte(`{"contentBlockIndex":0,"delta":{"text":"A"}}`)))
	stop := func(reason string) string {
		return begin + string(eventstream.Event("messageStop", []byte(`{"stopReason":"`+reason+`"}`)))
	}
	for name, c := range map[string]struct {
		stream  string
		stop    agent.Stop
		failure agent.Failure
	}{
		"without usage": {stop("end_turn"), agent.StopEnd, ""},
		"length":        {stop("max_tokens"), agent.StopLength, ""},
		"window":        {stop("model_context_window_exceeded"), agent.StopOverflow, ""},
		"guardrail":     {stop("guardrail_intervened"), agent.StopRefused, ""},
		"filter":        {stop("content_filtered"), agent.StopRefused, ""},
		"broken off":    {begin, "", agent.Broken},
		"too long":      {begin + string(eventstream.Exception("validationException", []byte(`{"message":"Input is too long for requested model."}`))), "", agent.TooLong},
		"busy":          {begin + string(eventstream.Exception("throttlingException", []byte(`{"message":"slow down"}`))), "", agent.Busy},
		"no JSON":       {begin + string(eventstream.Event("contentBlockDelta", []byte(`{"delta":`))), "", agent.Broken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(*http.Request, []byte) error { return nil }, eventstream.Type, []byte(c.stream))
			reply, err := ask(t, nova(t, s.URL, anthropic.Options{}))
			if c.failure == "" {
				if err != nil || reply.Stop != c.stop || reply.Message.Text != "A" {
					t.Errorf("%+v, %v", reply, err)
				}
				return
			}
			if e, ok := errors.AsType[*agent.ModelError](err); !ok || e.Failure != c.failure {
				t.Errorf("%v", err)
			}
		})
	}
}
