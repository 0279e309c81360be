package profile

import (
	"github.com/plimsoll/plimsoll/limit"
)

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
		w.redirectVariable(variable, "openai", "openai")
	case "anthropic":
		w.redirectVariable(variable, "anthropic", "anthropic")
	default:
		w.refuse("Copilot CLI's provider is of type %s, for which there is no profile", clip(kind))
	}
}
