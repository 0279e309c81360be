package profile

import (
	"cmp"
	"strings"

	"github.com/plimsoll/plimsoll/limit"
)

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
	lines := w.readLines(joinBelow(w.agentHome().settings(), "goose", "config.yaml"))
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
		name = cmp.Or(name, "none")
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
