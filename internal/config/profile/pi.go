package profile

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/limit"
)

var _ = add(Agent{
	Name: "pi", Title: "pi", Packages: []string{"@earendil-works/pi-coding-agent", "@mariozechner/pi-coding-agent"},
	SharesName:      "the demonstration of CLN, which prints digits of pi",
	InitialEstimate: 1024 * limit.MiB, // of the measured memory of one turn (peak 118 MiB), with room for the build or test that it starts
	Source:          "measured: 1.6.0", Compacts: true, plan: planPi,
	Resume: "pi --continue",

	ServerFiles: func(h Home) []string { return []string{joinBelow(piFolder(h), "mcp.json")} },
	ServerNames: []string{"/.pi/agent/mcp.json", "/.pi/mcp.json"},

	UserAgent: "pi/",
})

func piFolder(h Home) string { return h.folder("PI_CODING_AGENT_DIR", h.path(".pi", "agent")) }

// piCommands are commands of pi that ask no model and take no flags before them.
var piCommands = []string{"auth", "config", "install", "list", "mcp", "remove", "uninstall", "update"}

// piProviders are built in, each with its address; piProtocols are those of providers that users describe themselves.
var (
	// piProviders are built into pi, each with its address; piProtocols are the protocols of providers that users describe themselves.
	piProviders = map[string]string{"anthropic": "anthropic", "google": "gemini", "openai": "openai"}
	piProtocols = map[string]string{
		"anthropic-messages": "anthropic", "google-generative-ai": "gemini", "openai-completions": "openai", "openai-responses": "openai",
	}
)

// planPi gives pi 1.6, measured, an extension by -e. It redirects providers and leaves their models, keys and logins as they are, wins over
// models.json, and is loaded with --no-extensions too. No variable takes an address. models.json is read from the user's own folder only;
// the extensions of a project that the user trusts are programs, and may do anything.
func planPi(w *planner) {
	if at, ok := w.word(); ok && at+1 < len(w.out.Argv) && slices.Contains(piCommands, w.out.Argv[at+1]) {
		w.refuse("pi %s asks no model", w.out.Argv[at+1])
		return
	}
	var models struct {
		Providers map[string]struct {
			BaseURL string `json:"baseUrl"`
			API     string `json:"api"`
			Models  []struct {
				ID      string  `json:"id"`
				BaseURL string  `json:"baseUrl"`
				Context float64 `json:"contextWindow"`
				Output  float64 `json:"maxTokens"`
			} `json:"models"`
		} `json:"providers"`
	}
	if _, err := w.readJSON(joinBelow(piFolder(w.agentHome()), "models.json"), &models); err != nil {
		w.refuse("pi's models.json could not be understood, and it may hold an address of its own")
		return
	}
	bases := map[string]string{}
	for _, id := range slices.Sorted(maps.Keys(piProviders)) {
		provider := piProviders[id]
		own := models.Providers[id].BaseURL
		origin := "pi's provider " + id
		if own == "" {
			own, origin = w.usualAddress(provider), "[upstream] "+provider
			if provider == "gemini" {
				own += "/v1beta"
			}
		}
		bases[id] = w.throughVersion(provider, provider, own, "/v1beta", origin)
	}
	for _, id := range slices.Sorted(maps.Keys(models.Providers)) {
		p := models.Providers[id]
		provider, known := piProviders[id]
		if !known {
			provider = piProtocols[p.API]
			switch {
			case p.BaseURL == "" || len(bases) >= maxProviders:
				continue
			case provider == "" || nameOf(id) == "":
				w.note("pi's provider %s is of a kind without a profile; it goes around the proxy", clip(id))
				continue
			}
			bases[id] = w.throughVersion(nameOf(id), provider, p.BaseURL, "/v1beta", "pi's provider "+id)
		}
		for _, m := range p.Models {
			name := provider
			if !known {
				name = nameOf(id)
			}
			if m.BaseURL != "" {
				w.note("the model %s in pi's models.json has an address of its own and goes around the proxy", clip(m.ID))
				continue
			}
			w.addLimit(name, m.ID, m.Context, m.Output)
		}
	}
	var logins map[string]struct{}
	w.tryJSON(joinBelow(piFolder(w.agentHome()), "auth.json"), &logins)
	for _, id := range slices.Sorted(maps.Keys(logins)) {
		if bases[id] == "" {
			w.note("pi's login %s is of a kind without a profile; it goes around the proxy", clip(id))
		}
	}
	if w.out.Why != "" {
		return
	}
	if w.in.Folder == "" {
		w.refuse("there is no private folder for the extension that holds the proxy's address, and a command line is no place for it")
		return
	}
	var body strings.Builder
	body.WriteString("export default function (pi) {\n")
	for _, id := range slices.Sorted(maps.Keys(bases)) {
		body.WriteString("\tpi.registerProvider(" + string(rawjson.Quote(nil, id)) + ", { baseUrl: " + string(rawjson.Quote(nil, bases[id])) + " });\n")
	}
	body.WriteString("}\n")
	file := File{Path: filepath.Join(w.in.Folder, "pi-proxy.js"), Body: []byte(body.String())}
	w.out.Files = append(w.out.Files, file)
	w.insert("-e", file.Path)
}
