package profile

import (
	"net/url"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

var _ = add(Agent{
	Name: "qwen", Title: "Qwen Code", Aliases: []string{"qwen-code"}, Packages: []string{"@qwen-code/qwen-code"},
	InitialEstimate: 1792 * limit.MiB, // twice the largest turn that was measured (PSS 264-869 MB): room for the build or test that it starts
	Source:          "measured: 0.24.4", Compacts: true, plan: planQwen, trusts: func(w *planner) bool { return readGemini(w, qwenFolder).trusted },
	Resume: "qwen --continue",

	ServerFiles: func(h Home) []string { return []string{h.path(qwenFolder, "settings.json")} },
	ServerNames: []string{"/.qwen/settings.json"},

	UserAgent: "QwenCode/", Patience: time.Minute,
})

// qwenFolder is the name of Qwen Code's folder of settings, in a home and in a project. [readGemini] reads them, because Qwen Code grew
// from Gemini CLI.
const qwenFolder = ".qwen"

// Qwen Code 0.24, measured over its three protocols with --auth-type.
//
// OPENAI_BASE_URL (with /v1), ANTHROPIC_BASE_URL and GOOGLE_GEMINI_BASE_URL take the
// address. It knows some services by their host and sends them more (DashScope gets cache
// marks and metadata), so for these an address of ours would not be neutral.

// qwenHosts are parts of the hosts of services that Qwen Code treats specially.
var qwenHosts = []string{"dashscope", "aliyuncs.com", "openrouter.ai", "deepseek.com", "modelscope", "mistral.ai", "minimax", "z.ai", "bigmodel.cn"}

// planQwen sets the address of Qwen Code if it asks OpenAI's, Anthropic's or Gemini's protocol with a key. Other logins, and hosts that it treats
// in a special way, have no proxy.
func planQwen(w *planner) {
	s := readGemini(w, qwenFolder)
	if w.refuseIfObeyed(s.project) {
		return
	}
	w.passedOver(s.ignored)
	auth := s.selected
	if flags := w.flags("--auth-type"); len(flags) > 0 {
		auth = flags[len(flags)-1].value
	}
	if auth == "" {
		switch {
		case s.get("OPENAI_API_KEY") != "":
			auth = "openai"
		case s.get("ANTHROPIC_API_KEY") != "":
			auth = "anthropic"
		case s.get("GEMINI_API_KEY") != "":
			auth = "gemini"
		}
	}
	if s.providers {
		w.refuse("Qwen Code's settings list modelProviders with addresses of their own, for which there is no profile")
		return
	}
	variable, provider := "", auth
	switch auth {
	case "openai":
		variable = "OPENAI_BASE_URL"
	case "anthropic":
		variable = "ANTHROPIC_BASE_URL"
	case "gemini":
		variable = geminiBase
	case "":
		w.refuse("Qwen Code is not logged in, so the host of the coming login is unknown; start it with --auth-type openai, anthropic or gemini and a key")
		return
	default:
		w.refuse("Qwen Code is logged in by %s, for which there is no profile; with an API key it can go through", clip(auth))
		return
	}
	own, origin := s.get(variable), variable
	flags := w.flags("--openai-base-url", "--openaiBaseUrl")
	switch {
	case auth == "openai" && len(flags) > 0:
		own, origin = flags[len(flags)-1].value, "--openai-base-url"
	case own == "" && s.baseURL != "":
		own, origin = s.baseURL, "security.auth.baseUrl"
	case own == "":
		own, origin = w.usualAddress(provider), "[upstream] "+provider
	}
	if u, err := url.Parse(own); err == nil {
		for _, host := range qwenHosts {
			if strings.Contains(strings.ToLower(u.Host), host) {
				w.refuse("Qwen Code knows %s by its address and would send it less through another", clip(u.Hostname()))
				return
			}
		}
	}
	base := w.through(provider, provider, own, origin)
	if base == "" {
		return
	}
	if origin == "--openai-base-url" {
		w.replace(flags[len(flags)-1], base)
	}
	w.set(variable, base)
}
