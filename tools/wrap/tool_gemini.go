package wrap

import (
	"path/filepath"
	"runtime"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// geminiSystem names the file of Gemini CLI 0.61 that wins over the user's and the
// project's settings, server by server. Without it, it lies in a folder of the system; what
// stands there is kept in ours.
const geminiSystem = "GEMINI_CLI_SYSTEM_SETTINGS_PATH"

func (w *starter) gemini() {
	w.load(filepath.Join(w.Home, ".gemini", "settings.json"), always)
	project := filepath.Join(w.Project, ".gemini", "settings.json")
	if w.Untrusted && w.Project != w.Home {
		// In our file of the system's settings they would be started although the tool itself leaves them alone.
		if _, err := w.ReadFile(project); err == nil {
			w.note("the servers of the project's settings are left alone: the folder is not trusted")
		}
	} else {
		w.load(project, always)
	}
	system := w.get(geminiSystem)
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
	if data, err := w.ReadFile(system); err == nil {
		// The name says how it is read: as a file of this client.
		plain := w.take(filepath.Join(filepath.Dir(system), ".gemini", "settings.json"), data, always)
		if span, err := rawjson.Only(plain); err != nil || plain[span.Start] != '{' {
			w.out.Why = system + " is not valid JSON: correct it and try again"
			return
		}
		body = plain
	}
	any := false
	w.each(func(name string, f found) {
		if entry := f.plain(); entry != nil {
			body, any = set(body, "mcpServers", name, entry), true
		}
	})
	w.offers(func(o Offered) { body, any = set(body, "mcpServers", o.Name, o.entry()), true })
	if any {
		w.out.Env = append(w.out.Env, geminiSystem+"="+w.file("gemini-settings.json", append(body, '\n')))
	}
}
