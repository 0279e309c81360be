package profile

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

var _ = add(Agent{
	Name: "codex", Title: "Codex", Packages: []string{"@openai/codex"},
	// The estimate and the bound are those of the sub-agent runner whose users know this name.
	InitialEstimate: 4096 * limit.MiB, MaxConcurrent: 5,
	Source: "measured: 0.171.0", Compacts: true, plan: planCodex, trusts: func(w *planner) bool { return readCodex(w).trusted },
	Resume: "codex resume --last",

	ServerFiles: func(h Home) []string { return []string{joinBelow(codexFolder(h), "config.toml")} },
	ServerNames: []string{"/.codex/config.toml"},
	Servers:     codexServers,
	MCPClient:   "codex", DefersTools: true, ResultCap: 10_000, // it cuts at about 10 KB; codex-mcp-client

	UserAgent: "codex", Patience: time.Minute, Speaks: codexSpeaks, Typed: codexTyped,
})

// codexFolder returns the folder of Codex's settings and login.
func codexFolder(h Home) string { return h.folder("CODEX_HOME", h.path(".codex")) }

// Codex 0.169, measured.
//
// Its own provider takes the address by the setting openai_base_url, others by
// model_providers.NAME.base_url; the variable OPENAI_BASE_URL does nothing. Both are given
// as -c KEY=VALUE, which wins over every file. It asks for a WebSocket first, and after a
// 426 for HTTP in the same second. First requests with and without an address are of the
// same size (67,850 bytes); with an API key it then no longer asks chatgpt.com for its list
// of models.
//
// The credential of its own provider is CODEX_API_KEY, or auth.json: an API key, which
// belongs to api.openai.com, or a ChatGPT login, whose bearer token and account id belong
// to chatgpt.com/backend-api/codex, with bodies compressed by zstd. OPENAI_API_KEY in the
// environment is not sent. Without a login nobody can say where the credential that the
// user is about to give will belong, so there is no proxy.
const codexBase = "openai_base_url"

// chatGPT is the address to which Codex itself sends requests with a ChatGPT login.
const chatGPT = "https://chatgpt.com/backend-api/codex"

// planCodex sets the address of the provider that Codex uses, in its configuration for this run.
func planCodex(w *planner) {
	if w.hasFlag("--oss") {
		w.refuse("Codex was asked for a local model (--oss), which has no profile")
		return
	}
	c := readCodex(w)
	if w.out.Why != "" || w.refuseIfObeyed(c.project) {
		return
	}
	w.passedOver(c.ignored)
	provider := text(c.config["model_provider"])
	provider = cmp.Or(provider, "openai")
	table := object(object(c.config["model_providers"])[provider])
	key, own := codexBase, text(c.config[codexBase])
	var ownAuth bool
	switch {
	case provider == "openai":
	case table == nil:
		w.refuse("Codex uses its provider %s, for which there is no profile", clip(provider))
		return
	case table["aws"] != nil:
		w.refuse("Codex uses Bedrock, whose requests are signed for their host")
		return
	default:
		if strings.Trim(provider, bareKey) != "" {
			w.refuse("Codex uses a provider whose name cannot be written in an argument; give it a name of letters and digits")
			return
		}
		key, own = "model_providers."+provider+".base_url", text(table["base_url"])
		login, _ := table["requires_openai_auth"].(bool)
		ownAuth = !login
	}
	address, origin := own, key
	if own == "" {
		if address, origin = c.loginAddress(ownAuth); w.out.Why != "" {
			return
		}
	}
	base := w.through("openai", "openai", address, origin)
	if w.out.Why != "" {
		return
	}
	w.addLimit("openai", text(c.config["model"]), number(c.config["model_context_window"]), number(c.config["model_max_output_tokens"]))
	if w.in.PeerRoot != "" {
		base = w.in.PeerRoot + strings.TrimPrefix(base, w.in.Root)
	} else if w.agent.Adapter == nil {
		w.note("Codex takes its address on the command line, so the token of this run can be seen in the list of processes while it runs")
	}
	if w.agent.Adapter != nil {
		c.setAddress(strings.Split(key, "."), base)
		return
	}
	assignment := key + "=" + strconv.Quote(base)
	if f, ok := c.overrides[key]; ok {
		w.replace(f, assignment)
		return
	}
	w.insert("-c", assignment)
}

