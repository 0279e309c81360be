package client

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// opencode 1.18, measured.
//
// provider.NAME.options.baseURL takes the address, with the version in it for every
// protocol. OPENCODE_CONFIG_CONTENT is merged over all of the user's files, so nothing of
// theirs is touched; what the user has in that variable is kept. With and without an
// address the requests are the same (29,440 bytes). A provider that the configuration
// names counts as set up, so only those that have a credential are named: a key in the
// environment or in auth.json, or a table of the user's own. A login by OAuth brings a
// plugin that chooses the host itself.
const openCodeContent = "OPENCODE_CONFIG_CONTENT"

// openCodeProviders have a known address and are loaded when one of the variables is set.
var openCodeProviders = []struct {
	id, provider, version string
	keys                  []string
}{
	{"anthropic", "anthropic", "/v1", []string{"ANTHROPIC_API_KEY"}},
	{"google", "gemini", "/v1beta", []string{"GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"}},
	{"openai", "openai", "/v1", []string{"OPENAI_API_KEY"}},
}

// openCodePackages are the protocols of providers that users describe themselves.
var openCodePackages = map[string]string{
	"": "openai", "@ai-sdk/openai-compatible": "openai", "@ai-sdk/openai": "openai", "@ai-sdk/anthropic": "anthropic", "@ai-sdk/google": "gemini",
}

// maxProviders bounds how many providers are pointed at the proxy.
const maxProviders = 16

func planOpenCode(w *planner) {
	o := readOpenCode(w)
	if w.out.Why != "" || w.obeyed("opencode", o.project) {
		return
	}
	addresses := map[string]string{}
	for _, known := range openCodeProviders {
		table, configured := o.providers[known.id]
		own, readable := o.address(table)
		auth := o.auth[known.id]
		switch {
		case auth == "oauth":
			w.note("opencode's provider %s is logged in by OAuth and goes around the proxy", known.id)
		case auth == "" && !configured && w.first(known.keys...) == "":
		case !readable:
			w.note("the address of opencode's provider %s is not plain text; it goes around the proxy", known.id)
		default:
			address := own
			if address == "" {
				address = strings.TrimSuffix(w.usual(known.provider), "/v1") + known.version
			}
			addresses[known.id] = o.through(known.provider, known.provider, address, known.version, known.id)
			o.limits(known.provider, table)
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
			w.note("opencode's provider %s is of a kind without a profile; it goes around the proxy", clip(id))
		default:
			version := map[string]string{"openai": "/v1", "anthropic": "/v1", "gemini": "/v1beta"}[protocol]
			addresses[id] = o.through(nameOf(id), protocol, address, version, id)
			o.limits(nameOf(id), table)
		}
	}
	if w.out.Why != "" {
		return
	}
	if len(addresses) == 0 {
		w.refuse("opencode has no provider whose address is known: no API key of Anthropic, OpenAI or Google is set, and no provider with a baseURL is configured")
		return
	}
	content := []byte(w.get(openCodeContent))
	if len(content) == 0 {
		content = []byte("{}")
	}
	content = plainJSON(content)
	for _, id := range slices.Sorted(maps.Keys(addresses)) {
		var err error
		if content, err = setMember(content, []string{"provider", id, "options", "baseURL"}, addresses[id]); err != nil {
			w.refuse("%s could not be understood; correct it, opencode does not start with it either", openCodeContent)
			return
		}
	}
	w.set(openCodeContent, string(content))
}

// nameOf makes the name of an upstream from a provider's id, "" when nothing is left.
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
	project   []claim           // what the project's files say of providers: opencode knows no trust
}

type openCodeProvider struct {
	NPM     string `json:"npm"`
	API     string `json:"api"`
	Options struct {
		BaseURL string `json:"baseURL"`
	} `json:"options"`
	Models map[string]json.RawMessage `json:"models"`
}

// limits notes what the user's files say that a provider's models take.
func (o *openCode) limits(upstream string, p openCodeProvider) {
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
		if m.ID == "" {
			m.ID = name
		}
		o.limit(upstream, m.ID, m.Limit.Context, m.Limit.Output)
	}
}

// readOpenCode merges the files in opencode's order, the stronger over the weaker.
func readOpenCode(w *planner) *openCode {
	o := &openCode{planner: w, providers: map[string]openCodeProvider{}, auth: map[string]string{}}
	dir, data := w.path(".config", "opencode"), w.path(".local", "share", "opencode")
	if v := w.get("XDG_CONFIG_HOME"); v != "" {
		dir = filepath.Join(v, "opencode")
	}
	if v := w.get("XDG_DATA_HOME"); v != "" {
		data = filepath.Join(v, "opencode")
	}
	if dir != "" {
		for _, name := range []string{"config.json", "opencode.json", "opencode.jsonc"} {
			o.file(filepath.Join(dir, name))
		}
	}
	o.file(w.get("OPENCODE_CONFIG"))
	if !truth(w.get("OPENCODE_DISABLE_PROJECT_CONFIG")) {
		for _, dir := range slices.Backward(upwards(w.in.Dir)) {
			for _, name := range []string{"opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"} {
				if w.users(dir) {
					o.file(filepath.Join(dir, name))
				} else {
					o.projectFile(filepath.Join(dir, name))
				}
			}
		}
	}
	if v := w.get("OPENCODE_CONFIG_DIR"); v != "" {
		o.file(filepath.Join(v, "opencode.json"))
		o.file(filepath.Join(v, "opencode.jsonc"))
	}
	if v := w.get(openCodeContent); v != "" {
		o.text([]byte(v), openCodeContent)
	}
	for _, name := range openCodeManaged() {
		o.file(name)
	}
	var logins map[string]struct {
		Type string `json:"type"`
	}
	if v := w.get("OPENCODE_AUTH_CONTENT"); v != "" {
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

func openCodeManaged() []string {
	dir := "/etc/opencode"
	switch runtime.GOOS {
	case "darwin":
		dir = "/Library/Application Support/opencode"
	case "windows":
		dir = `C:\ProgramData\opencode`
	}
	return []string{filepath.Join(dir, "opencode.json"), filepath.Join(dir, "opencode.jsonc")}
}

func (o *openCode) file(name string) {
	text, err := o.read(name)
	if err != nil {
		o.note("%s could not be read and was passed over", name)
	}
	if text != nil {
		o.text(text, name)
	}
}

// projectFile takes down which addresses and credentials a project's file sets.
func (o *openCode) projectFile(name string) {
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

func (o *openCode) text(text []byte, name string) {
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

// address is a provider's own, "" when it has none; not readable when it is made of what
// only the tool can put in.
func (o *openCode) address(p openCodeProvider) (address string, readable bool) {
	address = p.Options.BaseURL
	if address == "" {
		address = p.API
	}
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

// through is planner.through for addresses that hold the version: for all but OpenAI's
// protocol it goes from the upstream's end to the end of what the tool is given.
func (o *openCode) through(name, protocol, address, version, id string) string {
	address = strings.TrimRight(address, "/")
	bare, ends := strings.CutSuffix(address, version)
	if protocol == "openai" || !ends {
		return o.planner.through(name, protocol, address, "opencode's provider "+id)
	}
	base := o.planner.through(name, protocol, bare, "opencode's provider "+id)
	if base == "" {
		return ""
	}
	return base + version
}
