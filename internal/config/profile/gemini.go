package profile

import (
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/limit"
)

var _ = add(Agent{
	Name: "gemini", Title: "Gemini CLI", Aliases: []string{"gemini-cli"}, Packages: []string{"@google/gemini-cli"},
	InitialEstimate: 1024 * limit.MiB, // of the sub-agent runner whose users know this name
	Source:          "measured: 0.61.0", Compacts: true, plan: planGemini, trusts: func(w *planner) bool { return readGemini(w, geminiFolder).trusted },
	Resume: "gemini --resume latest",

	ServerFiles: func(h Home) []string { return []string{joinBelow(geminiHome(h), "settings.json")} },
	ServerNames: []string{"/.gemini/settings.json", "/gemini-cli/settings.json"},
	Servers:     geminiServers,
	// It cuts at 40,000 characters. gemini-cli-mcp-client, with the server's name behind it in newer ones.
	MCPClient: "gemini-cli", ResultCap: 40_000,

	UserAgent: "GeminiCLI", Patience: 30 * time.Second,
})

// geminiFolder is the name of Gemini CLI's folder of settings, in a home and in a project.
const geminiFolder = ".gemini"

// geminiHome returns the folder with the user's settings of Gemini CLI; "" without a home.
func geminiHome(h Home) string {
	if dir := h.folder("GEMINI_CLI_HOME", ""); dir != "" {
		return filepath.Join(dir, geminiFolder)
	}
	return h.path(geminiFolder)
}

// Gemini CLI 0.61, measured.
//
// GOOGLE_GEMINI_BASE_URL takes the address, /v1beta/models/… is added. With an API key that was selected in its settings
// (security.auth.selectedType = "gemini-api-key") requests with and without it are the same. Without a selected way of logging in the variable
// turns the login into "gateway", which the tool refuses outside of a terminal (exit 41); selecting one for it by a settings file of ours would
// have to be a file of root, and changes the system prompt (39 KB to 46 KB). A Google login goes to Code Assist (CODE_ASSIST_ENDPOINT), whose
// requests are of another form.
const geminiBase = "GOOGLE_GEMINI_BASE_URL"

// planGemini sets the address of Gemini CLI, if it asks the Gemini API with a key or a gateway. Logins and Vertex have no proxy.
func planGemini(w *planner) {
	s := readGemini(w, geminiFolder)
	if w.refuseIfObeyed(s.project) {
		return
	}
	w.passedOver(s.ignored)
	own := s.get(geminiBase)
	selected := s.selected
	if selected == "" {
		switch {
		case truth(s.get("GOOGLE_GENAI_USE_GCA")):
			selected = "oauth-personal"
		case truth(s.get("GOOGLE_GENAI_USE_VERTEXAI")):
			selected = "vertex-ai"
		case own != "":
			selected = "gateway" // what the tool makes of it without Plimsoll too
		}
	}
	switch selected {
	case "gemini-api-key", "gateway":
		address, origin := own, geminiBase
		if own == "" {
			address, origin = w.usualAddress("gemini"), "[upstream] gemini"
		}
		if base := w.through("gemini", "gemini", address, origin); base != "" {
			w.set(geminiBase, base)
		}
	case "":
		w.refuse(`Gemini CLI has no way of logging in selected, and an address would make it take a gateway's; choose one with /auth, or put {"security":{"auth":{"selectedType":"gemini-api-key"}}} into ~/.gemini/settings.json`)
	case "oauth-personal", "login-with-google":
		w.refuse("Gemini CLI is logged in with Google, whose requests (Code Assist) have a form of their own; with an API key they can go through")
	case "vertex-ai":
		w.refuse("Gemini CLI is in its Vertex mode, for which there is no profile")
	default:
		w.refuse("Gemini CLI is logged in by %s, for which there is no profile", clip(selected))
	}
}

// geminiSettings are the settings of Gemini CLI and of Qwen Code, which grew from it.
type geminiSettings struct {
	*planner
	selected  string
	baseURL   string
	providers bool // modelProviders is not empty
	// folderTrust is the setting whether folders need trust, nil when it is unset.
	folderTrust *bool
	env         map[string]string // of the .env file, if that is the user's
	trusted     bool              // the tool uses the project's files
	project     []claim           // settings in the project's files that the tool obeys
	ignored     []claim           // settings in them that it ignores, because the folder is not trusted
}

// geminiAlways are variables of a project's .env file that count even in a folder that is not trusted.
var geminiAlways = []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}