// codex holds the merged settings of Codex's files and flags.
type codex struct {
	*planner
	dir       string
	config    map[string]any
	overrides map[string]flag // the last -c of each key
	trusted   bool            // the folder or one above it is trusted
	project   []claim         // settings about providers in a trusted project's .codex/config.toml
	ignored   []claim         // the same in a project that is not trusted
}

// codexSteering are the keys of a config.toml that decide where requests go, or with which credential.
var codexSteering = []string{"model_provider", "model_providers", codexBase, "chatgpt_base_url", "profile", "profiles", "cli_auth_credentials_store", "forced_login_method"}

// readProject records what the config.toml of the folder and of those above it say of addresses and credentials: in project if Codex uses them,
// because its own config.toml trusts the folder or one above it (projects."FOLDER".trust_level), else in ignored.
func (c *codex) readProject() {
	trust := func(dir string) bool {
		return text(object(object(c.config["projects"])[dir])["trust_level"]) == "trusted"
	}
	dirs := upwards(c.in.Dir)
	c.trusted = slices.ContainsFunc(dirs, func(dir string) bool { return trust(dir) || trust(realPath(dir)) })
	for _, dir := range dirs {
		name := filepath.Join(dir, ".codex", "config.toml")
		if filepath.Dir(name) == filepath.Clean(c.dir) {
			continue
		}
		body, err := c.read(name)
		layer := map[string]any{}
		if err == nil {
			layer, err = decodeTOML(body)
		}
		var claims []claim
		if err != nil {
			claims = append(claims, claim{file: name, name: "what could not be understood"})
		}
		for _, key := range codexSteering {
			if v, ok := layer[key]; ok {
				claims = append(claims, claim{name, key, text(v)})
			}
		}
		if c.trusted {
			c.project = append(c.project, claims...)
		} else {
			c.ignored = append(c.ignored, claims...)
		}
	}
}

// readCodex reads Codex's configuration files, from the weakest to the strongest, and over them its flags -c or, of an adapter, its variables. A
// file that cannot be understood refuses the proxy.
func readCodex(w *planner) *codex {
	c := &codex{planner: w, dir: codexFolder(w.agentHome()), config: map[string]any{}, overrides: map[string]flag{}}
	names := []string{"/etc/codex/config.toml"}
	if c.dir != "" {
		names = append(names, filepath.Join(c.dir, "config.toml"))
		if profiles := w.flags("-p", "--profile"); len(profiles) > 0 {
			if name := profiles[len(profiles)-1].value; name != "" && strings.Trim(name, bareKey) == "" {
				names = append(names, filepath.Join(c.dir, name+".config.toml"))
			}
		}
	}
	for _, name := range names {
		text, err := w.read(name)
		layer := map[string]any{}
		if err == nil {
			layer, err = decodeTOML(text)
		}
		if err != nil {
			w.refuse("%s could not be understood, and it may name another provider; codex doctor or an editor shows what is wrong", name)
			return c
		}
		merge(c.config, layer, 0)
	}
	c.readProject()
	if c.agent.Adapter != nil {
		c.readVariables()
		return c
	}
	for _, f := range w.flags("-c", "--config") {
		key, value, ok := strings.Cut(f.value, "=")
		if !ok {
			continue
		}
		key = strings.TrimSpace(key)
		c.overrides[key] = f
		layer, err := decodeTOML([]byte("x = " + value))
		v := layer["x"]
		if err != nil {
			v = strings.TrimSpace(value) // as Codex does: what is no TOML is text
		}
		c.override(key, v)
	}
	return c
}

// override sets a key, which may have dots, over the settings of the files.
func (c *codex) override(key string, value any) { assign(c.config, strings.Split(key, "."), value) }

