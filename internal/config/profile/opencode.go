package profile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/limit"
)

var _ = add(Agent{
	Name: "opencode", Title: "opencode", Packages: []string{"opencode-ai"},
	InitialEstimate: 1536 * limit.MiB, // of the sub-agent runner whose users know this name
	Source:          "measured: 1.18.33", Compacts: true, plan: openCodeNames.plan,
	Resume: "opencode --continue",

	ServerFiles: openCodeNames.user,
	ServerNames: []string{"/opencode.json", "/opencode.jsonc"},
	Servers:     openCodeNames.servers,
	MCPClient:   "opencode", ResultCap: 50_000, // it cuts at 50 KB

	UserAgent: "opencode/", Patience: time.Minute,
	Speaks: func(r Request) Origin {
		return Origin{Side: r.Tools == 0 || r.Header("X-Parent-Session-Id") != ""}
	},
})

// openCodeForm holds the names of files and variables of opencode, or of a tool that grew from it.
type openCodeForm struct {
	variables, folder string   // OPENCODE of OPENCODE_CONFIG, and opencode of ~/.config/opencode
	files, project    []string // in the user's folder, and in a project's; the weaker first
}

var openCodeNames = openCodeForm{
	variables: "OPENCODE", folder: "opencode", files: []string{"config.json", "opencode.json", "opencode.jsonc"},
	project: []string{"opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"},
}

// user returns the paths of the user's own settings files, the weaker first.
func (n openCodeForm) user(h Home) (paths []string) {
	for _, name := range n.files {
		paths = append(paths, joinBelow(h.settings(), n.folder, name))
	}
	return paths
}

// content returns the name of the variable whose settings are merged over all files.
func (n openCodeForm) content() string { return n.variables + "_CONFIG_CONTENT" }

// openCodeProviders have a known address and are loaded if one of the variables in keys is set.
var openCodeProviders = []struct {
	id, provider, version string
	keys                  []string
}{
	{"anthropic", "anthropic", "/v1", []string{"ANTHROPIC_API_KEY"}},
	{"google", "gemini", "/v1beta", []string{"GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"}},
	{"openai", "openai", "/v1", []string{"OPENAI_API_KEY"}},
}

// openCodePackages are the protocols of packages by which users describe their own providers.
var openCodePackages = map[string]string{
	"": "openai", "@ai-sdk/openai-compatible": "openai", "@ai-sdk/openai": "openai", "@ai-sdk/anthropic": "anthropic", "@ai-sdk/google": "gemini",
}

// maxProviders bounds how many providers are redirected to the proxy.
const maxProviders = 16

// plan sets the addresses of the providers that the tool is set up for. Providers with a login by OAuth, and those whose address cannot be
// read, go around the proxy, with a note.
func (n openCodeForm) plan(w *planner) {
	o := n.read(w)
	if w.out.Why != "" || w.refuseIfObeyed(o.project) {
		return
	}
	addresses := map[string]string{}
	for _, known := range openCodeProviders {
		table, configured := o.providers[known.id]
		own, readable := o.address(table)
		auth := o.auth[known.id]
		switch {
		case auth == "oauth":
			w.note("%s's provider %s is logged in by OAuth and goes around the proxy", w.agent.Title, known.id)
		case auth == "" && !configured && w.firstSet(known.keys...) == "":
		case !readable:
			w.note("the address of %s's provider %s is not plain text; it goes around the proxy", w.agent.Title, known.id)
		default:
			address := own
			if address == "" {
				address = strings.TrimSuffix(w.usualAddress(known.provider), "/v1") + known.version
			}
			addresses[known.id] = o.throughVersion(known.provider, known.provider, address, known.version, w.agent.Title+"'s provider "+known.id)
			o.addLimits(known.provider, table)
		}
	}
	for _, id := range o.ids {
		if id == "anthropic" || id == "google" || id == "openai" {
			continue
		}
		table := o.providers[id]
		address, readable := o.address(table)
		protocol, known := openCodePackages[table.NPM]
		switch {
		case address == "" && readable, len(addresses) >= maxProviders:
		case !readable || !known || nameOf(id) == "":
			w.note("%s's provider %s is of a kind without a profile; it goes around the proxy", w.agent.Title, clip(id))
		default:
			version := map[string]string{"openai": "/v1", "anthropic": "/v1", "gemini": "/v1beta"}[protocol]
			addresses[id] = o.throughVersion(nameOf(id), protocol, address, version, w.agent.Title+"'s provider "+id)
			o.addLimits(nameOf(id), table)
		}
	}
	if w.out.Why != "" {
		return
	}
	if len(addresses) == 0 {
		w.refuse("%s has no provider whose address is known: no API key of Anthropic, OpenAI or Google is set, and no provider with a baseURL is configured", w.agent.Title)
		return
	}
	content := []byte(w.get(n.content()))
	if len(content) == 0 {
		content = []byte("{}")
	}
	content = plainJSON(content)
	for _, id := range slices.Sorted(maps.Keys(addresses)) {
		var err error
		if content, err = setMember(content, []string{"provider", id, "options", "baseURL"}, addresses[id]); err != nil {
			w.refuse("%s could not be understood; correct it, %s does not start with it either", n.content(), w.agent.Title)
			return
		}
	}
	w.set(n.content(), string(content))
}

