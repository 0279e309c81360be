package profile

import (
	"fmt"
	"net/url"
	"runtime"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/sorting"
)

// A planner collects one Setting. After a refusal there is no proxy; the reason is that of the first one.
type planner struct {
	agent *Agent
	in    Setup
	host  string // of the proxy, without port
	home  string
	reads int
	// secure is the proxy's address with TLS, once secureRoot has returned it; insecure says that there can be none.
	secure   string
	insecure bool
	out      Setting
}

// newPlanner returns a planner for a command. The home directory is in.Home, else HOME, else USERPROFILE; host is the proxy's, for NO_PROXY.
func newPlanner(a *Agent, in Setup, host string) *planner {
	w := &planner{agent: a, in: in, host: host, home: in.Home}
	if w.home == "" {
		w.home = w.get("HOME")
	}
	if w.home == "" {
		w.home = w.get("USERPROFILE")
	}
	w.out.Argv = slices.Clone(in.Argv)
	return w
}

// sameName reports whether two names of variables are the same on this system.
func sameName(a, b string) bool {
	if runtime.GOOS == "windows" {
		return strings.EqualFold(a, b)
	}
	return a == b
}

// lookup returns the value of a variable and whether it is set. Of several entries the last counts, as in os/exec.
func (w *planner) lookup(name string) (string, bool) {
	for _, kv := range slices.Backward(w.in.Environ) {
		if n, value, ok := strings.Cut(kv, "="); ok && sameName(n, name) {
			return value, true
		}
	}
	return "", false
}

// get returns the value of a variable, "" if it is not set.
func (w *planner) get(name string) string {
	value, _ := w.lookup(name)
	return value
}

// firstSet returns the value of the first of the variables that is not empty, else "".
func (w *planner) firstSet(names ...string) string {
	for _, name := range names {
		if value := w.get(name); value != "" {
			return value
		}
	}
	return ""
}

// truth reports whether the value of a switch means on, as most of the tools read it.
func truth(value string) bool {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "1", "true", "yes", "on":
		return true
	}
	return false
}

// set has the tool start with a variable, in the place of one with the same name that was set before.
func (w *planner) set(name, value string) {
	w.out.Env = slices.DeleteFunc(w.out.Env, func(v Variable) bool { return sameName(v.Name, name) })
	w.out.Env = append(w.out.Env, Variable{Name: name, Value: value})
}

func (w *planner) note(format string, args ...any) {
	w.out.Notes = append(w.out.Notes, fmt.Sprintf(format, args...))
}

// addLimit records the limits of a model in the user's settings. Numbers that are out of range count as not set; without a name or a context
// nothing is recorded.
func (w *planner) addLimit(upstream, model string, context, output float64) {
	whole := func(v float64) int {
		if !(v >= 1 && v < 1<<30) {
			return 0
		}
		return int(v)
	}
	l := ModelLimit{Upstream: upstream, Model: model, Context: whole(context), Output: whole(output)}
	if model != "" && l.Context > 0 && len(w.out.Models) < maxModelLimits {
		w.out.Models = append(w.out.Models, l)
	}
}

// refuse records the reason why there is no proxy; the first one stands.
func (w *planner) refuse(format string, args ...any) {
	if w.out.Why == "" {
		w.out.Why = fmt.Sprintf(format, args...)
	}
}

// officials are the addresses that the tools use by default.
var officials = map[string]string{
	"openai":    "https://api.openai.com/v1",
	"anthropic": "https://api.anthropic.com",
	"gemini":    "https://generativelanguage.googleapis.com",
}

// usualAddress returns the configured address of a provider, else the official one.
func (w *planner) usualAddress(provider string) string {
	if u := w.in.Upstreams[provider]; u != "" {
		return u
	}
	return officials[provider]
}

// through adds address to the proxy's upstreams, under name or, if that is taken by another address, one like it, and returns the base URL that
// the tool is to use instead. An address that is invalid, or that holds a credential, a query or a fragment, refuses the proxy, and the result is
// ""; origin says in the reason where the address was found.
func (w *planner) through(name, provider, address, origin string) string {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		w.refuse("the address in %s is no http or https URL with a host; correct it there", origin)
		return ""
	case u.User != nil:
		w.refuse("the address in %s holds a user name or password, which a proxy would have to show; give the credential to the tool apart from the address", origin)
		return ""
	case u.RawQuery != "" || u.Fragment != "":
		w.refuse("the address in %s has a query or a fragment, which is no base that paths can be added to", origin)
		return ""
	}
	up := Upstream{Name: name, Provider: provider, URL: strings.TrimRight(address, "/")}
	for i := 2; ; i++ {
		at := slices.IndexFunc(w.out.Upstreams, func(o Upstream) bool { return o.Name == up.Name })
		if at < 0 {
			w.out.Upstreams = append(w.out.Upstreams, up)
			break
		}
		if w.out.Upstreams[at].URL == up.URL && w.out.Upstreams[at].Provider == provider {
			break
		}
		up.Name = fmt.Sprintf("%s-%d", name, i)
	}
	base := w.in.Root + "/" + up.Name
	if provider == "openai" {
		base += "/v1"
	}
	return base
}

