package wrap

import (
	"bytes"
	"path/filepath"
)

// openCodeContent is merged over all files of opencode 1.18, key by key. What the user has
// in it is kept.
const openCodeContent = "OPENCODE_CONFIG_CONTENT"

func (w *starter) opencode() {
	folder := filepath.Join(w.Home, ".config")
	if dir := w.get("XDG_CONFIG_HOME"); dir != "" {
		folder = dir
	}
	names := []string{
		filepath.Join(folder, "opencode", "config.json"),
		filepath.Join(folder, "opencode", "opencode.json"),
		filepath.Join(folder, "opencode", "opencode.jsonc"),
	}
	if own := w.get("OPENCODE_CONFIG"); own != "" {
		names = append(names, own)
	}
	for _, below := range []string{"", ".opencode"} {
		names = append(names, filepath.Join(w.Project, below, "opencode.json"), filepath.Join(w.Project, below, "opencode.jsonc"))
	}
	for _, name := range names {
		w.load(name, direct)
	}
	body := []byte("{}")
	if content := w.get(openCodeContent); content != "" {
		if body = w.take(openCodeContent, []byte(content), direct); body == nil || body[0] != '{' {
			w.out.Why = openCodeContent + " is not valid JSON: correct it, opencode does not start with it either"
			return
		}
	}
	any := false
	w.each(func(name string, f found) {
		// Only what makes it a wrapped one: the rest is merged from where it stands.
		entry := f.plain("type", "command", "environment")
		switch {
		case entry == nil:
			return
		case bytes.Contains(entry, []byte("{file:")):
			w.around(name, "it names a file from where its own file lies")
			return
		}
		body, any = set(body, "mcp", name, entry), true
	})
	if any {
		w.out.Env = append(w.out.Env, openCodeContent+"="+string(body))
	}
}

// direct holds for servers where opencode 1.18 has them: right below mcp.
func direct(place []string, _ string) bool { return len(place) == 2 && place[0] == "mcp" }
