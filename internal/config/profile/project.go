package profile

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/sorting"
)

// A folder that somebody cloned may hold settings files. They have no say in where the proxy sends a key: addresses, key
// variables and headers come from the environment, flags, and the user's and the managed settings only. A project's file
// that names one is either ignored, because the tool itself would ignore it now, or the tool runs without proxy, because
// the tool would obey it and would then do so by itself, with its own questions and warnings.

// steering are parts of the names of variables that decide where requests go, or with which credential or header.
var steering = []string{
	"BASE_URL", "API_BASE", "BASE_PATH", "ENDPOINT", "_HOST", "API_KEY", "AUTH_TOKEN", "OAUTH_TOKEN", "BEARER_TOKEN", "ACCESS_TOKEN",
	"IDENTITY_TOKEN", "CUSTOM_HEADERS", "UNIX_SOCKET", "CLAUDE_CODE_USE_", "CLAUDE_CODE_SKIP_", "GOOGLE_GENAI_USE_", "GOOGLE_APPLICATION_CREDENTIALS",
	"AWS_", "CLOUD_ML_REGION", "VERTEX_REGION_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
	"NODE_EXTRA_CA_CERTS", "NODE_TLS_REJECT_UNAUTHORIZED", "NODE_OPTIONS", "SSL_CERT_", "COPILOT_PROVIDER_", "GOOSE_PROVIDER",
}

// steers reports whether the name of a variable, in any case, contains one of the words in steering.
func steers(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc(steering, func(part string) bool { return strings.Contains(name, part) })
}

// A claim is a setting in a project's file that decides where requests go.
type claim struct {
	file, name, value string
}

// addressName reports whether the values of a setting are addresses, which may be shown, unlike keys and headers.
func addressName(name string) bool {
	name = strings.ToUpper(name)
	return strings.Contains(name, "URL") || strings.Contains(name, "API_BASE") || strings.Contains(name, "API-BASE") ||
		strings.Contains(name, "_HOST") || strings.Contains(name, "ENDPOINT") || strings.HasSuffix(name, ".API")
}

// String returns words that name the file and the setting and, if it is an address, its scheme and host.
func (c claim) String() string {
	said := c.file + " sets " + c.name
	if !addressName(c.name) {
		return said
	}
	if u, err := url.Parse(c.value); err == nil && u.Host != "" {
		return said + " to " + clip(u.Scheme+"://"+u.Host)
	}
	return said
}

// refuseIfObeyed refuses the proxy if there are claims, which the tool would obey, and reports whether there are. An earlier reason stands.
func (w *planner) refuseIfObeyed(claims []claim) bool {
	if len(claims) == 0 {
		return false
	}
	w.out.Project = w.out.Why == ""
	// What can be shown as an address says most.
	at := max(0, slices.IndexFunc(claims, func(c claim) bool { return addressName(c.name) }))
	w.refuse("the project's file %s, and %s obeys it: such a file decides nothing here, so %s is left to its own ways; set it in your own settings or the environment to go through the proxy",
		claims[at], w.agent.Title, w.agent.Title)
	return true
}

// passedOver adds a note about the first of the claims in a project's file that the tool ignores because the folder is not trusted.
func (w *planner) passedOver(claims []claim) {
	if len(claims) > 0 {
		w.note("the project's file %s; the folder is not trusted, so it does not count", claims[0])
	}
}

// isUsersFile reports whether a settings file in dir, found by a walk upwards from the working directory, is the user's own: dir is the
// home directory.
func (w *planner) isUsersFile(dir string) bool {
	return w.home != "" && filepath.Clean(dir) == filepath.Clean(w.home)
}

// claimsOf returns claims for the steering ones of a file's variables, sorted by name. counts, unless nil, reports which variables count.
func claimsOf(file string, variables map[string]string, counts func(name string) bool) []claim {
	var claims []claim
	for name, value := range variables {
		if steers(name) && (counts == nil || counts(name)) {
			claims = append(claims, claim{file: file, name: name, value: value})
		}
	}
	sorting.By(claims, func(a, b claim) int { return strings.Compare(a.name, b.name) })
	return claims
}

// Trusts reports whether the agent uses the settings of the folder it starts in, its MCP servers among them: the user has trusted the
// folder, or the agent asks for no trust. If that is unknown it returns true. The Root of in may be empty.
func (a *Agent) Trusts(in Setup) bool {
	return a.trusts == nil || a.trusts(newPlanner(a, in, ""))
}