// readGemini reads the settings files, from the weakest to the strongest, and the .env file that the tool would use. Files of the project
// count only if the folder is trusted; if they then say where requests go, there is no proxy. folder is geminiFolder or qwenFolder.
func readGemini(w *planner, folder string) *geminiSettings {
	s := &geminiSettings{planner: w}
	system := "/etc/gemini-cli/"
	prefix := "GEMINI_CLI_SYSTEM_"
	if folder == qwenFolder {
		system, prefix = "/etc/qwen-code/", "QWEN_CODE_SYSTEM_"
	}
	if runtime.GOOS != "linux" {
		system = ""
	}
	first := func(variable, name string) string {
		if v := w.get(variable); v != "" {
			return v
		}
		if system == "" {
			return ""
		}
		return system + name
	}
	home := w.agentHome().path(folder)
	if folder == geminiFolder {
		home = geminiHome(w.agentHome())
	}
	s.readFile(first(prefix+"DEFAULTS_PATH", "system-defaults.json"))
	if home != "" {
		s.readFile(filepath.Join(home, "settings.json"))
	}
	s.readFile(first(prefix+"SETTINGS_PATH", "settings.json"))
	s.trusted = s.trustsProject(folder, home)
	if dir := filepath.Join(w.in.Dir, folder); dir != home {
		s.readProjectFile(filepath.Join(dir, "settings.json"))
		s.readFile(first(prefix+"SETTINGS_PATH", "settings.json")) // is stronger than the project's
	}
	s.readDotenv(folder, home)
	return s
}

// geminiFile holds the members of a settings file that are used here.
type geminiFile struct {
	Security struct {
		Auth struct {
			SelectedType string `json:"selectedType"`
			BaseURL      string `json:"baseUrl"`
			APIKey       string `json:"apiKey"`
		} `json:"auth"`
		FolderTrust struct {
			Enabled *bool `json:"enabled"`
		} `json:"folderTrust"`
	} `json:"security"`
	SelectedAuthType string            `json:"selectedAuthType"` // before settings were nested
	ModelProviders   map[string]any    `json:"modelProviders"`
	Env              map[string]string `json:"env"` // Qwen Code's
}

// readProjectFile records the addresses and credentials that a project's settings file sets and, if the folder is trusted, takes over the kind of
// login.
func (s *geminiSettings) readProjectFile(name string) {
	var v geminiFile
	found, err := s.readJSON(name, &v)
	if !found {
		return
	}
	if err != nil {
		s.note("%s could not be understood and was passed over", name)
		return
	}
	claims := claimsOf(name, v.Env, nil)
	auth := v.Security.Auth
	if auth.BaseURL != "" {
		claims = append(claims, claim{name, "security.auth.baseUrl", auth.BaseURL})
	}
	if auth.APIKey != "" {
		claims = append(claims, claim{name, "security.auth.apiKey", ""})
	}
	if selected := auth.SelectedType; selected != "" && s.trusted {
		s.selected = selected // which way, not where to
	}
	if len(v.ModelProviders) > 0 {
		claims = append(claims, claim{name, "modelProviders", ""})
	}
	s.claim(claims, s.trusted)
}

// claim adds the claims of a project's file to those that count, or to the ignored ones if it is not obeyed.
func (s *geminiSettings) claim(claims []claim, obeyed bool) {
	if obeyed {
		s.project = append(s.project, claims...)
	} else {
		s.ignored = append(s.ignored, claims...)
	}
}

// trustsProject reports whether the tool uses the project's files: the folder is trusted, or folders need no trust. If that is unknown (an
// editor may decide it) it returns true; the run is then without proxy.
func (s *geminiSettings) trustsProject(folder, home string) bool {
	prefix := "GEMINI"
	if folder == qwenFolder {
		prefix = "QWEN"
	}
	switch {
	case s.get(prefix+"_RESTRICTED_MODE") == "true", s.planner.get(prefix+"_CLI_TRUST_WORKSPACE") == "false":
		return false
	case s.planner.get(prefix+"_CLI_TRUST_WORKSPACE") != "", s.folderTrust != nil && !*s.folderTrust:
		return true
	case folder == qwenFolder && s.folderTrust == nil: // Qwen Code asks only where that is switched on
		return true
	case s.planner.get("GEMINI_CLI_IDE_SERVER_PORT") != "", s.planner.get("QWEN_CODE_IDE_SERVER_PORT") != "":
		return true
	}
	name := s.planner.get(prefix + "_CLI_TRUSTED_FOLDERS_PATH")
	if folder == qwenFolder {
		name = s.planner.get("QWEN_CODE_TRUSTED_FOLDERS_PATH")
	}
	if name == "" && home != "" {
		name = filepath.Join(home, "trustedFolders.json")
	}
	rules := map[string]string{}
	if _, err := s.readJSON(name, &rules); err != nil {
		return true
	}
	// The rule with the longest path counts, as in the tool's own isPathTrusted.
	longest, level := -1, ""
	for rule, l := range rules {
		dir := rule
		if l == "TRUST_PARENT" {
			dir = filepath.Dir(rule)
		}
		if within(realPath(dir), realPath(s.in.Dir)) && len(rule) > longest {
			longest, level = len(rule), l
		}
	}
	return level == "TRUST_FOLDER" || level == "TRUST_PARENT"
}

