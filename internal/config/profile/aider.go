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
		lines := w.readLines(name)
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
	if w.refuseIfObeyed(project) {
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
		w.redirectVariable("ANTHROPIC_API_BASE", "anthropic", "anthropic")
		return
	}
	w.redirectVariable("ANTHROPIC_BASE_URL", "anthropic", "anthropic")
}

// upperNames returns the keys of a YAML file as names of variables: openai-api-base becomes OPENAI_API_BASE.
func upperNames(lines map[string]string) map[string]string {
	variables := map[string]string{}
	for name, value := range lines {
		variables[strings.ToUpper(strings.ReplaceAll(name, "-", "_"))] = value
	}
	return variables
}
