package models

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Provider returns the catalogue's name of a provider, given another name of it or an address ("https://api.groq.com/openai/v1" is "groq").
// An address that is not known may have the provider whose protocol it speaks in front: "openai+http://127.0.0.1:4000" is "openai". For
// anything else it returns "".
func Provider(upstream string) string {
	return serverOf(upstream).provider
}

// OwnModels reports whether a provider answers with models of its own whatever name a request has: clients that know only Claude ask these for
// "claude-opus-5-5" (api-docs.deepseek.com, anthropic_api; docs.z.ai, claude; platform.kimi.ai and platform.minimax.io, claude code; 2026-11).
func OwnModels(provider string) bool {
	switch provider {
	case "deepseek", "kimi", "glm", "minimax":
		return true
	}
	return false
}

// A server holds what follows from the name of an upstream.
type server struct {
	provider string // by its address or else by its protocol
	at       string // by its address alone
	private  bool
}

// serverOf returns what is known of an upstream, which is a provider's name, an address or both. It remembers the results.
func serverOf(upstream string) server {
	if s, ok := upstreams.Get(upstream); ok {
		return s
	}
	protocol, address := splitUpstream(upstream)
	s := server{at: providerOf(address), private: isPrivate(address)}
	if s.provider = s.at; s.provider == "" {
		s.provider = providerOf(protocol)
	}
	if len(upstream) <= maxKept {
		upstreams.Put(strings.Clone(upstream), s)
	}
	return s
}

// splitUpstream returns the two parts of "openai+http://127.0.0.1:4000"; a name of one part is returned as both.
func splitUpstream(upstream string) (protocol, address string) {
	protocol, address, ok := strings.Cut(upstream, "+")
	if ok && strings.Contains(address, "://") && !strings.ContainsAny(protocol, ":.") {
		return protocol, address
	}
	return upstream, upstream
}

// MayTruncate reports whether a server might silently cut a long input of a model: one that a user runs, or an unknown one, with a model
// that anybody can run. The providers known here refuse it, and so does any gateway's provider for models that only their makers serve; if
// such a one reports less input than was sent, the cause is another, such as a client's own clear_* edits, or cached tokens that the
// gateway left out.
func MayTruncate(upstream, model string) bool {
	if at := serverOf(upstream).at; at != "" && !isLocal(at) {
		return false
	}
	return !slices.ContainsFunc(parseName(model).spellings, isClosed)
}

// CutsSilently reports whether a server is assumed to cut a long input silently before it was seen to do so: among those that may
// ([MayTruncate]), servers of Ollama, LM Studio or llama.cpp by their name or port, and unknown servers on this machine or in a private
// network. A server of models at a public address refuses an input that is too long.
func CutsSilently(upstream, model string) bool {
	s := serverOf(upstream)
	return (isLocal(s.at) || s.private) && MayTruncate(upstream, model)
}

// isPrivate reports whether an address is on this machine or in a private network, judged by its text alone: no name is looked up. A name
// without a public suffix counts as private, and so do an address without encryption and any other text.
func isPrivate(address string) bool {
	u, err := url.Parse(strings.ToLower(address))
	if err != nil || u.Host == "" {
		return true // a name that somebody gave it: all that is known is that it is none of the providers
	}
	host := strings.TrimSuffix(u.Hostname(), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		return u.Scheme != "https" || ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() || sharedNetwork.Contains(ip.Unmap())
	}
	_, top, dotted := cutLast(host, '.')
	return u.Scheme != "https" || !dotted || slices.Contains([]string{"localhost", "local", "internal", "lan", "intranet", "corp", "private", "home", "arpa", "test"}, top)
}

// sharedNetwork is the address space of carriers (RFC 6598), which users' overlay networks use too.
var sharedNetwork = netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 64, 0, 0}), 10)

// closed are the beginnings of the names of models that only their makers serve.
var closed = []string{"claude-", "gemini-", "gpt-", "chatgpt-", "codex-", "o1", "o3", "o4", "grok-"}

// isClosed reports whether a folded name is a model that its maker alone serves, and not an open model that others serve with other
// windows.
func isClosed(spelled string) bool {
	if strings.HasPrefix(spelled, "gpt-oss") {
		return false
	}
	return slices.ContainsFunc(closed, func(begin string) bool {
		rest, ok := strings.CutPrefix(spelled, begin)
		return ok && (strings.HasSuffix(begin, "-") || rest == "" || rest[0] == '-')
	})
}

// providerOf returns the catalogue's provider for a name or an address, "" for an unknown one.
func providerOf(upstream string) string {
	upstream = strings.ToLower(strings.TrimSpace(upstream))
	for _, pair := range aliases {
		if pair[0] == upstream {
			return pair[1]
		}
	}
	if !strings.ContainsAny(upstream, ".:") {
		return ""
	}
	_, host, found := strings.Cut(upstream, "://")
	if !found {
		host = upstream
	}
	if i := strings.IndexAny(host, "/?#"); i >= 0 {
		host = host[:i]
	}
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	for _, h := range hosts {
		if strings.HasSuffix(host, h.port) && h.port != "" {
			return h.provider
		}
	}
	if i := strings.LastIndexByte(host, ':'); i >= 0 {
		host = host[:i]
	}
	for _, h := range hosts {
		if h.port != "" || !strings.HasSuffix(host, h.domain) {
			continue
		}
		if rest := host[:len(host)-len(h.domain)]; h.part == "" && (rest == "" || rest[len(rest)-1] == '.') || h.part != "" && strings.Contains(host, h.part) {
			return h.provider
		}
	}
	return ""
}