// realPath returns dir with its links resolved, or only cleaned where that fails.
func realPath(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return filepath.Clean(dir)
}

// within reports whether dir is base or lies below it.
func within(base, dir string) bool {
	rel, err := filepath.Rel(base, dir)
	return err == nil && filepath.IsLocal(rel)
}

// readFile takes over from a settings file what it sets, over what was read before: trust in folders, the kind of login, addresses, and whether it
// names providers of models. A missing file sets nothing.
func (s *geminiSettings) readFile(name string) {
	var v geminiFile
	if name == "" || !s.tryJSON(name, &v) {
		return
	}
	if enabled := v.Security.FolderTrust.Enabled; enabled != nil {
		s.folderTrust = enabled
	}
	for _, t := range []string{v.SelectedAuthType, v.Security.Auth.SelectedType} {
		if t != "" {
			s.selected = t
		}
	}
	if v.Security.Auth.BaseURL != "" {
		s.baseURL = v.Security.Auth.BaseURL
	}
	s.providers = s.providers || len(v.ModelProviders) > 0
}

// readDotenv reads the one .env file that the tool would use: the nearest at or above the working directory, then the user's. settingsFolder is
// the name of the tool's own folder, which may hold one. In a directory that is not trusted the tool takes only keys from it. The environment
// wins over a project's file.
func (s *geminiSettings) readDotenv(settingsFolder, home string) {
	var dirs []string
	for _, dir := range upwards(s.in.Dir) {
		dirs = append(dirs, filepath.Join(dir, settingsFolder), dir)
	}
	if home != "" {
		dirs = append(dirs, home)
	}
	if s.home != "" {
		dirs = append(dirs, s.home)
	}
	for _, dir := range dirs {
		name := filepath.Join(dir, ".env")
		text, err := s.read(name)
		if err != nil || text == nil {
			continue
		}
		found := dotenv(text)
		if s.isUsersFile(dir) || dir == home {
			s.env = found
			return
		}
		// What the environment has, no .env file changes.
		claims := claimsOf(name, found, func(name string) bool { _, set := s.lookup(name); return !set })
		for _, c := range claims {
			s.claim([]claim{c}, s.trusted || slices.Contains(geminiAlways, c.name))
		}
		return
	}
}

// get returns the value of a variable as the tool sees it: the environment's, else that of its .env file.
func (s *geminiSettings) get(name string) string {
	if value, ok := s.lookup(name); ok {
		return value
	}
	return s.env[name]
}

// geminiSystem names the file whose settings win, in Gemini CLI 0.61.0, over the user's and the project's, server by server. If it is not
// set, the file is in a folder of the system; its content is kept in ours.
const geminiSystem = "GEMINI_CLI_SYSTEM_SETTINGS_PATH"

// geminiServers gives Gemini CLI a copy of the system's settings with the servers added. Those of a project count only if it is trusted.
func geminiServers(w Servers) {
	folder, trusted := w.Project()
	home := geminiHome(w.Home())
	w.Load(filepath.Join(home, "settings.json"), always)
	switch project := filepath.Join(folder, geminiFolder); {
	case trusted || project == home:
		w.Load(filepath.Join(project, "settings.json"), always)
	case w.Read(filepath.Join(project, "settings.json")) != nil:
		// In our file of the system's settings they would be started although the tool itself leaves them alone.
		w.Note("the servers of the project's settings are left alone: the folder is not trusted")
	}
	system := w.Home().Get(geminiSystem)
	if system == "" {
		switch runtime.GOOS {
		case "windows":
			system = `C:\ProgramData\gemini-cli\settings.json`
		case "darwin":
			system = "/Library/Application Support/GeminiCli/settings.json"
		default:
			system = "/etc/gemini-cli/settings.json"
		}
	}
	body := []byte("{}")
	if data := w.Read(system); data != nil {
		// The name selects the format: it is read as a file of this client.
		plain := w.Take(filepath.Join(filepath.Dir(system), geminiFolder, "settings.json"), data, always)
		if span, err := rawjson.Only(plain); err != nil || plain[span.Start] != '{' {
			w.Refuse(system + " is not valid JSON: correct it and try again")
			return
		}
		body = plain
	}
	some := false
	w.Wrapped(func(s Server) {
		if entry := s.Entry(); entry != nil {
			body, some = setServer(body, "mcpServers", s.Name, entry), true
		}
	})
	w.Offered(func(o Offered) { body, some = setServer(body, "mcpServers", o.Name, o.entry()), true })
	if some {
		w.Set(geminiSystem, w.File("gemini-settings.json", append(body, '\n')))
	}
}
