package agents

import (
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/window/models"
)

func TestWhichModelIsAsked(t *testing.T) {
	u := config.UpstreamSettings{OpenAI: "https://api.openai.com/v1", Anthropic: "https://api.anthropic.com", Gemini: "https://generativelanguage.googleapis.com"}
	for _, c := range []struct {
		name     string
		agent    config.Agent
		override string
		base     string // of the command line
		env      map[string]string
		want     modelChoice
		err      string
	}{
		{name: "nothing", err: "--model standin"},
		{name: "a key", env: map[string]string{"OPENAI_API_KEY": "k"}, want: modelChoice{provider: "openai", name: defaultOpenAI, url: u.OpenAI, keyEnv: "OPENAI_API_KEY"}},
		{name: "two keys", env: map[string]string{"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}, want: modelChoice{provider: "anthropic", name: defaultAnthropic, url: u.Anthropic, keyEnv: "ANTHROPIC_API_KEY"}},
		{name: "LLM_PROVIDER decides", env: map[string]string{"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "LLM_PROVIDER": "openai"}, want: modelChoice{provider: "openai", name: defaultOpenAI, url: u.OpenAI, keyEnv: "OPENAI_API_KEY"}},
		{name: "a base URL in the environment", env: map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://127.0.0.1:1/t/v1", "OPENAI_MODEL": "m"}, want: modelChoice{provider: "openai", name: "m", url: "http://127.0.0.1:1/t/v1", keyEnv: "OPENAI_API_KEY"}},
		{name: "by the model's name", agent: config.Agent{Model: "claude-haiku-4-5"}, want: modelChoice{provider: "anthropic", name: "claude-haiku-4-5", url: u.Anthropic, keyEnv: "ANTHROPIC_API_KEY"}},
		{name: "provider before the name", agent: config.Agent{Model: "anthropic/claude-haiku-4-5"}, want: modelChoice{provider: "anthropic", name: "claude-haiku-4-5", url: u.Anthropic, keyEnv: "ANTHROPIC_API_KEY"}},
		{
			name: "behind a base URL a slash is the name's", agent: config.Agent{Model: "anthropic/claude-haiku-4-5", BaseURL: "https://openrouter.ai/api/v1", KeyEnv: "MY_KEY"},
			want: modelChoice{provider: "openai", name: "anthropic/claude-haiku-4-5", url: "https://openrouter.ai/api/v1", keyEnv: "MY_KEY"},
		},
		{
			name: "the option takes the provider with it", agent: config.Agent{Model: "gpt-5", Provider: "openai", BaseURL: "https://gateway.example/v1", KeyEnv: "MY_KEY"}, override: "anthropic/claude-haiku-4-5",
			want: modelChoice{provider: "anthropic", name: "claude-haiku-4-5", url: u.Anthropic, keyEnv: "ANTHROPIC_API_KEY"},
		},
		{
			name: "the option of the same provider keeps where", agent: config.Agent{Model: "gpt-5", Provider: "openai", BaseURL: "https://gateway.example/v1", KeyEnv: "MY_KEY"}, override: "gpt-5-mini",
			want: modelChoice{provider: "openai", name: "gpt-5-mini", url: "https://gateway.example/v1", keyEnv: "MY_KEY"},
		},
		{
			name: "another provider's model takes no key with it", agent: config.Agent{Model: "anthropic/claude-haiku-4-5", KeyEnv: "MY_ANTHROPIC"}, override: "gpt-5-mini",
			want: modelChoice{provider: "openai", name: "gpt-5-mini", url: u.OpenAI, keyEnv: "OPENAI_API_KEY"},
		},
		{name: "a third host gets no key unasked", agent: config.Agent{Model: "m", BaseURL: "http://gateway.example/v1"}, want: modelChoice{provider: "openai", name: "m", url: "http://gateway.example/v1"}},
		{name: "the provider itself does", agent: config.Agent{Model: "m", BaseURL: "https://api.openai.com/v1"}, want: modelChoice{provider: "openai", name: "m", url: u.OpenAI, keyEnv: "OPENAI_API_KEY"}},
		{
			name: "a gateway has models of all", agent: config.Agent{Model: "gpt-5", BaseURL: "https://gateway.example/v1", KeyEnv: "MY_KEY"}, override: "claude-haiku-4-5",
			want: modelChoice{provider: "anthropic", name: "claude-haiku-4-5", url: "https://gateway.example/v1", keyEnv: "MY_KEY"},
		},
		{name: "the stand-in", override: "standin", want: modelChoice{standin: true, provider: "openai", name: "standin-planner"}},
		{name: "the stand-in, configured", agent: config.Agent{Model: "standin"}, env: map[string]string{"ANTHROPIC_API_KEY": "k"}, want: modelChoice{standin: true, provider: "openai", name: "standin-planner"}},
		{
			name: "a stand-in that runs already", agent: config.Agent{Model: "standin-planner"}, env: map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"},
			want: modelChoice{provider: "openai", name: "standin-planner", url: "http://127.0.0.1:1/v1", keyEnv: "OPENAI_API_KEY"},
		},
		{name: "no address", agent: config.Agent{Name: "a", Model: "m", Provider: "perplexity"}, err: "base_url in [agents.a]"},
		{name: "no name", agent: config.Agent{Name: "a", Provider: "groq", BaseURL: "https://gateway.example/v1"}, err: "no model is named"},
		{name: "any key", env: map[string]string{"GROQ_API_KEY": "k"}, want: modelChoice{provider: "groq", name: "openai/gpt-oss-120b", url: "https://api.groq.com/openai/v1", keyEnv: "GROQ_API_KEY"}},
		{name: "Google's other key", env: map[string]string{"GOOGLE_API_KEY": "k"}, want: modelChoice{provider: "gemini", name: "gemini-flash-latest", url: "https://generativelanguage.googleapis.com", keyEnv: "GOOGLE_API_KEY"}},
		{name: "a service by its name", override: "openrouter/anthropic/claude-sonnet-5", want: modelChoice{provider: "openrouter", name: "anthropic/claude-sonnet-5", url: "https://openrouter.ai/api/v1", keyEnv: "OPENROUTER_API_KEY"}},
		{name: "Gemini by the model's name", override: "gemini-3.8-flash", env: map[string]string{"OPENAI_API_KEY": "k"}, want: modelChoice{provider: "gemini", name: "gemini-3.8-flash", url: "https://generativelanguage.googleapis.com", keyEnv: "GEMINI_API_KEY"}},
		{name: "Gemini elsewhere", override: "google/m", env: map[string]string{"GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:1/t"}, want: modelChoice{provider: "gemini", name: "m", url: "http://127.0.0.1:1/t", keyEnv: "GEMINI_API_KEY"}},
		{name: "on this machine", override: "ollama/qwen3:8b", want: modelChoice{provider: "ollama", name: "qwen3:8b", url: "http://127.0.0.1:11434/v1"}},
		{name: "Ollama elsewhere", override: "ollama/qwen3", env: map[string]string{"OLLAMA_HOST": "gpu.example:8080"}, want: modelChoice{provider: "ollama", name: "qwen3", url: "http://gpu.example:8080/v1"}},
		{name: "Ollama on all addresses", override: "ollama/qwen3", env: map[string]string{"OLLAMA_HOST": "0.0.0.0"}, want: modelChoice{provider: "ollama", name: "qwen3", url: "http://127.0.0.1:11434/v1"}},
		{name: "Azure is asked, and not another's key", env: map[string]string{"OPENAI_API_KEY": "k", "LLM_PROVIDER": "azure-openai", "OPENAI_BASE_URL": "https://a.example/openai/v1", "OPENAI_MODEL": "m"}, err: "LLM_PROVIDER=azure-openai cannot be asked: set AZURE_OPENAI_DEPLOYMENT, AZURE_OPENAI_ENDPOINT, AZURE_OPENAI_API_KEY"},
		{name: "Bedrock is asked, and not another's key", env: map[string]string{"OPENAI_API_KEY": "k", "LLM_PROVIDER": "aws-bedrock"}, err: "LLM_PROVIDER=aws-bedrock cannot be asked: set AWS_BEDROCK_MODEL_ID, AWS_REGION"},
		{name: "Vertex is asked, and not another's key", env: map[string]string{"GOOGLE_API_KEY": "k", "LLM_PROVIDER": "gcp-vertexai"}, err: "LLM_PROVIDER=gcp-vertexai cannot be asked: set VERTEXAI_MODEL_NAME"},
		{name: "a provider without its key is no other's", env: map[string]string{"OPENAI_API_KEY": "k", "LLM_PROVIDER": "anthropic-claude"}, want: modelChoice{provider: "anthropic", name: defaultAnthropic, url: u.Anthropic, keyEnv: "ANTHROPIC_API_KEY"}},
		{
			name: "Azure", env: map[string]string{"OPENAI_API_KEY": "k", "LLM_PROVIDER": "azure-openai", "AZURE_OPENAI_ENDPOINT": "https://a.example", "AZURE_OPENAI_API_KEY": "a", "AZURE_OPENAI_DEPLOYMENT": "gpt-4.1"},
			want: modelChoice{provider: "azure", name: "gpt-4.1", url: "https://a.example", keyEnv: "AZURE_OPENAI_API_KEY", cloud: true},
		},
		{
			name: "a bare name is one of the cloud's", override: "gpt-5-mini", env: map[string]string{"OPENAI_API_KEY": "k", "LLM_PROVIDER": "azure-openai", "AZURE_OPENAI_ENDPOINT": "https://a.example", "AZURE_OPENAI_API_KEY": "a", "AZURE_OPENAI_DEPLOYMENT": "gpt-4.1"},
			want: modelChoice{provider: "azure", name: "gpt-5-mini", url: "https://a.example", keyEnv: "AZURE_OPENAI_API_KEY", cloud: true},
		},
		{name: "one with its provider is that one's", override: "openai/gpt-5", env: map[string]string{"OPENAI_API_KEY": "k", "LLM_PROVIDER": "azure-openai"}, want: modelChoice{provider: "openai", name: "gpt-5", url: u.OpenAI, keyEnv: "OPENAI_API_KEY"}},
		{name: "an address of the configuration is asked", agent: config.Agent{Model: "m", BaseURL: "https://gateway.example/v1", KeyEnv: "MY_KEY"}, env: map[string]string{"LLM_PROVIDER": "azure-openai"}, want: modelChoice{provider: "openai", name: "m", url: "https://gateway.example/v1", keyEnv: "MY_KEY"}},
		{
			name: "Bedrock", env: map[string]string{"LLM_PROVIDER": "aws-bedrock", "AWS_REGION": "eu-west-1", "AWS_BEDROCK_MODEL_ID": "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"},
			want: modelChoice{provider: "bedrock", name: "eu.anthropic.claude-sonnet-4-5-20250929-v1:0", url: "https://bedrock-runtime.eu-west-1.amazonaws.com", cloud: true},
		},
		{
			name: "another maker's model of Bedrock", override: "bedrock/amazon.nova-pro-v1:0", env: map[string]string{"AWS_REGION": "eu-west-1"},
			want: modelChoice{provider: "bedrock", name: "amazon.nova-pro-v1:0", url: "https://bedrock-runtime.eu-west-1.amazonaws.com", cloud: true},
		},
		{
			name: "Vertex", env: map[string]string{"LLM_PROVIDER": "gcp-vertexai", "VERTEXAI_MODEL_NAME": "gemini-2.5-pro", "GOOGLE_CLOUD_LOCATION": "europe-west1"},
			want: modelChoice{provider: "vertex", name: "gemini-2.5-pro", url: "https://europe-west1-aiplatform.googleapis.com", cloud: true},
		},
		{name: "the original's names", env: map[string]string{"LLM_PROVIDER": "openai", "OPENAI_API_KEY": "k", "OPENAI_ENDPOINT": "https://gateway.example/v1", "OPENAI_MODEL_NAME": "gpt-4.1"}, want: modelChoice{provider: "openai", name: "gpt-4.1", url: "https://gateway.example/v1", keyEnv: "OPENAI_API_KEY"}},
		{name: "an address of the command line", override: "qwen/qwen3", base: "https://gateway.example/v1/", env: map[string]string{"OPENAI_API_KEY": "k"}, want: modelChoice{provider: "openai", name: "qwen/qwen3", url: "https://gateway.example/v1", keyEnv: "OPENAI_API_KEY"}},
		{name: "an address takes no configured key with it", agent: config.Agent{Model: "m", KeyEnv: "MY_KEY"}, base: "https://gateway.example/v1", want: modelChoice{provider: "openai", name: "m", url: "https://gateway.example/v1"}},
		{name: "a local service has no default model", override: "ollama/", err: "no model is named"},
		{name: "a provider that nobody knows", override: "nosuchprovider/x", env: map[string]string{"OPENAI_API_KEY": "k"}, err: `"nosuchprovider" is no provider that is known (those that are: anthropic`},
		{name: "a name with a slash behind an address", override: "org/m", env: map[string]string{"OPENAI_BASE_URL": "https://gateway.example/v1"}, want: modelChoice{provider: "openai", name: "org/m", url: "https://gateway.example/v1", keyEnv: "OPENAI_API_KEY"}},
		{name: "no address at all", agent: config.Agent{Model: "m", BaseURL: "localhost:1234"}, err: "is no URL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := chooseModel(c.agent, c.override, c.base, u, func(name string) string { return c.env[name] })
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error %v; want one with %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got.why = ""
			if got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestWhatIsNoToolsBusiness(t *testing.T) {
	s := config.Settings{}
	s.Serve.Token, s.Upstream.OpenAIKey = "DAEMON_TOKEN", "OPENAI_KEY"
	got := strings.Join(SecretVariables(s, nil), " ")
	if got != "DAEMON_TOKEN OPENAI_KEY" {
		t.Errorf("without agents: %s", got)
	}
	got = strings.Join(SecretVariables(s, []config.Agent{{KeyEnv: "MY_KEY"}}), " ")
	for _, name := range append([]string{"DAEMON_TOKEN", "MY_KEY", "OPENAI_KEY"}, keyVariables()...) {
		if !slices.Contains(strings.Fields(got), name) {
			t.Errorf("with an agent: no %s in %s", name, got)
		}
	}
}

// What is asked when nothing names a model is in the catalogue, so that its window is known.
func TestDefaultModelsAreKnown(t *testing.T) {
	for _, s := range services {
		if s.model == "" {
			continue
		}
		m := modelChoice{provider: s.name, name: s.model, url: s.address(config.UpstreamSettings{OpenAI: "https://api.openai.com/v1", Anthropic: "https://api.anthropic.com"}, func(string) string { return "" })}
		if w, known := models.Lookup(m.upstream(), m.name, nil); !known || w.Guessed() {
			t.Errorf("%s: %+v", m, w)
		}
	}
}

func TestSeveralKeysAreTold(t *testing.T) {
	env := map[string]string{"OPENAI_API_KEY": "k", "GROQ_API_KEY": "k", "MISTRAL_API_KEY": " "}
	getenv := func(name string) string { return env[name] }
	m, err := chooseModel(config.Agent{}, "", "", config.UpstreamSettings{OpenAI: "https://api.openai.com/v1"}, getenv)
	if got := strings.Join(otherKeys(m, getenv), " "); err != nil || m.provider != "openai" || got != "GROQ_API_KEY" {
		t.Errorf("%s, beside %q, %v", m, got, err)
	}
	if m, err = chooseModel(config.Agent{}, "groq/openai/gpt-oss-20b", "", config.UpstreamSettings{}, getenv); err != nil || len(otherKeys(m, getenv)) > 0 {
		t.Errorf("one that was named: %v, %v", m, err)
	}
}

func TestAKeyInTheEnvironmentHasAModel(t *testing.T) {
	for key, want := range map[string]string{"OPENAI_API_KEY": "openai/" + defaultOpenAI, "ANTHROPIC_API_KEY": "anthropic/" + defaultAnthropic, "PATH": ""} {
		if got := ModelOfKey(func(name string) string { return map[string]string{key: "k"}[name] }); got != want {
			t.Errorf("%s: %q", key, got)
		}
	}
}

func TestThePromptGoesByTheModelAndByWhatHappened(t *testing.T) {
	tools := []agent.ToolSpec{{Name: "list_applications", Description: "Lists.", ReadOnly: true}, {Name: "search_argocd_resources", Description: "Searches.", ReadOnly: true}}
	c := config.Agent{Name: "argocd", Builtin: "argocd"}
	of := func(m modelChoice) string {
		t.Helper()
		compose, err := promptOf(c, m, models.NewResolver(models.Options{}), "")
		if err != nil {
			t.Fatal(err)
		}
		return compose(tools)
	}
	large, small := of(modelChoice{provider: "openai", name: "gpt-5"}), of(modelChoice{provider: "openai", name: "gpt-4"}) // 8,192 tokens in all
	if large == small {
		t.Error("a model with a small window is told the same")
	}
	t.Setenv(SearchFirstName, "1") // tools say so where they list, and no sentence beforehand
	if of(modelChoice{provider: "openai", name: "gpt-5"}) != large {
		t.Error("after running out of memory it is told another thing")
	}
	c.SearchForced = true
	if of(modelChoice{provider: "openai", name: "gpt-5"}) == large {
		t.Error("where a search is demanded it is told the same")
	}
	c.Prompt = "only this"
	if got := of(modelChoice{provider: "openai", name: "gpt-5"}); got != "only this" {
		t.Errorf("the prompt that is configured: %s", got)
	}
}

func TestWhichAddressesSpeakGooglesProtocol(t *testing.T) {
	for url, want := range map[string]bool{
		"https://generativelanguage.googleapis.com": true, "https://generativelanguage.googleapis.com/v1beta": true, "http://127.0.0.1:1/t": true,
		"https://generativelanguage.googleapis.com/v1beta/openai/": false, "https://gateway.example/v1": false,
	} {
		if got := (modelChoice{provider: "gemini", url: url}).speaksGemini(); got != want {
			t.Errorf("%s: %v", url, got)
		}
	}
	if (modelChoice{provider: "openai", url: "https://generativelanguage.googleapis.com"}).speaksGemini() {
		t.Error("openai does")
	}
}

// A choice is shown as --model takes it, also where the name behind a base URL begins with a provider.
func TestAChoiceIsShownOnce(t *testing.T) {
	t.Parallel()
	for want, m := range map[string]modelChoice{
		"openai/gpt-5-mini":        {provider: "openai", name: "openai/gpt-5-mini", url: "https://gateway.example/v1"},
		"openai/gpt-5":             {provider: "openai", name: "gpt-5"},
		"groq/openai/gpt-oss-120b": {provider: "groq", name: "openai/gpt-oss-120b"},
	} {
		if got := m.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