// loginAddress returns the address that the credential of Codex's own login belongs to, and where that is from; "" after a refusal. ownAuth
// says that the provider's key is in the environment.
func (c *codex) loginAddress(ownAuth bool) (address, origin string) {
	// Through an adapter the editor chooses the login, and the key is only one that may be chosen.
	if ownAuth || c.get("CODEX_API_KEY") != "" && c.agent.Adapter == nil {
		return c.usualAddress("openai"), "[upstream] openai"
	}
	if store := text(c.config["cli_auth_credentials_store"]); store != "" && store != "file" {
		c.refuse("Codex keeps its login in the keyring, where Plimsoll does not look, so the login's host is unknown; set %s in config.toml to go through the proxy", codexBase)
		return "", ""
	}
	var auth struct {
		Mode   string `json:"auth_mode"`
		Key    string `json:"OPENAI_API_KEY"`
		Tokens *struct {
			Access string `json:"access_token"`
		} `json:"tokens"`
	}
	if c.dir != "" {
		if _, err := c.readJSON(filepath.Join(c.dir, "auth.json"), &auth); err != nil {
			c.refuse("Codex's auth.json could not be understood, so the login's host is unknown")
			return "", ""
		}
	}
	switch {
	case auth.Mode != "" && auth.Mode != "apikey" && auth.Mode != "chatgpt":
		c.refuse("Codex is logged in by %s, for which there is no profile", clip(auth.Mode))
	case auth.Mode == "apikey" || auth.Mode == "" && auth.Key != "":
		return c.usualAddress("openai"), "[upstream] openai"
	case auth.Tokens != nil && auth.Tokens.Access != "":
		if text(c.config["chatgpt_base_url"]) != "" {
			c.refuse("Codex is logged in with ChatGPT and chatgpt_base_url is set, for which there is no profile")
			return "", ""
		}
		return chatGPT, "the ChatGPT login"
	case c.get("CODEX_ACCESS_TOKEN") != "":
		c.refuse("Codex is logged in by CODEX_ACCESS_TOKEN, for which there is no profile")
	default:
		c.refuse("Codex is not logged in, so the host of the coming login is unknown; run codex login, or set CODEX_API_KEY")
	}
	return "", ""
}

// codexServers gives Codex 0.169.0 a server's command and arguments by -c, which is merged into the server's table: variables, timeouts and
// the rest stay. A key can be set but not removed, and a table with both url and command is refused: so a remote server can only be wrapped
// in its file. Quotes in a key of -c are part of the name, so a name must be bare. A project's own file counts only if the user's says that
// the project is trusted.
func codexServers(w Servers) {
	w.Load(filepath.Join(codexFolder(w.Home()), "config.toml"), always)
	if project, trusted := w.Project(); trusted {
		w.Load(filepath.Join(project, ".codex", "config.toml"), always)
	}
	var flags []string
	start := func(name, command string, args []string) {
		flags = append(flags, "-c", "mcp_servers."+name+".command="+tomlText(command), "-c", "mcp_servers."+name+".args="+tomlTexts(args))
	}
	w.Wrapped(func(s Server) {
		switch {
		case s.Remote:
			w.Around(s.Name, "it is remote, and Codex takes no other kind of server in its place for one run")
		case strings.Trim(s.Name, bareKey) != "":
			w.Around(s.Name, "its name cannot be written in a flag of Codex")
		default:
			start(s.Name, s.Command, s.Args)
		}
	})
	w.Offered(func(o Offered) { start(o.Name, o.Command[0], o.Command[1:]) })
	w.Insert(flags...)
}

// codexSpeaks reads the origin of a request from the header X-Codex-Turn-Metadata: a JSON object that says who began the thread, what began
// the turn, and what the request is for.
func codexSpeaks(r Request) Origin {
	said := r.Header("X-Codex-Turn-Metadata")
	var turn struct {
		Agent  string `json:"agent_name"`
		Kind   string `json:"request_kind"`
		Source string `json:"thread_source"`
		By     string `json:"turn_trigger"`
	}
	if len(said) > MaxSelfDescription || json.Unmarshal([]byte(said), &turn) != nil {
		return Origin{Side: true}
	}
	o := Origin{Side: turn.Source != "user" || turn.Kind != "turn" || turn.Agent != "" && turn.Agent != "/root"}
	o.Person = !o.Side && turn.By == "user" && r.Header("Originator") == "codex-tui"
	return o
}

// codexTyped returns the indexes of the texts in a message that stand alone in their part and that Codex did not write; if it wrote the first,
// nobody typed the others, and there are none.
func codexTyped(parts []Said) (typed []int) {
	for i, p := range parts {
		wrote := agentWrote(p.Text, codexOpenings)
		switch {
		case wrote && i == 0:
			return nil
		case p.Single && p.Bare && !wrote:
			typed = append(typed, i)
		}
	}
	return typed
}

// codexOpenings are beginnings of texts that Codex writes in the role of the user, outside of elements: the project's AGENTS.md, and a
// summary of what was compacted.
var codexOpenings = []string{"# AGENTS.md instructions", "Another language model started", "Generate a concise", "Warning:", "Message Type:", "Sender:"}
