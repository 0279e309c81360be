package profile

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Claude Code 2.1.332, measured.
//
// ANTHROPIC_BASE_URL takes the address, /v1/messages is added to it. Every credential goes there as it would go to Anthropic: x-api-key
// (ANTHROPIC_API_KEY), a bearer token (ANTHROPIC_AUTH_TOKEN, apiKeyHelper), the OAuth token of a subscription (login file,
// CLAUDE_CODE_OAUTH_TOKEN; refreshed at another host, which is not touched).
//
// With an address that is not api.anthropic.com it sends all its tools (76 KB with 2.1.197) in place of the first 12 (49 KB), moves cache marks,
// leaves out beta headers, and no longer asks for the settings and limits of the organisation. Two variables undo that. With ENABLE_TOOL_SEARCH
// alone the tools are as before, the rest is not; with _CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL the request is the same to the byte but for
// identifiers, a checksum of the body and one beta header (mid-conversation-system-clear-at) that it keeps for Anthropic's own address. The second
// is not documented: should a later version not know it, the first still keeps the tools. When the address was the user's own, the tool already
// behaves as it does with one, and nothing is undone.
//
// "env" in a settings file wins over the process environment (measured for the user's and the project's), and --settings wins over both; of
// several --settings the last counts.
//
// Of a project's settings Claude Code takes everything with -p, and in a terminal once the folder is trusted
// (projects[FOLDER].hasTrustDialogAccepted in its .claude.json, for the folder or one above it). Before that it takes only variables that it
// thinks harmless ([claudeAlways] are those of them that steer), and no address.
const (
	claudeBase       = "ANTHROPIC_BASE_URL"
	claudeFirstParty = "_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL"
	claudeToolSearch = "ENABLE_TOOL_SEARCH"
)

// claudeAlways are variables, or prefixes of some, that Claude Code takes from a project's settings before the folder is trusted.
var claudeAlways = []string{
	"ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_FOUNDRY_API_KEY", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_REGION", "CLAUDE_CODE_SKIP_", "CLAUDE_CODE_USE_", "VERTEX_REGION_",
}

// claudeHelpers are settings that name a program which returns a credential.
var claudeHelpers = []string{"apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh", "proxyAuthHelper"}

// planClaude sets the address of Claude Code for the service that its settings choose: Anthropic, Bedrock or Vertex. Other services have no proxy.
func planClaude(w *planner) {
	c := readClaude(w)
	if w.out.Why != "" {
		return
	}
	always := slices.DeleteFunc(slices.Clone(c.project), func(l claim) bool {
		return !slices.ContainsFunc(claudeAlways, func(name string) bool { return strings.HasPrefix(l.name, name) })
	})
	if c.trustsProject() && w.refuseIfObeyed(c.project) || w.refuseIfObeyed(always) {
		return
	}
	w.passedOver(c.project)
	for _, mode := range []struct{ variable, name string }{
		{"CLAUDE_CODE_USE_FOUNDRY", "Foundry"},
		{"CLAUDE_CODE_USE_ANTHROPIC_AWS", "AWS"},
		{"CLAUDE_CODE_USE_MANTLE", "Mantle"},
		{"CLAUDE_CODE_USE_GATEWAY", "gateway"},
	} {
		if truth(c.get(mode.variable)) {
			w.refuse("Claude Code is in its %s mode (%s), for which there is no profile", mode.name, mode.variable)
			return
		}
	}
	switch {
	case truth(c.get("CLAUDE_CODE_USE_BEDROCK")):
		c.planBedrock()
	case truth(c.get("CLAUDE_CODE_USE_VERTEX")):
		c.planVertex()
	default:
		c.planAnthropic()
	}
}

// claude is Claude Code's view of its environment.
type claude struct {
	*planner
	settings map[string]string // env of the user's settings files, the stronger over the weaker
	project  []claim           // addresses and credentials in the project's files
	managed  map[string]string // env of the managed settings, which no flag overrides
	flag     *flag             // the last --settings
	extra    json.RawMessage   // its settings
}

type claudeSettings struct {
	Env map[string]any `json:"env"`
}

// readClaude reads Claude Code's settings files and --settings, from the weakest to the strongest. If what --settings names cannot be understood
// it refuses the proxy; a file that cannot be is passed over with a note.
func readClaude(w *planner) *claude {
	c := &claude{planner: w, settings: map[string]string{}, managed: map[string]string{}}
	dir := claudeFolder(w.agentHome())
	if dir != "" {
		c.file(filepath.Join(dir, "settings.json"), c.settings)
	}
	for _, name := range []string{"settings.json", "settings.local.json"} {
		switch name = filepath.Join(w.in.Dir, ".claude", name); {
		case filepath.Dir(name) != filepath.Clean(dir):
			c.readProjectFile(name)
		case filepath.Base(name) != "settings.json": // the working directory is the user's home
			c.file(name, c.settings)
		}
	}
	if flags := w.flags("--settings"); len(flags) > 0 && w.agent.Adapter == nil {
		c.flag = &flags[len(flags)-1]
		c.extra = json.RawMessage(c.flag.value)
		if !strings.HasPrefix(strings.TrimSpace(c.flag.value), "{") {
			name := c.flag.value
			if !filepath.IsAbs(name) {
				name = filepath.Join(w.in.Dir, name)
			}
			text, err := w.read(name)
			if err != nil || text == nil {
				w.refuse("the file of --settings could not be read, and it may hold an address of its own")
				return c
			}
			c.extra = text
		}
		var s claudeSettings
		if err := decodeJSON(c.extra, &s); err != nil {
			w.refuse("what --settings says could not be understood, and it may hold an address of its own")
			return c
		}
		c.addEnv(s, c.settings)
	}
	for _, name := range claudeManaged() {
		c.file(name, c.managed)
	}
	return c
}

