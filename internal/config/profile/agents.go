package profile

import (
	"path/filepath"
	"strings"

	"github.com/plimsoll/plimsoll/limit"
)

var _ = add(Agent{
	Name: "aider", Title: "aider", Aliases: []string{"aider-chat"}, Packages: []string{"aider-chat"},
	InitialEstimate: 1024 * limit.MiB, // not measured: one Python process
	Source:          "documentation", Clouds: true, plan: planAider,
	Resume: "aider --restore-chat-history",
})

// planAider sets the addresses of aider. By its documentation it takes --openai-api-base, AIDER_OPENAI_API_BASE or the same key in
// .aider.conf.yml over OPENAI_API_BASE; for Anthropic its library reads ANTHROPIC_API_BASE, then ANTHROPIC_BASE_URL, without /v1.
func planAider(w *planner) {
	if len(w.flags("--openai-api-base")) > 0 {
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
		if w.isUsersFile(dir) {
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
	if w.obeyed(project) {
		return
	}
	if own != "" {
		variable, address = "AIDER_OPENAI_API_BASE", own
	}
	origin := variable
	if address == "" {
		address, origin = w.usualAddress("openai"), "[upstream] openai"
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

// upperNames returns the keys of a YAML file as names of variables: openai-api-base becomes OPENAI_API_BASE.
func upperNames(lines map[string]string) map[string]string {
	variables := map[string]string{}
	for name, value := range lines {
		variables[strings.ToUpper(strings.ReplaceAll(name, "-", "_"))] = value
	}
	return variables
}

var _ = add(Agent{
	Name: "cline", Title: "Cline", Packages: []string{"cline"},
	InitialEstimate: 1024 * limit.MiB, // of the measured memory of one turn (PSS 361 MB), with room for the build or test that it starts
	Source:          "measured: 3.0.65", Compacts: true, plan: planCline,

	ServerNames: []string{"/cline_mcp_settings.json"},
	MCPClient:   "cline", // it cuts nothing and hands everything to the model
})

// planCline refuses. Cline 3.0, measured: `cline auth -b URL` writes the address into its own data; there is no variable or flag for one
// start.
func planCline(w *planner) {
	w.refuse("Cline takes an address only by cline auth -b URL, into its own data; give it the address of plimsoll serve that way")
}

var _ = add(Agent{
	Name: "cn", Title: "Continue", Packages: []string{"@continuedev/cli"},
	InitialEstimate: 1024 * limit.MiB, // of the measured memory of one turn (peak 244 MiB), with room for the build or test that it starts
	Source:          "measured: 1.5.47", Compacts: true, plan: planContinue,
	Resume: "cn --resume",
})

// planContinue refuses. The command line of Continue, measured, takes an address only by apiBase of a model in its YAML; there is no
// variable, and --config replaces the user's whole file.
func planContinue(w *planner) {
	w.refuse("Continue takes an address only by apiBase of a model in its config.yaml; give it the address of plimsoll serve there")
}

var _ = add(Agent{
	Name: "copilot", Title: "Copilot CLI", Aliases: []string{"copilot-cli"}, Packages: []string{"@github/copilot"},
	InitialEstimate: 1024 * limit.MiB, // of the measured memory of one turn (PSS 280 MB), with room for the build or test that it starts
	Source:          "measured: 1.0.102", Compacts: true, plan: planCopilot,
	Resume: "copilot --continue",

	ServerFiles: func(h Home) []string { return []string{h.path(".copilot", "mcp-config.json")} },
	ServerNames: []string{"/.copilot/mcp-config.json"},
})

// planCopilot sets the address of Copilot CLI 1.0, measured with a provider of one's own: COPILOT_PROVIDER_BASE_URL takes the address,
// COPILOT_PROVIDER_TYPE the protocol. Without these it uses the models of a GitHub login, whose hosts it learns from the login.
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

// Generic is for programs without a profile of their own, to be used only when the user asks for a proxy.
var Generic = &Agent{Name: "generic", Title: "the program", Source: "documentation", Clouds: true, plan: planGeneric}

// GenericNames lists, for people, the variables from which an unknown program may take its provider's address.
const GenericNames = "OPENAI_BASE_URL, ANTHROPIC_BASE_URL or " + geminiBase

// planGeneric sets the variables that the client libraries of the three providers read, and OPENAI_API_BASE, the older name that many
// programs still use.
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

var _ = add(Agent{
	Name: "goose", Title: "goose", Aliases: []string{"goose-cli"}, SharesName: "pressly/goose, which migrates databases",
	// Not measured: a native program like Codex (179 MB a turn) without that one's builds of a sandbox.
	InitialEstimate: 1024 * limit.MiB,
	Source:          "documentation", Compacts: true, plan: planGoose,
	Resume: "goose session --resume",

	MCPClient: "goose", ResultCap: 50_000, // it cuts at 200,000 characters; goose, goose-cli, goose-desktop
})

// planGoose sets the address of goose. By its documentation it reads GOOSE_PROVIDER and per provider OPENAI_HOST, ANTHROPIC_HOST and
// GOOGLE_HOST, without a version; variables win over config.yaml. It compacts at 80 % by itself.
func planGoose(w *planner) {
	lines := w.lines(joinBelow(w.agentHome().settings(), "goose", "config.yaml"))
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
		address, origin = w.usualAddress(provider), "[upstream] "+provider
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

// Kilo grew from opencode, and takes the address and servers as that does, under names of its own. Its own service, which a login leads to,
// goes around the proxy.
var _ = add(Agent{
	Name: "kilo", Title: "Kilo", Aliases: []string{"kilocode"}, Packages: []string{"@kilocode/cli"},
	InitialEstimate: 1536 * limit.MiB, // of the measured memory of one turn (peak 719 MiB), with room for the build or test that it starts
	Source:          "measured: 7.7.7", Compacts: true, plan: kiloNames.plan,
	Resume: "kilo --continue",

	ServerFiles: kiloNames.user,
	ServerNames: []string{"/kilo.json", "/kilo.jsonc"},
	Servers:     kiloNames.servers,

	UserAgent: "Kilo-Code/",
})

var kiloNames = openCodeForm{
	variables: "KILO", folder: "kilo", files: []string{"config.json", "kilo.json", "kilo.jsonc", "opencode.json", "opencode.jsonc"},
	project: []string{
		"opencode.json", "opencode.jsonc", "kilo.json", "kilo.jsonc", ".kilocode/opencode.json", ".kilocode/opencode.jsonc",
		".kilocode/kilo.json", ".kilocode/kilo.jsonc", ".kilo/opencode.json", ".kilo/opencode.jsonc", ".kilo/kilo.json", ".kilo/kilo.jsonc",
	},
}