// nameOf returns the name of an upstream for a provider's id, "" if the id cannot be one.
func nameOf(id string) string {
	if len(id) > 64 || strings.Trim(id, bareKey+".") != "" {
		return ""
	}
	return id
}

type openCode struct {
	*planner
	providers map[string]openCodeProvider
	ids       []string          // of providers, sorted
	auth      map[string]string // provider to the type of its login
	project   []claim           // settings about providers in the project's files, which opencode always takes
}

type openCodeProvider struct {
	NPM     string `json:"npm"`
	API     string `json:"api"`
	Options struct {
		BaseURL string `json:"baseURL"`
	} `json:"options"`
	Models map[string]json.RawMessage `json:"models"`
}

// addLimits records the limits of a provider's models that the user's files give.
func (o *openCode) addLimits(upstream string, p openCodeProvider) {
	for _, name := range slices.Sorted(maps.Keys(p.Models)) {
		var m struct {
			ID    string `json:"id"` // the provider's own name, where it is another
			Limit struct {
				Context float64 `json:"context"`
				Output  float64 `json:"output"`
			} `json:"limit"`
		}
		if decodeJSON(p.Models[name], &m) != nil {
			continue
		}
		m.ID = cmp.Or(m.ID, name)
		o.addLimit(upstream, m.ID, m.Limit.Context, m.Limit.Output)
	}
}

// read merges the files in opencode's order, the stronger over the weaker, and reads the logins.
func (n openCodeForm) read(w *planner) *openCode {
	o := &openCode{planner: w, providers: map[string]openCodeProvider{}, auth: map[string]string{}}
	data := joinBelow(w.agentHome().folder("XDG_DATA_HOME", w.agentHome().path(".local", "share")), n.folder)
	for _, name := range n.user(w.agentHome()) {
		o.readFile(name)
	}
	o.readFile(w.get(n.variables + "_CONFIG"))
	if !truth(w.get(n.variables + "_DISABLE_PROJECT_CONFIG")) {
		for _, dir := range slices.Backward(upwards(w.in.Dir)) {
			for _, name := range n.project {
				if w.isUsersFile(dir) {
					o.readFile(filepath.Join(dir, name))
				} else {
					o.readProjectFile(filepath.Join(dir, name))
				}
			}
		}
	}
	if v := w.get(n.variables + "_CONFIG_DIR"); v != "" {
		for _, name := range n.files[1:] {
			o.readFile(filepath.Join(v, name))
		}
	}
	if v := w.get(n.content()); v != "" {
		o.addProviders([]byte(v), n.content())
	}
	for _, name := range n.files[1:] {
		o.readFile(filepath.Join(n.managed(), name))
	}
	var logins map[string]struct {
		Type string `json:"type"`
	}
	if v := w.get(n.variables + "_AUTH_CONTENT"); v != "" {
		_ = decodeJSON([]byte(v), &logins)
	} else if data != "" {
		w.tryJSON(filepath.Join(data, "auth.json"), &logins)
	}
	for id, login := range logins {
		o.auth[id] = login.Type
	}
	o.ids = slices.Sorted(maps.Keys(o.providers))
	return o
}