// claudeManaged returns the paths of the settings of the machine's administrator.
func claudeManaged() []string {
	dir := "/etc/claude-code"
	switch runtime.GOOS {
	case "darwin":
		dir = "/Library/Application Support/ClaudeCode"
	case "windows":
		dir = `C:\Program Files\ClaudeCode`
	}
	return []string{filepath.Join(dir, "managed-settings.json")}
}

// file adds the variables that a settings file sets to into. A file that cannot be understood is noted.
func (c *claude) file(name string, into map[string]string) {
	var s claudeSettings
	if c.tryJSON(name, &s) {
		c.addEnv(s, into)
	}
}

// readProjectFile records the addresses and credentials that a project's settings file sets.
func (c *claude) readProjectFile(name string) {
	var s claudeSettings
	if found, err := c.readJSON(name, &s); !found {
		return
	} else if err != nil {
		c.note("%s could not be understood and was passed over", name)
		return
	}
	env := map[string]string{}
	c.addEnv(s, env)
	c.project = append(c.project, claimsOf(name, env, nil)...)
	var helpers map[string]json.RawMessage
	if found, err := c.readJSON(name, &helpers); found && err == nil {
		for _, helper := range claudeHelpers {
			if len(helpers[helper]) > 0 && string(helpers[helper]) != "null" {
				c.project = append(c.project, claim{file: name, name: helper})
			}
		}
	}
}

// trustsProject reports whether Claude Code takes all of the project's settings: through an adapter, without a terminal to ask on, with -p, or if
// the user has trusted the folder or one above it. If that is unknown it returns true; the run is then without proxy.
func (c *claude) trustsProject() bool {
	if c.agent.Adapter != nil || !c.in.Terminal || c.hasFlag("-p") || c.hasFlag("--print") {
		return true
	}
	for _, name := range []string{"CLAUDE_CODE_SANDBOXED", "CLAUBBIT", "CLAUDE_BG_BACKEND"} {
		if c.get(name) != "" {
			return true
		}
	}
	var state struct {
		Projects map[string]struct {
			Trusted bool `json:"hasTrustDialogAccepted"`
		} `json:"projects"`
	}
	text, err := c.readUpTo(claudeState(c.agentHome()), maxState)
	if err != nil || text != nil && decodeJSON(text, &state) != nil {
		return true
	}
	dirs := []string{c.in.Dir}
	if real, err := filepath.EvalSymlinks(c.in.Dir); err == nil {
		dirs = append(dirs, real)
	}
	for _, dir := range dirs {
		for {
			if state.Projects[filepath.ToSlash(dir)].Trusted || state.Projects[dir].Trusted {
				return true
			}
			parent := filepath.Dir(dir)
			if parent == dir {
				break
			}
			dir = parent
		}
	}
	return false
}

// addEnv adds the variables in settings to into.
func (c *claude) addEnv(s claudeSettings, into map[string]string) {
	for name, value := range s.Env {
		if text, ok := value.(string); ok {
			into[name] = text
		} else if raw, err := json.Marshal(value); err == nil {
			into[name] = string(raw)
		}
	}
}

// get returns the value of a variable as Claude Code itself sees it: of the managed settings, else of the user's, else of the environment.
func (c *claude) get(name string) string {
	if value, ok := c.managed[name]; ok {
		return value
	}
	if value, ok := c.settings[name]; ok {
		return value
	}
	return c.planner.get(name)
}

// planAnthropic plans the proxy for Anthropic's own API, or for the address that the user has set in its place.
func (c *claude) planAnthropic() {
	own := c.get(claudeBase)
	address, origin := own, claudeBase
	if own == "" {
		address, origin = c.usualAddress("anthropic"), "[upstream] anthropic"
	}
	base := c.through("anthropic", "anthropic", address, origin)
	changes := []Variable{{Name: claudeBase, Value: base}}
	// With an address of the project's that counts once the folder is trusted, Claude Code must not take it for Anthropic's.
	if official(own, "anthropic") && len(c.project) > 0 {
		changes = append(changes, Variable{Name: claudeToolSearch, Value: "true"})
	} else if official(own, "anthropic") {
		changes = append(changes, Variable{Name: claudeFirstParty, Value: "1"}, Variable{Name: claudeToolSearch, Value: "true"})
	}
	c.apply(changes)
}