// aliases are pairs of a name for a provider and ours. An array costs nothing when the program starts, a map would be filled then.
var aliases = [...][2]string{
	{"openai", "openai"},
	{"chatgpt", "openai"},
	{"codex", "openai"},
	{"anthropic", "anthropic"},
	{"anthropic-claude", "anthropic"},
	{"claude", "anthropic"},
	{"gemini", "gemini"},
	{"google", "gemini"},
	{"google-gemini", "gemini"},
	{"vertex", "vertex"},
	{"gcp-vertexai", "vertex"},
	{"google-vertex", "vertex"},
	{"vertexai", "vertex"},
	{"vertex_ai", "vertex"},
	{"bedrock", "bedrock"},
	{"aws-bedrock", "bedrock"},
	{"amazon-bedrock", "bedrock"},
	{"azure", "azure"},
	{"azure-openai", "azure"},
	{"azure_openai", "azure"},
	{"copilot", "copilot"},
	{"github-copilot", "copilot"},
	{"openrouter", "openrouter"},
	{"mistral", "mistral"},
	{"xai", "xai"},
	{"groq", "groq"},
	{"deepseek", "deepseek"},
	{"kimi", "kimi"},
	{"moonshot", "kimi"},
	{"moonshotai", "kimi"},
	{"minimax", "minimax"},
	{"glm", "glm"},
	{"zai", "glm"},
	{"zhipu", "glm"},
	{"zhipuai", "glm"},
	{"qwen", "qwen"},
	{"alibaba", "qwen"},
	{"dashscope", "qwen"},
	{"cerebras", "cerebras"},
	{"together", "together"},
	{"togetherai", "together"},
	{"fireworks", "fireworks"},
	{"fireworks-ai", "fireworks"},
	{"cohere", "cohere"},
	{"nvidia", "nvidia"},
	{"huggingface", "huggingface"},
	{"opencode", "opencode"},
	{"llama", "llama"},
	{"ollama-cloud", "ollama-cloud"},
	{"perplexity", "perplexity"},
	{"deepinfra", "deepinfra"},
	{"baseten", "baseten"},
	{"ollama", "ollama"},
	{"lmstudio", "lmstudio"},
	{"llama.cpp", "llama.cpp"},
	{"llamacpp", "llama.cpp"},
	{"vllm", "vllm"},
	{"sglang", "sglang"},
}

// hosts are tried in order, those with a port first; part is a piece of a host name that has a region inside.
var hosts = [...]struct{ domain, part, port, provider string }{
	{port: ":11434", provider: "ollama"},
	{port: ":1234", provider: "lmstudio"},
	{domain: "openai.azure.com", provider: "azure"},
	{domain: "ai.azure.com", provider: "azure"},
	{domain: "cognitiveservices.azure.com", provider: "azure"},
	{domain: "openai.com", provider: "openai"},
	{domain: "chatgpt.com", provider: "openai"},
	{domain: "anthropic.com", provider: "anthropic"},
	{domain: "generativelanguage.googleapis.com", provider: "gemini"},
	{domain: "cloudcode-pa.googleapis.com", provider: "gemini"},
	{domain: "aiplatform.googleapis.com", part: "aiplatform", provider: "vertex"},
	{domain: "amazonaws.com", part: "bedrock", provider: "bedrock"},
	{domain: "githubcopilot.com", provider: "copilot"},
	{domain: "openrouter.ai", provider: "openrouter"},
	{domain: "mistral.ai", provider: "mistral"},
	{domain: "x.ai", provider: "xai"},
	{domain: "groq.com", provider: "groq"},
	{domain: "deepseek.com", provider: "deepseek"},
	{domain: "moonshot.ai", provider: "kimi"},
	{domain: "moonshot.cn", provider: "kimi"},
	{domain: "kimi.com", provider: "kimi"},
	{domain: "minimax.io", provider: "minimax"},
	{domain: "minimaxi.com", provider: "minimax"},
	{domain: "z.ai", provider: "glm"},
	{domain: "bigmodel.cn", provider: "glm"},
	{domain: "aliyuncs.com", provider: "qwen"},
	{domain: "cerebras.ai", provider: "cerebras"},
	{domain: "together.xyz", provider: "together"},
	{domain: "together.ai", provider: "together"},
	{domain: "fireworks.ai", provider: "fireworks"},
	{domain: "cohere.com", provider: "cohere"},
	{domain: "cohere.ai", provider: "cohere"},
	{domain: "api.nvidia.com", provider: "nvidia"},
	{domain: "huggingface.co", provider: "huggingface"},
	{domain: "opencode.ai", provider: "opencode"},
	{domain: "llama.com", provider: "llama"},
	{domain: "ollama.com", provider: "ollama-cloud"},
	{domain: "perplexity.ai", provider: "perplexity"},
	{domain: "deepinfra.com", provider: "deepinfra"},
	{domain: "baseten.co", provider: "baseten"},
}

// isLocal reports whether a provider is a kind of server whose window its user sets.
func isLocal(provider string) bool {
	return provider == "ollama" || provider == "lmstudio" || provider == "llama.cpp"
}
