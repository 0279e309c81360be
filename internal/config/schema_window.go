package config

import (
	"slices"

	"github.com/plimsoll/plimsoll/limit"
)

// Bounds of values. No model that is offered takes more than 10 million tokens; a window under 1024 does not hold the system prompt of any agent.
const (
	minTokens = 1 << 10
	maxTokens = 20 << 20
	maxBodies = int64(64 * limit.GiB)
)

// providerLimits are keys for the windows of providers, with the variables that people may have in their environments already.
var providerLimits = []struct{ name, variable, provider string }{
	{"azure_openai_max_tokens", "AZURE_OPENAI_MAX_CONTEXT_TOKENS", "Azure OpenAI"},
	{"openai_max_tokens", "OPENAI_MAX_CONTEXT_TOKENS", "OpenAI"},
	{"bedrock_max_tokens", "AWS_BEDROCK_MAX_CONTEXT_TOKENS", "AWS Bedrock"},
	{"anthropic_max_tokens", "ANTHROPIC_MAX_CONTEXT_TOKENS", "Anthropic"},
	{"gemini_max_tokens", "GOOGLE_GEMINI_MAX_CONTEXT_TOKENS", "Google Gemini"},
	{"vertex_max_tokens", "GCP_VERTEXAI_MAX_CONTEXT_TOKENS", "Google Vertex AI"},
}

