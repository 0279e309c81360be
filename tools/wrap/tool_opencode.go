package wrap

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
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
		entry := f.plain("type", "command")
		if entry == nil {
			return
		}
		variables, _ := f.object.object("environment")
		if len(w.hidden(variables)) > 0 {
			if bytes.Contains(variables.span.Of(f.data), []byte("{file:")) {
				w.around(name, "it names a file from where its own file lies")
				return
			}
			// All servers see the variable with the content, so a secret goes by a file.
			var env []header
			for _, v := range w.hidden(variables) {
				if !strings.Contains(v.value, "{env:") {
					v.value = "{file:" + w.file(fmt.Sprintf("opencode-%d", len(w.out.Files)+1), []byte(v.value)) + "}"
				}
				env = append(env, v)
			}
			entry, _ = rawjson.Set(entry, "environment", appendObject(nil, env))
		}
		body, any = set(body, "mcp", name, entry), true
	})
	w.offers(func(o Offered) {
		entry, _ := rawjson.Set([]byte(`{"type":"local","enabled":true}`), "command", jsonArray(o.Command))
		body, any = set(body, "mcp", o.Name, entry), true
	})
	if any {
		w.out.Env = append(w.out.Env, openCodeContent+"="+string(body))
	}
}

// direct holds for servers where opencode 1.18 has them: right below mcp.
func direct(place []string, _ string) bool { return len(place) == 2 && place[0] == "mcp" }

// hidden gives the variables that wrapping made.
func (w *starter) hidden(variables object) (all []header) {
	for _, m := range variables.members {
		if value, ok := stringOf(m.node); ok && strings.HasPrefix(m.key, "PLIMSOLL_MCP_") {
			all = append(all, header{m.key, value})
		}
	}
	return all
}
