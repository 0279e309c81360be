package wrap

import (
	"encoding/json"
	"path/filepath"
	"slices"
)

// claude gives Claude Code 2.1 a file by --mcp-config: its servers take the place of those
// of the same name in every scope, all others stay. Servers of a project's .mcp.json are
// only there once the user has approved them, and such a file asks nobody: so only approved
// ones are in it, or all where Claude Code itself does not ask (-p).
func (w *starter) claude() {
	if w.given("--strict-mcp-config") {
		w.out.Why = "--strict-mcp-config leaves only the servers of your own --mcp-config: wrap that file with `plimsoll mcp wrap FILE`"
		return
	}
	if w.given("--mcp-config") {
		w.note("the servers of your own --mcp-config go around Plimsoll: wrap that file with `plimsoll mcp wrap FILE`")
	}
	own := filepath.Join(w.Home, ".claude.json")
	folder := filepath.Join(w.Home, ".claude")
	if dir := w.get("CLAUDE_CONFIG_DIR"); dir != "" {
		own, folder = filepath.Join(dir, ".claude.json"), dir
	}
	var user struct {
		Projects map[string]approvals `json:"projects"`
	}
	if data, err := w.ReadFile(own); err == nil {
		_ = json.Unmarshal(plainJSON(data), &user)
	}
	said := user.Projects[w.Project]
	names := []string{filepath.Join(folder, "settings.json")}
	if !w.Untrusted { // a repository cannot approve its own servers
		names = append(names, filepath.Join(w.Project, ".claude", "settings.json"), filepath.Join(w.Project, ".claude", "settings.local.json"))
	}
	for _, name := range names {
		var more approvals
		if data, err := w.ReadFile(name); err == nil && json.Unmarshal(plainJSON(data), &more) == nil {
			said.All = said.All || more.All
			said.Enabled = append(said.Enabled, more.Enabled...)
			said.Disabled = append(said.Disabled, more.Disabled...)
		}
	}
	asks := !w.given("-p") && !w.given("--print")
	// From the weakest scope to the strongest: user, project, local.
	w.load(own, func(place []string, name string) bool {
		return place[0] == "mcpServers" && !slices.Contains(said.Off, name)
	})
	w.load(filepath.Join(w.Project, ".mcp.json"), func(_ []string, name string) bool {
		switch {
		case slices.Contains(said.Disabled, name), slices.Contains(said.Off, name):
			return false
		case w.Untrusted:
			w.note("the server " + name + " of .mcp.json is left alone: the folder is not trusted")
			return false
		case !asks, said.All, slices.Contains(said.Enabled, name):
			return true
		}
		w.note("the server " + name + " of .mcp.json is not approved yet and goes around Plimsoll in this run")
		return false
	})
	w.load(own, func(place []string, name string) bool {
		return place[0] == "projects" && place[1] == w.Project && !slices.Contains(said.Off, name)
	})
	body := []byte("{}")
	w.each(func(name string, f found) {
		if entry := f.plain(); entry != nil {
			body = set(body, "mcpServers", name, entry)
		}
	})
	w.offers(func(o Offered) { body = set(body, "mcpServers", o.Name, o.entry()) })
	if len(body) > 2 {
		// With "=": the flag takes all words that follow it, a prompt as well.
		w.insert("--mcp-config=" + w.file("claude-mcp.json", append(body, '\n')))
	}
}

// approvals are what a user said about the servers of a project.
type approvals struct {
	All      bool     `json:"enableAllProjectMcpServers"`
	Enabled  []string `json:"enabledMcpjsonServers"`
	Disabled []string `json:"disabledMcpjsonServers"`
	Off      []string `json:"disabledMcpServers"`
}