// throughVersion is [planner.through] for an address that ends in the protocol's version. Except for OpenAI's protocol, the version is
// moved from the end of the upstream to the end of the result.
func (w *planner) throughVersion(name, provider, address, version, origin string) string {
	address = strings.TrimRight(address, "/")
	bare, ends := strings.CutSuffix(address, version)
	if provider == "openai" || !ends {
		return w.through(name, provider, address, origin)
	}
	base := w.through(name, provider, bare, origin)
	if base == "" {
		return ""
	}
	return base + version
}

// redirectVariable sets a variable of the tool to the proxy's address. Its present value, or else the provider's usual address, becomes the
// upstream.
func (w *planner) redirectVariable(variable, name, provider string) {
	address, origin := w.get(variable), variable
	if address == "" {
		address, origin = w.usualAddress(provider), "[upstream] "+provider
	}
	if base := w.through(name, provider, address, origin); base != "" {
		w.set(variable, base)
	}
}

// bedrockVariables name the addresses for AWS's libraries, and for LiteLLM (and so aider).
var bedrockVariables = []string{"AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_BEDROCK_RUNTIME_ENDPOINT"}

// redirectAWS redirects the AWS libraries of a tool, and of the programs it starts, to the proxy, if that can sign requests anew, which are
// signed for their host. A key of Bedrock's own is passed on as it is, over TLS, which some of the libraries require for it.
func (w *planner) redirectAWS() {
	key := w.secure != "" || w.get(bearerKey) != ""
	if !key && !w.in.AWS || key && !w.asksCloud("bedrock", "aws-bedrock") || truth(w.get("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")) {
		return
	}
	region := w.firstSet("AWS_REGION", "AWS_DEFAULT_REGION")
	if region == "" {
		region = "us-east-1" // the proxy goes by what the library signs for
	}
	if strings.Trim(region, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return
	}
	address, origin := w.firstSet(bedrockVariables...), bedrockVariables[0]
	if address == "" {
		address, origin = "https://bedrock-runtime."+region+".amazonaws.com", "AWS_REGION"
	}
	before, root := w.out.Why, w.in.Root
	if key {
		if root = w.secureRoot(); root == "" {
			return
		}
	}
	base := w.through("bedrock", "bedrock", address, origin)
	if base == "" {
		w.note("what AWS's libraries send goes around the proxy: %s", w.out.Why)
		w.out.Why = before
		return
	}
	for i := range w.out.Upstreams {
		if up := &w.out.Upstreams[i]; w.in.AWS && strings.HasSuffix(base, "/"+up.Name) {
			up.SignRegion = region
		}
	}
	for _, name := range bedrockVariables {
		w.set(name, root+strings.TrimPrefix(base, w.in.Root))
	}
}

// azureVariables name the addresses for Azure in OpenAI's own libraries and in LiteLLM. They have no default address.
var azureVariables = []string{"AZURE_OPENAI_ENDPOINT", "AZURE_API_BASE"}

// redirectAzure redirects those of azureVariables that are set to the proxy: with TLS if the address had it, because OpenAI's library for Go,
// and Microsoft's with a token, send nothing without (openai-go 3.96). An address that the proxy cannot serve stays.
func (w *planner) redirectAzure() {
	if !w.asksCloud("azure", "azure-openai") {
		return
	}
	before := w.out.Why
	for _, name := range azureVariables {
		address, root := w.get(name), w.in.Root
		if address == "" {
			continue
		}
		if strings.HasPrefix(strings.ToLower(address), "https:") {
			if root = w.secureRoot(); root == "" {
				return
			}
		}
		if base := w.through("azure", "azure", address, name); base != "" {
			w.set(name, root+strings.TrimPrefix(base, w.in.Root))
			continue
		}
		w.note("what is sent to the address in %s goes around the proxy: %s", name, w.out.Why)
		w.out.Why = before
	}
}

// official reports whether an address is on the provider's own host, or "", so that the tool behaves as without one.
func official(address, provider string) bool {
	if address == "" {
		return true
	}
	u, err := url.Parse(address)
	home, _ := url.Parse(officials[provider])
	return err == nil && strings.EqualFold(u.Host, home.Host)
}

// proxyVariables name HTTP proxies. A tool sends all its requests to such a proxy, also those to loopback, unless NO_PROXY names the host.
var proxyVariables = []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"}

// reachLoopback adds our own address to NO_PROXY if an HTTP proxy is set. Tools differ in which spelling they prefer, so each of both keeps
// what the tool would have seen.
func (w *planner) reachLoopback() {
	if w.firstSet(proxyVariables...) == "" {
		return
	}
	upper, hasUpper := w.lookup("NO_PROXY")
	lower, hasLower := w.lookup("no_proxy")
	if !hasUpper {
		upper = lower
	}
	if !hasLower {
		lower = upper
	}
	for name, value := range map[string]string{"NO_PROXY": upper, "no_proxy": lower} {
		listed := strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
		if slices.Contains(listed, "*") {
			continue
		}
		if !slices.Contains(listed, w.host) {
			value = strings.Join(append(listed, w.host), ",")
		}
		if old, had := w.lookup(name); !had || old != value {
			w.set(name, value)
		}
	}
	sorting.StableBy(w.out.Env, func(a, b Variable) int { return strings.Compare(a.Name, b.Name) })
}

// agentHome returns the [Home] of the agent, for its files.
func (w *planner) agentHome() Home { return Home{Dir: w.home, Work: w.in.Dir, Get: w.get} }