// windowKeys are the keys of [window], for the proxy between an agent and its model provider.
var windowKeys = append([]*Key{
	{
		Name: "proxy", Type: TypeChoice, Default: "auto", Choices: []string{"off", "auto", "on"}, PerTool: true, Project: ProjectStricter,
		Doc: "Whether run starts the proxy; auto does for tools that it can point there.",
		set: func(s *Settings, v any) { s.Window.Proxy = v.(string) },
	},
	{
		Name: "mode", Type: TypeChoice, Default: "enforce", Choices: []string{"off", "observe", "enforce"}, PerTool: true, Project: ProjectStricter,
		Doc: "Pass requests unseen, only count and report, or hold the limits.",
		set: func(s *Settings, v any) { s.Window.Mode = v.(string) },
	},
	{
		Name: "max_tokens", Type: TypeAutoCount, Default: "auto", Aliases: []Alias{{Name: "max_context_tokens"}}, Variables: []string{"MAX_CONTEXT_TOKENS"},
		PerTool: true, Project: ProjectCapped, min: minTokens, max: maxTokens, example: "200000",
		Doc: "Context window in tokens, for every model; auto is what is known of the model.",
		set: func(s *Settings, v any) { s.Window.MaxTokens = v.(int) },
	},
	{
		Name: "provider", Type: TypeChoice, Default: "auto", Variables: []string{"LLM_PROVIDER"},
		Choices: []string{"auto", "azure-openai", "openai", "aws-bedrock", "anthropic-claude", "google-gemini", "gcp-vertexai"},
		PerTool: true, Project: ProjectFree,
		Doc: "Whose limit counts where the address does not tell; auto goes by the upstream.",
		set: func(s *Settings, v any) { s.Window.Provider = v.(string) },
	},
	{
		Name: "trigger", Type: TypeRatio, Default: "0.8", PerTool: true, Project: ProjectStricter, min: 10, max: 99, example: "0.8",
		Doc: "Part of the window at which the history is shortened; unset, tools that compact by themselves get 0.95, at most 9,000 tokens less than all.",
		set: func(s *Settings, v any) { s.Window.Trigger = v.(float64) },
	},
	{
		Name: "target", Type: TypeAutoRatio, Default: "auto", PerTool: true, Project: ProjectFree, min: 10, max: 95, example: "0.5",
		Doc: "Part of the window in use afterwards; auto is 0.2, or a quarter of a trigger below 0.8.",
		set: func(s *Settings, v any) { s.Window.Target = v.(float64) },
	},
	{
		Name: "min_messages", Type: TypeCount, Default: "4", Aliases: []Alias{{Name: "min_messages_to_keep"}}, Variables: []string{"MIN_MESSAGES_TO_KEEP"},
		PerTool: true, Project: ProjectFree, min: 1, max: 1000, example: "4",
		Doc: "Newest messages that are kept while anything else can be cut.",
		set: func(s *Settings, v any) { s.Window.MinMessages = v.(int) },
	},
	{
		Name: "compact", Type: TypeBool, Default: "true", Aliases: []Alias{{Name: "enable_auto_compression"}}, Variables: []string{"ENABLE_AUTO_COMPRESSION"},
		PerTool: true, Project: ProjectFree, example: "true",
		Doc: "Whether the history is shortened before a request is sent, not only after a refusal.",
		set: func(s *Settings, v any) { s.Window.Compact = v.(bool) },
	},
	{
		Name: "repair", Type: TypeBool, Default: "true", PerTool: true, Project: ProjectFree, example: "true",
		Doc: "Whether calls without results and results without calls are put right.",
		set: func(s *Settings, v any) { s.Window.Repair = v.(bool) },
	},
	{
		Name: "rate_queue", Type: TypeBool, Default: "true", PerTool: true, Project: ProjectFree, example: "true",
		Doc: "Whether requests wait, in a queue for all runs of this host, while their provider lets no more through.",
		set: func(s *Settings, v any) { s.Window.RateQueue = v.(bool) },
	},
	{
		Name: "cut_tool_results", Type: TypeBool, Default: "true", Aliases: []Alias{{Name: "summarize_tool_outputs"}}, Variables: []string{"SUMMARIZE_TOOL_OUTPUTS"},
		PerTool: true, Project: ProjectFree, example: "true",
		Doc: "Whether tool results are cut before whole turns are summarised.",
		set: func(s *Settings, v any) { s.Window.CutResults = v.(bool) },
	},
	{
		Name: "max_tool_output", Type: TypeAutoCount, Default: "auto", Aliases: []Alias{{Name: "max_tool_output_length"}, {Name: "max_tool_output_size"}},
		Variables: []string{"MAX_TOOL_OUTPUT_SIZE", "MAX_TOOL_OUTPUT_LENGTH"}, PerTool: true, Project: ProjectFree, min: 256, max: 10 << 20, example: "10000",
		Doc: "Bytes of one tool result that reach the model; the whole is kept. auto cuts only where room is needed, to 1 to 16 KiB.",
		set: func(s *Settings, v any) { s.Window.MaxToolOutput = v.(int) },
	},
	{
		Name: "summarizer", Type: TypeChoice, Default: "auto", Choices: []string{"auto", "provider", "extractive", "model", "off"}, PerTool: true, Project: ProjectNever,
		Doc: "Who summarises old turns: the provider, Plimsoll without a model, a model with a key of its own, or nobody. auto is the provider where reasoning would be lost and an API key is used.",
		set: func(s *Settings, v any) { s.Window.Summarizer = v.(string) },
	},
	{
		Name: "summary_model", Type: TypeText, PerTool: true, Project: ProjectNever, example: `"gpt-5-mini"`,
		Doc: "Model that writes summaries when summarizer is model.",
		set: func(s *Settings, v any) { s.Window.SummaryModel = v.(string) },
	},
	{
		Name: "summary_url", Type: TypeURL, Default: "https://api.openai.com/v1", PerTool: true, Project: ProjectNever, example: `"http://127.0.0.1:11434/v1"`,
		Doc: "Base URL of an OpenAI-compatible service for summary_model.",
		set: func(s *Settings, v any) { s.Window.SummaryURL = v.(string) },
	},
	{
		Name: "summary_key", Type: TypeVariable, PerTool: true, Project: ProjectNever, example: `"PLIMSOLL_SUMMARY_KEY"`,
		Doc: "Variable that holds the key for summary_model; a client's own is never used.",
		set: func(s *Settings, v any) { s.Window.SummaryKey = v.(string) },
	},
	{
		Name: "on_loop", Type: TypeChoice, Default: "warn", Choices: []string{"warn", "hint", "stop"}, PerTool: true, Project: ProjectStricter,
		Doc:  "When an agent repeats itself: say so to you, also to the model behind its newest tool result, or answer with an error in its place.",
		Flag: "on-loop", Usage: "an agent that repeats itself: warn, hint or stop",
		set: func(s *Settings, v any) { s.Window.OnLoop = v.(string) },
	},
	{
		Name: "store", Type: TypeChoice, Default: "disk", Choices: []string{"off", "memory", "disk"}, PerTool: true, Project: ProjectNever,
		Doc: "Where cuts and decisions are kept.",
		set: func(s *Settings, v any) { s.Window.Store = v.(string) },
	},
	{
		Name: "body_memory", Type: TypeSize, Default: "256M", Project: ProjectNever, min: 8 * int64(limit.MiB), max: maxBodies, example: `"256M"`,
		Doc: "Memory for request bodies on their way; over it a request waits and is answered 503, one of 4 MiB or more passes unseen.",
		set: func(s *Settings, v any) { s.Window.BodyMemory = v.(limit.Bytes) },
	},
}, providerLimitKeys()...)

// providerLimitKeys returns the keys NAME_max_tokens, one for each of providerLimits.
func providerLimitKeys() []*Key {
	var out []*Key
	for _, p := range providerLimits {
		out = append(out, &Key{
			Name: p.name, Type: TypeCount, Variables: []string{p.variable}, PerTool: true, Project: ProjectCapped, min: minTokens, max: maxTokens, noBound: true,
			optional: true, example: "200000",
			Doc: "Context window at " + p.provider + ", in the place of max_tokens.",
			set: func(s *Settings, v any) {
				if s.Window.ProviderTokens == nil {
					s.Window.ProviderTokens = map[string]int{}
				}
				s.Window.ProviderTokens[p.name[:len(p.name)-len("_max_tokens")]] = v.(int)
			},
		})
	}
	return out
}

