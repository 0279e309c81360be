package client

import (
	"path/filepath"
	"runtime"
)

// Gemini CLI 0.61, measured.
//
// GOOGLE_GEMINI_BASE_URL takes the address, /v1beta/models/… is added. With an API key that
// was selected in its settings (security.auth.selectedType = "gemini-api-key") requests
// with and without it are the same. Without a selected way of logging in the variable
// turns the login into "gateway", which the tool refuses outside of a terminal (exit 41);
// selecting one for it by a settings file of ours would have to be a file of root, and
// changes the system prompt (39 KB to 46 KB). A Google login goes to Code Assist
// (CODE_ASSIST_ENDPOINT), whose requests are of another form.
const geminiBase = "GOOGLE_GEMINI_BASE_URL"

func planGemini(w *planner) {
	s := readGemini(w, ".gemini")
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
			address, origin = w.usual("gemini"), "[upstream] gemini"
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

// geminiSettings are those of Gemini CLI and of Qwen Code, which grew from it.
type geminiSettings struct {
	*planner
	selected  string
	baseURL   string
	providers bool              // modelProviders is not empty
	env       map[string]string // of the .env file
}

// readGemini reads the settings files from the weakest to the strongest, and the .env file
// that the tool would take. A file of the project counts only where the folder is trusted;
// it is believed here, because the wrong belief only leads to a run without proxy or to one
// whose credential goes where the project says.
func readGemini(w *planner, folder string) *geminiSettings {
	s := &geminiSettings{planner: w}
	system := "/etc/gemini-cli/"
	prefix := "GEMINI_CLI_SYSTEM_"
	if folder == ".qwen" {
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
	home := w.path(folder)
	if folder == ".gemini" && w.get("GEMINI_CLI_HOME") != "" {
		home = filepath.Join(w.get("GEMINI_CLI_HOME"), folder)
	}
	s.file(first(prefix+"DEFAULTS_PATH", "system-defaults.json"))
	if home != "" {
		s.file(filepath.Join(home, "settings.json"))
	}
	s.file(filepath.Join(w.in.Dir, folder, "settings.json"))
	s.file(first(prefix+"SETTINGS_PATH", "settings.json"))
	s.dotenv(folder, home)
	return s
}

func (s *geminiSettings) file(name string) {
	var v struct {
		Security struct {
			Auth struct {
				SelectedType string `json:"selectedType"`
				BaseURL      string `json:"baseUrl"`
			} `json:"auth"`
		} `json:"security"`
		SelectedAuthType string         `json:"selectedAuthType"` // before settings were nested
		ModelProviders   map[string]any `json:"modelProviders"`
	}
	if name == "" || !s.tryJSON(name, &v) {
		return
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

// dotenv reads the one .env file the tool would: the nearest upwards, then the user's.
func (s *geminiSettings) dotenv(folder, home string) {
	var names []string
	for _, dir := range upwards(s.in.Dir) {
		names = append(names, filepath.Join(dir, folder, ".env"), filepath.Join(dir, ".env"))
	}
	if home != "" {
		names = append(names, filepath.Join(home, ".env"))
	}
	if name := s.path(".env"); name != "" {
		names = append(names, name)
	}
	for _, name := range names {
		if text, err := s.read(name); err == nil && text != nil {
			s.env = dotenv(text)
			return
		}
	}
}

// get is the value that the tool sees: its .env file only fills gaps.
func (s *geminiSettings) get(name string) string {
	if value, ok := s.look(name); ok {
		return value
	}
	return s.env[name]
}