// planVertex plans the proxy for Vertex, whose host holds the region. Claude Code sends 24 tools with and without an address.
func (c *claude) planVertex() {
	const variable = "ANTHROPIC_VERTEX_BASE_URL"
	address, origin := c.get(variable), variable
	if address == "" {
		for _, kv := range c.in.Environ {
			if strings.HasPrefix(kv, "VERTEX_REGION_") {
				c.refuse("Claude Code asks several regions of Vertex (VERTEX_REGION_…), each with a host of its own, and takes one address only")
				return
			}
		}
		region := c.get("CLOUD_ML_REGION")
		region = cmp.Or(region, "us-east5")
		switch {
		case strings.Trim(region, "abcdefghijklmnopqrstuvwxyz0123456789-") != "":
			c.refuse("CLOUD_ML_REGION is no name of a region")
			return
		case region == "global":
			address = "https://aiplatform.googleapis.com/v1"
		case region == "us" || region == "eu":
			address = "https://aiplatform." + region + ".rep.googleapis.com/v1"
		default:
			address = "https://" + region + "-aiplatform.googleapis.com/v1"
		}
		origin = "CLOUD_ML_REGION"
	}
	c.apply([]Variable{{Name: variable, Value: c.through("vertex", "vertex", address, origin)}})
}

// planBedrock plans the proxy for Bedrock. Requests are signed for their host, unless a bearer token is used instead, and without credentials to
// sign them anew there is no proxy.
func (c *claude) planBedrock() {
	const variable = "ANTHROPIC_BEDROCK_BASE_URL"
	signed := c.get(bearerKey) == "" && !truth(c.get("CLAUDE_CODE_SKIP_BEDROCK_AUTH"))
	if signed && !c.in.AWS {
		c.refuse("Claude Code is in its Bedrock mode, whose requests are signed for their host; configure AWS credentials for Plimsoll to sign them anew")
		return
	}
	region := c.get("AWS_REGION")
	if region == "" {
		region = c.get("AWS_DEFAULT_REGION")
	}
	region = cmp.Or(region, "us-east-1")
	if strings.Trim(region, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		c.refuse("AWS_REGION is no name of a region")
		return
	}
	address, origin := c.get(variable), variable
	if address == "" {
		address, origin = "https://bedrock-runtime."+region+".amazonaws.com", "AWS_REGION"
		c.note("with an address, Claude Code does not find the list of Bedrock's models and tries them one by one")
	}
	base := c.through("bedrock", "bedrock", address, origin)
	// Settings of its own of what it trusts would win over ours; without TLS the key is sent as well.
	if c.get(bearerKey) != "" && c.out.Why == "" && c.get(nodeAuthorities) == c.planner.get(nodeAuthorities) {
		if root := c.secureRoot(); root != "" {
			base = root + strings.TrimPrefix(base, c.in.Root)
		}
	}
	if signed && c.out.Why == "" {
		c.out.Upstreams[len(c.out.Upstreams)-1].SignRegion = region
	}
	c.apply([]Variable{{Name: variable, Value: base}})
}

// apply sets the first change always, and the others where the user has set nothing. Variables that a settings file sets too are overridden
// by --settings.
func (c *claude) apply(changes []Variable) {
	if c.out.Why != "" {
		return
	}
	if _, ok := c.managed[changes[0].Name]; ok {
		c.refuse("the managed settings of this machine set %s, which nothing overrides", changes[0].Name)
		return
	}
	override := map[string]string{}
	for i, v := range changes {
		if i > 0 && c.get(v.Name) != "" {
			continue
		}
		c.set(v.Name, v.Value)
		if _, ok := c.settings[v.Name]; ok {
			override[v.Name] = v.Value
		}
	}
	if len(override) > 0 {
		c.override(override)
	}
}

// override sets variables in a private file for --settings, with the content of the user's own --settings if there are any. It refuses the proxy
// for an adapter, without a private folder, and if the user's content cannot be changed.
func (c *claude) override(variables map[string]string) {
	names := make([]string, 0, len(variables))
	for name := range variables {
		names = append(names, name)
	}
	slices.Sort(names)
	text := []byte("{}")
	if c.flag != nil {
		text = plainJSON(c.extra)
	}
	for _, name := range names {
		var err error
		if text, err = setMember(text, []string{"env", name}, variables[name]); err != nil {
			c.refuse("what --settings says could not be changed, and it would override the address")
			return
		}
	}
	if c.agent.Adapter != nil {
		c.refuse("your settings set %s, which wins over the environment, and %s hands no other settings on; take it out of them, or set it in the editor's", names[0], c.agent.Title)
		return
	}
	if c.in.Folder == "" {
		c.refuse("there is no private folder for the settings that hold the proxy's address, and a command line is no place for them")
		return
	}
	file := File{Path: filepath.Join(c.in.Folder, "claude-settings.json"), Body: text}
	if c.flag != nil {
		c.replace(*c.flag, file.Path)
	} else {
		c.insert("--settings", file.Path)
	}
	c.out.Files = append(c.out.Files, file)
}
