package agents

import (
	"net"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/agent/clouds"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/window/models"
)

// A service has models for which a name and a key suffice: its address and the variable of its key are known, from its own documentation.
// The address of a service with OpenAI's protocol is the one for that.
type service struct {
	name      string   // as --model takes it, and as package models names it
	keys      []string // variables that may hold its key; the first that is set counts
	url       string   // base URL; "" is that of [upstream]
	urlVars   []string // variables of its own library, and of the original, for another address
	modelVars []string
	model     string // the default model; "" if there is none
	local     bool   // it runs on this machine and needs no key
	cloud     bool   // models of others, at addresses and with credentials of its own (clouds.go)
}

// services are in the order in which their keys count if several are set.
var services = []service{
	{name: "anthropic", keys: []string{"ANTHROPIC_API_KEY"}, urlVars: []string{"ANTHROPIC_BASE_URL"}, modelVars: []string{"ANTHROPIC_MODEL", "ANTHROPIC_MODEL_NAME"}, model: defaultAnthropic},
	{name: "openai", keys: []string{"OPENAI_API_KEY"}, urlVars: []string{"OPENAI_BASE_URL", "OPENAI_ENDPOINT"}, modelVars: []string{"OPENAI_MODEL", "OPENAI_MODEL_NAME"}, model: defaultOpenAI},
	{name: "gemini", keys: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, urlVars: []string{"GOOGLE_GEMINI_BASE_URL"}, modelVars: []string{"GEMINI_MODEL", "GOOGLE_GEMINI_MODEL_NAME"}, model: "gemini-flash-latest"},
	{name: "openrouter", keys: []string{"OPENROUTER_API_KEY"}, url: "https://openrouter.ai/api/v1", model: "openrouter/auto"},
	{name: "groq", keys: []string{"GROQ_API_KEY"}, url: "https://api.groq.com/openai/v1", model: "openai/gpt-oss-120b"},
	{name: "mistral", keys: []string{"MISTRAL_API_KEY"}, url: "https://api.mistral.ai/v1", model: "mistral-medium-latest"},
	{name: "deepseek", keys: []string{"DEEPSEEK_API_KEY"}, url: "https://api.deepseek.com", model: "deepseek-v4-flash"},
	{name: "xai", keys: []string{"XAI_API_KEY"}, url: "https://api.x.ai/v1", model: "grok-4.5"},
	{name: "together", keys: []string{"TOGETHER_API_KEY"}, url: "https://api.together.xyz/v1", model: "openai/gpt-oss-120b"},
	{name: "cerebras", keys: []string{"CEREBRAS_API_KEY"}, url: "https://api.cerebras.ai/v1", model: "gpt-oss-120b"},
	{name: "azure", keys: []string{"AZURE_OPENAI_API_KEY"}, urlVars: []string{"AZURE_OPENAI_ENDPOINT"}, modelVars: []string{"AZURE_OPENAI_DEPLOYMENT"}, cloud: true},
	{name: "vertex", urlVars: []string{"GOOGLE_VERTEX_BASE_URL"}, modelVars: []string{"VERTEXAI_MODEL_NAME"}, cloud: true},
	{name: "bedrock", urlVars: []string{"AWS_ENDPOINT_URL_BEDROCK_RUNTIME"}, modelVars: []string{"AWS_BEDROCK_MODEL_ID"}, cloud: true},
	{name: "ollama", url: "http://127.0.0.1:11434/v1", urlVars: []string{"OLLAMA_HOST"}, local: true},
	{name: "lmstudio", url: "http://127.0.0.1:1234/v1", local: true},
}

// serviceOf returns the service with a name, which may be another one that package models knows ("google"); nil if there is none.
func serviceOf(name string) *service {
	folded := models.Provider(name)
	for i := range services {
		if s := &services[i]; s.name == strings.ToLower(name) || folded != "" && s.name == folded {
			return s
		}
	}
	return nil
}

// serviceNames returns the names of all services, for people.
func serviceNames() string {
	names := make([]string, len(services))
	for i, s := range services {
		names[i] = s.name
	}
	return strings.Join(names, ", ")
}

// Services returns the beginnings of values of --model, as "openai/".
func Services() []string {
	names := make([]string, len(services))
	for i, s := range services {
		names[i] = s.name + "/"
	}
	return names
}

// otherKeys returns the variables with keys of other services that are set too, if the model was chosen by a key; else nil.
func otherKeys(m modelChoice, getenv func(string) string) (names []string) {
	if !slices.Contains(keyVariables(), m.why) {
		return nil
	}
	for i := range services {
		if s := &services[i]; s.name != m.provider && s.hasKey(getenv) {
			names = append(names, s.keyVariable(getenv))
		}
	}
	return names
}

// keyVariables returns the variables that may hold a key of any service.
func keyVariables() (names []string) {
	for _, s := range services {
		names = append(names, s.keys...)
	}
	return names
}

// keyLines returns the variables of keys in lines of four, for people.
func keyLines() string {
	var lines []string
	for few := range slices.Chunk(keyVariables(), 4) {
		lines = append(lines, strings.Join(few, ", "))
	}
	return strings.Join(lines, ",\n  ")
}

// keyVariable returns the variable that holds the service's key: the first that is set, or the first of all; "" if it needs none.
func (s *service) keyVariable(getenv func(string) string) string {
	for _, name := range s.keys {
		if strings.TrimSpace(getenv(name)) != "" {
			return name
		}
	}
	if len(s.keys) == 0 {
		return ""
	}
	return s.keys[0]
}

// hasKey reports whether a variable of the service's key is set.
func (s *service) hasKey(getenv func(string) string) bool {
	return len(s.keys) > 0 && strings.TrimSpace(getenv(s.keyVariable(getenv))) != ""
}

// address returns the base URL of the service, by its variables, the settings, or its documentation.
func (s *service) address(u config.UpstreamSettings, getenv func(string) string) string {
	if set := firstSet(getenv, s.urlVars); set != "" {
		return s.addressOf(set)
	}
	switch s.name {
	case "vertex":
		return clouds.VertexURL(vertexLocation(getenv))
	case "bedrock":
		if region := awsRegion(getenv); region != "" {
			return clouds.BedrockURL(region)
		}
	case "anthropic":
		return u.Anthropic
	case "openai":
		return u.OpenAI
	case "gemini":
		return u.Gemini
	}
	return s.url
}

// firstSet returns the value, without blanks around it, of the first variable that is not empty; "" if all are.
func firstSet(getenv func(string) string, names []string) string {
	for _, name := range names {
		if set := strings.TrimSpace(getenv(name)); set != "" {
			return set
		}
	}
	return ""
}

// addressOf returns the address in the service's own variable. OLLAMA_HOST is a host with or without a port and a scheme; one that means
// all addresses, for listening, becomes loopback.
func (s *service) addressOf(set string) string {
	if s.name != "ollama" {
		return set
	}
	if scheme, rest, ok := strings.Cut(set, "://"); ok {
		if strings.Contains(strings.TrimSuffix(rest, "/"), "/") {
			return set
		}
		return scheme + "://" + strings.TrimSuffix(rest, "/") + "/v1"
	}
	host, port, err := net.SplitHostPort(set)
	if err != nil {
		host, port = strings.Trim(set, "[]"), "11434"
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port) + "/v1"
}