// managed returns the folder of the machine's managed settings.
func (n openCodeForm) managed() string {
	switch runtime.GOOS {
	case "darwin":
		return "/Library/Application Support/" + n.folder
	case "windows":
		return `C:\ProgramData\` + n.folder
	}
	return "/etc/" + n.folder
}

// readFile merges a configuration file of the user into o. One that cannot be read is noted.
func (o *openCode) readFile(name string) {
	text, err := o.read(name)
	if err != nil {
		o.note("%s could not be read and was passed over", name)
	}
	if text != nil {
		o.addProviders(text, name)
	}
}

// readProjectFile records what a project's file sets of providers: addresses, packages and all options. A file that cannot be read is recorded
// too, because it may set some; one that is not JSON is noted.
func (o *openCode) readProjectFile(name string) {
	text, err := o.read(name)
	if err != nil {
		o.project = append(o.project, claim{file: name, name: "what could not be read"})
	}
	var v struct {
		Provider map[string]struct {
			NPM     string                     `json:"npm"`
			API     string                     `json:"api"`
			Options map[string]json.RawMessage `json:"options"`
		} `json:"provider"`
	}
	if text == nil {
		return
	}
	if err := decodeJSON(text, &v); err != nil {
		o.note("%s could not be understood and was passed over", name)
		return
	}
	for _, id := range slices.Sorted(maps.Keys(v.Provider)) {
		p, at := v.Provider[id], "provider."+id
		if p.API != "" {
			o.project = append(o.project, claim{name, at + ".api", p.API})
		}
		if p.NPM != "" {
			o.project = append(o.project, claim{name, at + ".npm", ""})
		}
		for _, option := range slices.Sorted(maps.Keys(p.Options)) {
			var value string
			_ = json.Unmarshal(p.Options[option], &value)
			o.project = append(o.project, claim{name, at + ".options." + option, value})
		}
	}
}

// addProviders merges the providers in the text of a configuration file into o, over what weaker files say. name is for the note if it cannot
// be understood.
func (o *openCode) addProviders(text []byte, name string) {
	var v struct {
		Provider map[string]json.RawMessage `json:"provider"`
	}
	if err := decodeJSON(text, &v); err != nil {
		o.note("%s could not be understood and was passed over", name)
		return
	}
	for id, raw := range v.Provider {
		p := o.providers[id] // what the stronger file does not say stays
		_ = decodeJSON(raw, &p)
		o.providers[id] = p
	}
}

// address returns a provider's own address, with variables ({env:NAME}) filled in, "" if it has none. readable is false if it has other parts that
// only the tool can fill in.
func (o *openCode) address(p openCodeProvider) (address string, readable bool) {
	address = p.Options.BaseURL
	address = cmp.Or(address, p.API)
	for range 8 {
		before, rest, found := strings.Cut(address, "{env:")
		name, after, closed := strings.Cut(rest, "}")
		if !found || !closed {
			break
		}
		address = before + o.get(name) + after
	}
	return address, !strings.ContainsAny(address, "{}")
}

// servers gives opencode 1.18.33 the wrapped form of its servers by the variable that is merged over all files, key by key.
func (n openCodeForm) servers(w Servers) {
	names := n.user(w.Home())
	if own := w.Home().Get(n.variables + "_CONFIG"); own != "" {
		names = append(names, own)
	}
	project, _ := w.Project()
	for _, name := range n.project {
		names = append(names, filepath.Join(project, name))
	}
	// Right below mcp is where opencode 1.18 has servers.
	direct := func(place []string, _ string) bool { return len(place) == 2 && place[0] == "mcp" }
	for _, name := range names {
		w.Load(name, direct)
	}
	body := []byte("{}")
	if content := w.Home().Get(n.content()); content != "" {
		if body = w.Take(n.content(), []byte(content), direct); body == nil || body[0] != '{' {
			w.Refuse(n.content() + " is not valid JSON: correct it, " + n.folder + " does not start with it either")
			return
		}
	}
	some, files := false, 0
	w.Wrapped(func(s Server) {
		// Only what makes it a wrapped one: the rest is merged from where it stands.
		entry := s.Entry("type", "command")
		if entry == nil {
			return
		}
		if len(s.Hidden) > 0 {
			if s.NamesFile {
				w.Around(s.Name, "it names a file from where its own file lies")
				return
			}
			// All servers see the variable with the content, so a secret goes by a file.
			env := []byte("{}")
			for _, v := range s.Hidden {
				if !strings.Contains(v.Value, "{env:") {
					files++
					v.Value = "{file:" + w.File(fmt.Sprintf("%s-%d", n.folder, files), []byte(v.Value)) + "}"
				}
				env, _ = rawjson.Set(env, v.Name, rawjson.Quote(nil, v.Value))
			}
			entry, _ = rawjson.Set(entry, "environment", env)
		}
		body, some = setServer(body, "mcp", s.Name, entry), true
	})
	w.Offered(func(o Offered) {
		entry, _ := rawjson.Set([]byte(`{"type":"local","enabled":true}`), "command", jsonArray(o.Command))
		body, some = setServer(body, "mcp", o.Name, entry), true
	})
	if some {
		w.Set(n.content(), string(body))
	}
}
