package proxy

import (
	"net/http"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/window/wire"
)

func routed(p *Proxy, method, path string) (*route, bool) {
	up, below, ok := p.findUpstream(path)
	if !ok {
		return nil, false
	}
	rt := &route{up: up, below: below}
	rt.classify(method)
	return rt, true
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	p, err := New(Options{Upstreams: []Upstream{
		{Name: "openai", URL: "https://api.openai.com/v1"},
		{Name: "anthropic", URL: "https://api.anthropic.com"},
		{Name: "gemini", URL: "https://generativelanguage.googleapis.com/"},
		{Name: "vertex", URL: "https://us-east5-aiplatform.googleapis.com"},
		{Name: "azure", URL: "https://res.openai.azure.com"},
		{Name: "bedrock", URL: "https://bedrock-runtime.us-east-1.amazonaws.com"},
		{Name: "router", Provider: OpenAI, URL: "https://openrouter.ai/api/v1"},
		{Name: "codex", Provider: OpenAI, URL: "https://chatgpt.com/backend-api/codex"},
		{Name: "glm", Provider: Anthropic, URL: "https://api.z.ai/api/anthropic"},
		{Name: "slip", Provider: Anthropic, URL: "https://x/v1"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path    string
		url     string
		dialect wire.Dialect // 0: no model request
		model   string
		stream  bool
	}{
		{"/openai/v1/chat/completions", "https://api.openai.com/v1/chat/completions", wire.Chat, "", false},
		{"/openai/chat/completions", "https://api.openai.com/v1/chat/completions", wire.Chat, "", false},
		{"/openai/v1/responses", "https://api.openai.com/v1/responses", wire.Responses, "", false},
		{"/openai/v1/responses/", "https://api.openai.com/v1/responses/", wire.Responses, "", false},
		{"/openai/v1/responses/compact", "https://api.openai.com/v1/responses/compact", 0, "", false},
		{"/openai/v1/responses/input_tokens", "https://api.openai.com/v1/responses/input_tokens", 0, "", false},
		{"/openai/v1/completions", "https://api.openai.com/v1/completions", 0, "", false},
		{"/openai/v1/embeddings", "https://api.openai.com/v1/embeddings", 0, "", false},
		{"/openai/v1/threads/t_1/messages", "https://api.openai.com/v1/threads/t_1/messages", 0, "", false},
		{"/openai/v1", "https://api.openai.com/v1", 0, "", false},
		{"/openai/", "https://api.openai.com/v1/", 0, "", false},
		{"/codex/responses", "https://chatgpt.com/backend-api/codex/responses", wire.Responses, "", false},
		{"/codex/v1/responses", "https://chatgpt.com/backend-api/codex/responses", wire.Responses, "", false},
		{"/router/v1/messages", "https://openrouter.ai/api/v1/messages", wire.Messages, "", false},
		{"/anthropic/v1/messages", "https://api.anthropic.com/v1/messages", wire.Messages, "", false},
		{"/anthropic/v1/messages/count_tokens", "https://api.anthropic.com/v1/messages/count_tokens", 0, "", false},
		{"/anthropic/v1/messages/batches", "https://api.anthropic.com/v1/messages/batches", 0, "", false},
		{"/gemini/v1beta/interactions", "https://generativelanguage.googleapis.com/v1beta/interactions", 0, "", false},
		{"/anthropic/", "https://api.anthropic.com/", 0, "", false},
		{"/glm/v1/messages", "https://api.z.ai/api/anthropic/v1/messages", wire.Messages, "", false},
		{"/slip/v1/messages", "https://x/v1/messages", wire.Messages, "", false},
		{"/gemini/v1beta/models/gemini-2.5-pro:generateContent", "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:generateContent", wire.Gemini, "gemini-2.5-pro", false},
		{"/gemini/v1/models/gemini-2.5-pro:streamGenerateContent", "https://generativelanguage.googleapis.com/v1/models/gemini-2.5-pro:streamGenerateContent", wire.Gemini, "gemini-2.5-pro", true},
		{"/gemini/v1alpha/models/g%3AstreamGenerateContent", "https://generativelanguage.googleapis.com/v1alpha/models/g%3AstreamGenerateContent", wire.Gemini, "g", true},
		{"/gemini/v1beta/tunedModels/my-1:generateContent", "https://generativelanguage.googleapis.com/v1beta/tunedModels/my-1:generateContent", wire.Gemini, "my-1", false},
		{"/gemini/v1beta/models/g:countTokens", "https://generativelanguage.googleapis.com/v1beta/models/g:countTokens", 0, "", false},
		{"/gemini/v1beta/openai/chat/completions", "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions", wire.Chat, "", false},
		{"/gemini/v1internal:streamGenerateContent", "https://generativelanguage.googleapis.com/v1internal:streamGenerateContent", 0, "", false},
		{"/vertex/v1/projects/p/locations/l/publishers/google/models/gemini-3:streamGenerateContent", "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/google/models/gemini-3:streamGenerateContent", wire.Gemini, "gemini-3", true},
		{"/vertex/v1/projects/p/locations/l/publishers/anthropic/models/claude-opus-4@20250514:rawPredict", "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/anthropic/models/claude-opus-4@20250514:rawPredict", wire.Messages, "claude-opus-4@20250514", false},
		{"/vertex/v1/projects/p/locations/l/publishers/anthropic/models/claude:streamRawPredict", "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/anthropic/models/claude:streamRawPredict", wire.Messages, "claude", true},
		{"/vertex/v1/projects/p/locations/l/publishers/anthropic/models/count-tokens:rawPredict", "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/anthropic/models/count-tokens:rawPredict", 0, "", false},
		{"/vertex/v1/projects/p/locations/l/publishers/mistralai/models/m:rawPredict", "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/mistralai/models/m:rawPredict", wire.Chat, "m", false},
		{"/vertex/v1/projects/p/locations/l/publishers/google/models/imagen:predict", "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/google/models/imagen:predict", 0, "", false},
		{"/azure/openai/deployments/my%20gpt/chat/completions", "https://res.openai.azure.com/openai/deployments/my%20gpt/chat/completions", wire.Chat, "my gpt", false},
		{"/openai/deployments/d/chat/completions", "https://res.openai.azure.com/openai/deployments/d/chat/completions", wire.Chat, "d", false},
		{"/azure/openai/responses", "https://res.openai.azure.com/openai/responses", wire.Responses, "", false},
		{"/azure/openai/v1/responses", "https://res.openai.azure.com/openai/v1/responses", wire.Responses, "", false},
		{"/bedrock/model/us.anthropic.claude-sonnet-4-v1%3A0/invoke", "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-sonnet-4-v1%3A0/invoke", wire.Messages, "us.anthropic.claude-sonnet-4-v1:0", false},
		{"/bedrock/model/anthropic.claude/invoke-with-response-stream", "https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude/invoke-with-response-stream", wire.Messages, "anthropic.claude", true},
		{"/bedrock/model/amazon.nova/invoke", "https://bedrock-runtime.us-east-1.amazonaws.com/model/amazon.nova/invoke", 0, "", false},
		{"/bedrock/model/anthropic.claude/converse", "https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude/converse", wire.Converse, "anthropic.claude", false},
		{"/bedrock/model/amazon.nova-pro-v1%3A0/converse-stream", "https://bedrock-runtime.us-east-1.amazonaws.com/model/amazon.nova-pro-v1%3A0/converse-stream", wire.Converse, "amazon.nova-pro-v1:0", true},
		{"/bedrock/model/anthropic.claude/count-tokens", "https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude/count-tokens", 0, "", false},
		{"/bedrock/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Aapplication-inference-profile%2Fab12/invoke", "https://bedrock-runtime.us-east-1.amazonaws.com/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Aapplication-inference-profile%2Fab12/invoke", wire.Messages, "arn:aws:bedrock:us-east-1:1:application-inference-profile/ab12", false},
	} {
		rt, ok := routed(p, http.MethodPost, c.path)
		if !ok {
			t.Errorf("%s has no upstream", c.path)
			continue
		}
		target, err := rt.up.target(rt.below, "", false)
		if err != nil || target.String() != c.url {
			t.Errorf("%s goes to %s (%v), want %s", c.path, target, err, c.url)
		}
		if rt.model != (c.dialect != 0) || rt.model && (rt.dialect != c.dialect || rt.name != c.model || rt.stream != c.stream) {
			t.Errorf("%s: model request %v, %v, %q, stream %v; want %v, %q, %v", c.path, rt.model, rt.dialect, rt.name, rt.stream, c.dialect, c.model, c.stream)
		}
		if get, _ := routed(p, http.MethodGet, c.path); get.model {
			t.Errorf("GET %s is taken for a model request", c.path)
		}
	}
	for _, path := range []string{"", "/", "//openai/v1/x", "openai", "/nobody/v1/messages", "/OPENAI/v1/x", "*"} {
		if rt, ok := routed(p, http.MethodPost, path); ok {
			t.Errorf("%q is routed to %s", path, rt.up.Name)
		}
	}
}

func FuzzRoute(f *testing.F) {
	p, err := New(Options{Upstreams: append(DefaultUpstreams(), Upstream{Name: "azure", URL: "https://res.example"}, Upstream{Name: "bedrock", URL: "https://b.example"})})
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{
		"/openai/v1/chat/completions", "/gemini/v1beta/models/m%3AgenerateContent", "/bedrock/model/a%2Fb/invoke", "/openai/deployments/%zz/chat/completions",
		"/anthropic/../../etc", "/openai//v1", "/gemini/%", "/anthropic/\xff\x00{}", "/gemini/:::::", "/bedrock/model//invoke",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		rt, ok := routed(p, http.MethodPost, path)
		if !ok {
			return
		}
		if !strings.HasSuffix(path, rt.below) {
			t.Errorf("%q lost bytes: %q", path, rt.below)
		}
		target, err := rt.up.target(rt.below, "a=b", true)
		if err != nil {
			return
		}
		if target.Host != rt.up.base.Host || target.Scheme != rt.up.base.Scheme {
			t.Errorf("%q leaves the upstream: %s", path, target)
		}
		// What is sent in the request line is what was received, below the base.
		if sent := target.RequestURI(); strings.HasPrefix(rt.below, "/") && !strings.HasPrefix(rt.below, "//") && !strings.HasPrefix(rt.below, "/v1") && sent != rt.up.base.EscapedPath()+rt.below+"?a=b" {
			t.Errorf("%q becomes %q", rt.below, sent)
		}
	})
}
