package config

import (
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// maxPrompt bounds the text of a prompt, in the configuration and in a file, in bytes: some 16 thousand tokens, more than the system prompt
// of any known agent.
const maxPrompt = 64 << 10

// agentProviders are the providers whose APIs the agent can use: OpenAI's protocol, which most others have too, and Anthropic's. The names
// are those of package window/models.
var agentProviders = []string{
	"auto", "openai", "anthropic", "azure", "gemini", "openrouter", "mistral", "xai", "groq", "deepseek", "kimi", "minimax", "glm", "qwen",
	"cerebras", "together", "fireworks", "cohere", "nvidia", "huggingface", "perplexity", "deepinfra", "baseten", "ollama", "ollama-cloud",
	"lmstudio", "llama.cpp", "vllm", "sglang",
}

// agentKeys are the keys of [agents.NAME], an agent that answers within its limits. A project's file, which may come with a cloned
// repository, sets none of them.
var agentKeys = []*Key{
	{
		Name: "model", Type: TypeText, Project: ProjectNever, example: `"gpt-5-mini"`,
		Doc:      "Name of the model; unset goes by the key in the environment.",
		setAgent: func(a *Agent, v any) { a.Model = v.(string) },
	},
	{
		Name: "provider", Type: TypeChoice, Default: "auto", Choices: agentProviders, Project: ProjectNever,
		Doc:      "Whose API it is; auto goes by the name and the keys in the environment. All but openai and anthropic need base_url.",
		setAgent: func(a *Agent, v any) { a.Provider = textUnless(v.(string), "auto") },
	},
	{
		Name: "base_url", Type: TypeURL, Project: ProjectNever, example: `"http://127.0.0.1:11434/v1"`,
		Doc:      "Address of the API; unset is the provider's own.",
		setAgent: func(a *Agent, v any) { a.BaseURL = v.(string) },
	},
	{
		Name: "key_env", Type: TypeVariable, Project: ProjectNever, example: `"OPENAI_API_KEY"`,
		Doc:      "Variable that holds the API's key; unset is the provider's usual one.",
		setAgent: func(a *Agent, v any) { a.KeyEnv = v.(string) },
	},
	{
		Name: "builtin", Type: TypeChoice, Default: "none", Choices: []string{"none", "argocd"}, Project: ProjectNever,
		Doc:      "Built-in agent that fills in what this one does not say.",
		setAgent: func(a *Agent, v any) { a.Builtin = textUnless(v.(string), "none") },
	},
	{
		Name: "prompt", Type: TypeText, Project: ProjectNever, max: maxPrompt, example: `"You answer questions about our clusters."`,
		Doc:      "The system prompt, in the place of the composed one.",
		setAgent: func(a *Agent, v any) { a.Prompt = v.(string) },
	},
	{
		Name: "prompt_file", Type: TypeNearFile, Project: ProjectNever, example: `"prompt.md"`,
		Doc:      "File that holds the system prompt; a relative path begins at the folder of the configuration file.",
		setAgent: func(a *Agent, v any) { a.PromptFile = v.(string) },
	},
	{
		Name: "intro", Type: TypeText, Project: ProjectNever, max: maxPrompt, example: `"You look after the clusters of ACME."`,
		Doc:      "Beginning of the composed system prompt.",
		setAgent: func(a *Agent, v any) { a.Intro = v.(string) },
	},
	{
		Name: "servers", Type: TypeServers, Project: ProjectNever, example: `["argocd"]`,
		Doc:      "MCP servers by their names below [mcp.servers] or [a2a]; argocd stands for [mcp.argocd], memory for what is remembered.",
		setAgent: func(a *Agent, v any) { a.Servers = slices.Clone(v.([]string)) },
	},
	{
		Name: "window", Type: TypeAutoCount, Default: "auto", Project: ProjectNever, min: minTokens, max: maxTokens, example: "200000",
		Doc:      "Context window in tokens; auto is what is known of the model.",
		setAgent: func(a *Agent, v any) { a.Window = max(v.(int), 0) },
	},
	{
		Name: "max_output", Type: TypeAutoCount, Default: "auto", Project: ProjectNever, min: 16, max: maxTokens, example: "8192",
		Doc:      "Most tokens of one answer; auto is what is known of the model.",
		setAgent: func(a *Agent, v any) { a.MaxOutput = max(v.(int), 0) },
	},
	{
		Name: "summarizer", Type: TypeChoice, Default: "model", Choices: []string{"off", "extractive", "model"}, Project: ProjectNever,
		Doc:      "How old turns are summarised: not at all, from their own sentences, or by the agent's model.",
		setAgent: func(a *Agent, v any) { a.Summarizer = v.(string) },
	},
	{
		Name: "trigger", Type: TypeRatio, Default: "0.8", Project: ProjectNever, min: 10, max: 99, example: "0.8",
		Doc:      "Part of the window at which the history is shortened.",
		setAgent: func(a *Agent, v any) { a.Trigger = v.(float64) },
	},
	{
		Name: "target", Type: TypeAutoRatio, Default: "auto", Project: ProjectNever, min: 10, max: 95, example: "0.5",
		Doc:      "Part of the window in use afterwards; auto is 0.2, or a quarter of a trigger below 0.8.",
		setAgent: func(a *Agent, v any) { a.Target = max(v.(float64), 0) },
	},
	{
		Name: "max_steps", Type: TypeCount, Default: "20", Project: ProjectNever, min: 1, max: 1000, example: "20",
		Doc:      "Requests to the model for one question; the last one is without tools.",
		setAgent: func(a *Agent, v any) { a.MaxSteps = v.(int) },
	},
	{
		Name: "max_history_messages", Type: TypeCount, Default: "40", Project: ProjectNever, min: 2, max: 10000, example: "40",
		Doc:      "Messages of a conversation that are kept, in whole turns.",
		setAgent: func(a *Agent, v any) { a.MaxHistoryMessages = v.(int) },
	},
	{
		Name: "max_step_result_size", Type: TypeSize, Default: "8K", Project: ProjectNever, min: 64, max: int64(64 * limit.MiB), example: `"8K"`,
		Doc:      "What is kept of one call's result while its question is answered.",
		setAgent: func(a *Agent, v any) { a.MaxStepResult = v.(limit.Bytes) },
	},
	{
		Name: "tool_call_history_size", Type: TypeCount, Default: "10", Project: ProjectNever, min: 2, max: 1000, example: "10",
		Doc:      "Calls that are remembered to notice loops.",
		setAgent: func(a *Agent, v any) { a.CallHistory = v.(int) },
	},
	{
		Name: "identical_calls", Type: TypeCount, Default: "4", Project: ProjectNever, min: 2, max: 1000, example: "4",
		Doc:      "Equal calls among those, with equal results, that are a loop; at most tool_call_history_size.",
		setAgent: func(a *Agent, v any) { a.Identical = v.(int) },
	},
	{
		Name: "max_parallel", Type: TypeCount, Default: "8", Project: ProjectNever, min: 1, max: 256, example: "8",
		Doc:      "Calls of one step that run at once.",
		setAgent: func(a *Agent, v any) { a.MaxParallel = v.(int) },
	},
	{
		Name: "max_queries", Type: TypeCount, Default: "64", Project: ProjectNever, min: 1, max: 10000, example: "64",
		Doc:      "Questions that are answered at once; one more is refused.",
		setAgent: func(a *Agent, v any) { a.MaxQueries = v.(int) },
	},
	{
		Name: "tool_timeout", Type: TypeDuration, Default: "2m", Project: ProjectNever, min: int64(time.Millisecond), max: int64(24 * time.Hour), example: `"2m"`,
		Doc:      "How long one call may take.",
		setAgent: func(a *Agent, v any) { a.ToolTimeout = v.(time.Duration) },
	},
	{
		Name: "model_timeout", Type: TypeDuration, Default: "10m", Project: ProjectNever, min: int64(time.Second), max: int64(24 * time.Hour), example: `"10m"`,
		Doc:      "How long one request to the model may take.",
		setAgent: func(a *Agent, v any) { a.ModelTimeout = v.(time.Duration) },
	},
	{
		Name: "search_forced", Type: TypeBool, Default: "false", Project: ProjectNever, example: "false",
		Doc:      "Whether the composed system prompt demands a search before any listing.",
		setAgent: func(a *Agent, v any) { a.SearchForced = v.(bool) },
	},
	{
		Name: "a2a", Type: TypeBool, Default: "true", Project: ProjectNever, example: "true",
		Doc:      "Whether plimsoll serve offers the agent over A2A, at /a2a/NAME.",
		setAgent: func(a *Agent, v any) { a.A2A = v.(bool) },
	},
}

// agentsTable is the name of the table [agents.NAME].
const agentsTable = "agents"

func init() {
	for _, k := range agentKeys {
		k.Table = agentsTable
	}
}

// textUnless returns a text, or "" if it is word, which stands for no value.
func textUnless(text, word string) string {
	if text == word {
		return ""
	}
	return text
}

// instanceKeys are the keys of [mcp.argocd.NAME], about access to one Argo CD. A project's file, which may come with a cloned repository,
// sets none of them.
var instanceKeys = []*Key{
	{
		Name: "url", Type: TypeAnyURL, Project: ProjectNever, example: `"https://argocd.example.com"`,
		Doc:         "Address of the Argo CD server.",
		setInstance: func(s *ArgoCDInstance, v any) { s.URL = v.(string) },
	},
	{
		Name: "context", Type: TypeText, Project: ProjectNever, example: `"argocd.example.com"`,
		Doc:         "Context of the argocd command's configuration, which fills in what the other keys do not say; its token and certificates only for its own server.",
		setInstance: func(s *ArgoCDInstance, v any) { s.Context = v.(string) },
	},
	{
		Name: "token", Type: TypeVariable, Project: ProjectNever, example: `"ARGOCD_AUTH_TOKEN"`,
		Doc:         "Variable that holds the token.",
		setInstance: func(s *ArgoCDInstance, v any) { s.Token = v.(string) },
	},
	{
		Name: "token_file", Type: TypeFile, Project: ProjectNever, example: `"/var/run/secrets/argocd/token"`,
		Doc:         "File that holds the token; read again when it changes.",
		setInstance: func(s *ArgoCDInstance, v any) { s.TokenFile = v.(string) },
	},
	{
		Name: "token_command", Type: TypeArgv, Project: ProjectNever, example: `["vault", "read", "-field=token", "secret/argocd"]`,
		Doc:         "Command that prints the token, run without a shell, and again a minute before the token ends.",
		setInstance: func(s *ArgoCDInstance, v any) { s.TokenCommand = slices.Clone(v.([]string)) },
	},
	{
		Name: "headers", Type: TypePairs, Project: ProjectNever, example: `["X-Proxy-Token=PROXY_TOKEN"]`,
		Doc:         "Further headers, each as NAME=VARIABLE.",
		setInstance: func(s *ArgoCDInstance, v any) { s.Headers = slices.Clone(v.([]string)) },
	},
	{
		Name: "ca", Type: TypeFile, Project: ProjectNever, example: `"/etc/ssl/company.pem"`,
		Doc:         "Certificates that the server's is checked against; unset means the system's.",
		setInstance: func(s *ArgoCDInstance, v any) { s.CA = v.(string) },
	},
	{
		Name: "cert", Type: TypeFile, Project: ProjectNever, example: `"/etc/ssl/me.pem"`,
		Doc:         "Client certificate, where the server wants one.",
		setInstance: func(s *ArgoCDInstance, v any) { s.Cert = v.(string) },
	},
	{
		Name: "key", Type: TypeFile, Project: ProjectNever, example: `"/etc/ssl/me.key"`,
		Doc:         "File with the key of cert.",
		setInstance: func(s *ArgoCDInstance, v any) { s.Key = v.(string) },
	},
	{
		Name: "insecure", Type: TypeBool, Project: ProjectNever, example: "false",
		Doc:         "Whether the server's certificate goes unchecked; each start warns of it.",
		setInstance: func(s *ArgoCDInstance, v any) { s.Insecure = v.(bool) },
	},
	{
		Name: "default", Type: TypeBool, Project: ProjectNever, example: "true",
		Doc:         "Whether calls that name no instance go here; without one they go to the first by name.",
		setInstance: func(s *ArgoCDInstance, v any) { s.Default = v.(bool) },
	},
}

// instancesTable is the name of the table [mcp.argocd.NAME].
const instancesTable = "mcp.argocd"

func init() {
	for _, k := range instanceKeys {
		k.Table = instancesTable
	}
}
