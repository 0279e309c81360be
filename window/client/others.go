package client

import (
	"path/filepath"
	"strings"

	"github.com/plimsoll/plimsoll/internal/lazy"
)

// Copilot CLI 1.0, measured with a provider of one's own: COPILOT_PROVIDER_BASE_URL takes
// the address, COPILOT_PROVIDER_TYPE the protocol. Without these it uses the models of a
// GitHub login, whose hosts it learns from the login.
func planCopilot(w *planner) {
	const variable = "COPILOT_PROVIDER_BASE_URL"
	if w.get(variable) == "" {
		w.refuse("Copilot CLI uses the models of a GitHub login, whose hosts it learns from the login; with COPILOT_PROVIDER_BASE_URL and a key of your own it can go through")
		return
	}
	switch kind := w.get("COPILOT_PROVIDER_TYPE"); kind {
	case "", "openai":
		w.variable(variable, "openai", "openai")
	case "anthropic":
		w.variable(variable, "anthropic", "anthropic")
	default:
		w.refuse("Copilot CLI's provider is of type %s, for which there is no profile", clip(kind))
	}
}

// Cline 3.0, measured: `cline auth -b URL` writes the address into its own data; there is
// no variable or flag for one start.
func planCline(w *planner) {
	w.refuse("Cline takes an address only by cline auth -b URL, into its own data; give it the address of plimsoll serve that way")
}

// goose, by its documentation: GOOSE_PROVIDER and per provider OPENAI_HOST,
// ANTHROPIC_HOST and GOOGLE_HOST, without a version; variables win over config.yaml. It
// compacts at 80 % by itself.
func planGoose(w *planner) {
	config := w.path(".config", "goose", "config.yaml")
	if v := w.get("XDG_CONFIG_HOME"); v != "" {
		config = filepath.Join(v, "goose", "config.yaml")
	}
	lines := w.lines(config)
	get := func(name string) string {
		if v := w.get(name); v != "" {
			return v
		}
		return lines[name]
	}
	names := map[string][2]string{"openai": {"OPENAI_HOST", "openai"}, "anthropic": {"ANTHROPIC_HOST", "anthropic"}, "google": {"GOOGLE_HOST", "gemini"}}
	name := get("GOOSE_PROVIDER")
	found, ok := names[name]
	if !ok {
		if name == "" {
			name = "none"
		}
		w.refuse("goose's provider is %s; there are profiles of openai, anthropic and google", clip(name))
		return
	}
	variable, provider := found[0], found[1]
	address, origin := get(variable), variable
	if address == "" {
		address, origin = w.usual(provider), "[upstream] "+provider
	} else if provider == "openai" {
		if path := get("OPENAI_BASE_PATH"); path != "" && path != "v1/chat/completions" {
			w.refuse("goose has an OPENAI_BASE_PATH of its own, for which there is no profile")
			return
		}
		address = strings.TrimRight(address, "/") + "/v1"
	}
	if base := w.through(provider, provider, address, origin); base != "" {
		w.set(variable, strings.TrimSuffix(base, "/v1")) // it adds v1/… itself
	}
}

// aider, by its documentation: it takes --openai-api-base, AIDER_OPENAI_API_BASE or the
// same key in .aider.conf.yml over OPENAI_API_BASE; for Anthropic its library reads
// ANTHROPIC_API_BASE, then ANTHROPIC_BASE_URL, without /v1.
func planAider(w *planner) {
	if len(w.flags("aider", "--openai-api-base")) > 0 {
		w.refuse("aider was given --openai-api-base, which wins over variables; set OPENAI_API_BASE in its place")
		return
	}
	variable, address := "OPENAI_API_BASE", w.get("OPENAI_API_BASE")
	own := w.get("AIDER_OPENAI_API_BASE")
	var project []claim
	for _, dir := range append(upwards(w.in.Dir), w.home) {
		if dir == "" {
			continue
		}
		name := filepath.Join(dir, ".aider.conf.yml")
		lines := w.lines(name)
		if w.users(dir) {
			if own == "" {
				own = lines["openai-api-base"]
			}
			continue
		}
		// aider takes the files of the repository without asking.
		project = append(project, claimsOf(name, upperNames(lines), nil)...)
		if text, err := w.read(filepath.Join(dir, ".env")); err == nil && text != nil {
			project = append(project, claimsOf(filepath.Join(dir, ".env"), dotenv(text), nil)...)
		}
	}
	if w.obeyed("aider", project) {
		return
	}
	if own != "" {
		variable, address = "AIDER_OPENAI_API_BASE", own
	}
	origin := variable
	if address == "" {
		address, origin = w.usual("openai"), "[upstream] openai"
	}
	if base := w.through("openai", "openai", address, origin); base != "" {
		w.set(variable, base)
	}
	if w.get("ANTHROPIC_API_BASE") != "" {
		w.variable("ANTHROPIC_API_BASE", "anthropic", "anthropic")
		return
	}
	w.variable("ANTHROPIC_BASE_URL", "anthropic", "anthropic")
}

// upperNames gives keys of a YAML file the form of variables: openai-api-base is OPENAI_API_BASE.
func upperNames(lines map[string]string) map[string]string {
	variables := map[string]string{}
	for name, value := range lines {
		variables[strings.ToUpper(strings.ReplaceAll(name, "-", "_"))] = value
	}
	return variables
}

// planGeneric sets what the client libraries of the three providers read, and
// OPENAI_API_BASE, the older name that many programs still use.
func planGeneric(w *planner) {
	w.variable("OPENAI_BASE_URL", "openai", "openai")
	if w.get("OPENAI_API_BASE") == "" && w.get("OPENAI_BASE_URL") != "" && w.out.Why == "" {
		// One address under both names, as the newer one says.
		w.set("OPENAI_API_BASE", w.out.Env[len(w.out.Env)-1].Value)
	} else {
		w.variable("OPENAI_API_BASE", "openai", "openai")
	}
	w.variable("ANTHROPIC_BASE_URL", "anthropic", "anthropic")
	w.variable(geminiBase, "gemini", "gemini")
}

var topLevelLine = lazy.Regexp(`^([A-Za-z_][A-Za-z0-9_-]*):[ \t]+["']?([^"'#]*[^"'# \t])["']?[ \t]*(#.*)?$`)

// lines reads the plain NAME: VALUE lines at the top level of a YAML file, which is where
// these tools keep addresses. Anything else in it is left alone.
func (w *planner) lines(name string) map[string]string {
	found := map[string]string{}
	text, err := w.read(name)
	if err != nil {
		w.note("%s could not be read and was passed over", name)
	}
	for line := range strings.Lines(string(text)) {
		if m := topLevelLine().FindStringSubmatch(strings.TrimRight(line, "\r\n")); m != nil && len(found) < 1000 {
			found[m[1]] = m[2]
		}
	}
	return found
}