// upstreamKeys are the keys of [upstream], for the addresses of model providers.
var upstreamKeys = []*Key{
	upstreamURL("openai", "https://api.openai.com/v1", "OpenAI or a service that speaks its protocol; ends in /v1.", func(u *UpstreamSettings) *string { return &u.OpenAI }),
	upstreamURL("anthropic", "https://api.anthropic.com", "Anthropic; without /v1.", func(u *UpstreamSettings) *string { return &u.Anthropic }),
	upstreamURL("gemini", "https://generativelanguage.googleapis.com", "Google Gemini; without a version.", func(u *UpstreamSettings) *string { return &u.Gemini }),
	{
		Name: "bedrock", Type: TypeURL, PerTool: true, Project: ProjectNever, example: `"https://bedrock-runtime.eu-central-1.amazonaws.com"`,
		Doc: "Base URL of Amazon Bedrock, which serve asks with AWS's own credentials; needs a token. Empty means none.",
		set: func(s *Settings, v any) { s.Upstream.Bedrock = v.(string) },
	},
	upstreamKey("openai", func(u *UpstreamSettings) *string { return &u.OpenAIKey }),
	upstreamKey("anthropic", func(u *UpstreamSettings) *string { return &u.AnthropicKey }),
	upstreamKey("gemini", func(u *UpstreamSettings) *string { return &u.GeminiKey }),
}

// upstreamURL returns a key for the base URL of an upstream. A project cannot set it.
func upstreamURL(name, def, what string, field func(*UpstreamSettings) *string) *Key {
	return &Key{
		Name: name, Type: TypeURL, Default: def, PerTool: true, Project: ProjectNever, example: `"` + def + `"`,
		Doc: "Base URL of " + what,
		set: func(s *Settings, v any) { *field(&s.Upstream) = v.(string) },
	}
}

// upstreamKey returns a key, name + "_key", for the variable that holds the key of an upstream. A project cannot set it.
func upstreamKey(name string, field func(*UpstreamSettings) *string) *Key {
	return &Key{
		Name: name + "_key", Type: TypeVariable, Project: ProjectNever, example: `"MY_KEY"`,
		Doc: "Variable that holds the key for " + name + "; unset passes on the client's.",
		set: func(s *Settings, v any) { *field(&s.Upstream) = v.(string) },
	}
}

// serveKeys are the keys of [serve], for the daemon.
var serveKeys = []*Key{
	{
		Name: "listen", Type: TypeAddress, Default: "127.0.0.1:4620", Project: ProjectNever, example: `"127.0.0.1:4620"`,
		Doc: "Address that serve listens on; beyond loopback it demands token, tls_cert and tls_key.",
		set: func(s *Settings, v any) { s.Serve.Listen = v.(string) },
	},
	{
		Name: "token", Type: TypeVariable, Project: ProjectNever, example: `"PLIMSOLL_TOKEN"`,
		Doc: "Variable that holds the token that clients must show.",
		set: func(s *Settings, v any) { s.Serve.Token = v.(string) },
	},
	{
		Name: "hosts", Type: TypeHosts, Project: ProjectNever, example: `["models.example.com"]`,
		Doc: "Host headers that are accepted beside loopback and the address listened on.",
		set: func(s *Settings, v any) { s.Serve.Hosts = slices.Clone(v.([]string)) },
	},
	{
		Name: "origins", Type: TypeOrigins, Project: ProjectNever, example: `["https://tool.example.com"]`,
		Doc: "Web origins whose pages may use the daemon.",
		set: func(s *Settings, v any) { s.Serve.Origins = slices.Clone(v.([]string)) },
	},
	{
		Name: "any_user", Type: TypeBool, Default: "false", Project: ProjectNever, example: "false",
		Doc: "Whether other users of this machine may connect; then only the token keeps them out.",
		set: func(s *Settings, v any) { s.Serve.AnyUser = v.(bool) },
	},
	{
		Name: "push_allow", Type: TypeNetworks, Project: ProjectNever, example: `["10.0.0.0/8", "hooks.internal"]`,
		Doc: "Hosts and networks off the public internet that push notifications, and addresses in cards of [a2a], may lead to.",
		set: func(s *Settings, v any) { s.Serve.PushAllow = slices.Clone(v.([]string)) },
	},
	{
		Name: "tls_cert", Type: TypeFile, Project: ProjectNever, example: `"/etc/plimsoll/cert.pem"`,
		Doc: "Certificate chain in PEM; read again when the file has changed.",
		set: func(s *Settings, v any) { s.Serve.TLSCert = v.(string) },
	},
	{
		Name: "tls_key", Type: TypeFile, Project: ProjectNever, example: `"/etc/plimsoll/key.pem"`,
		Doc: "Private key of tls_cert in PEM.",
		set: func(s *Settings, v any) { s.Serve.TLSKey = v.(string) },
	},
}
