package wrap

import (
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// codex gives Codex 0.169 a server's command and arguments by -c, which is merged into the
// server's table: variables, timeouts and the rest stay. A key can be set but not taken
// away, and a table with both url and command is refused: so a remote server can only be
// wrapped in its file. Quotes in a key of -c are part of the name, so a name must be bare.
// A project's own file counts only where the user's says that the project is trusted.
func (w *starter) codex() {
	folder := filepath.Join(w.Home, ".codex")
	if dir := w.get("CODEX_HOME"); dir != "" {
		folder = dir
	}
	user := filepath.Join(folder, "config.toml")
	w.load(user, always)
	var config struct {
		Projects map[string]struct {
			Trust string `toml:"trust_level"`
		} `toml:"projects"`
	}
	if data, err := w.ReadFile(user); err == nil {
		_ = toml.Unmarshal(data, &config)
	}
	if config.Projects[w.Project].Trust == "trusted" {
		w.load(filepath.Join(w.Project, ".codex", "config.toml"), always)
	}
	var flags []string
	w.each(func(name string, f found) {
		from, _ := wrapping(f.toml.arguments())
		switch {
		case from < 0:
			w.around(name, "it is remote, and Codex takes no other kind of server in its place for one run")
		case !bare(name):
			w.around(name, "its name cannot be written in a flag of Codex")
		default:
			flags = append(flags,
				"-c", "mcp_servers."+name+".command="+string(quoteTOML(w.Options.command())),
				"-c", "mcp_servers."+name+".args="+string(tomlArray(f.toml.arguments())))
		}
	})
	w.offers(func(o Offered) {
		flags = append(flags, "-c", "mcp_servers."+o.Name+".command="+string(quoteTOML(o.Command[0])), "-c", "mcp_servers."+o.Name+".args="+string(tomlArray(o.Command[1:])))
	})
	w.insert(flags...)
}

// around says that a server stays as it is in this run.
func (w *starter) around(name, why string) {
	w.note("the server " + name + " goes around Plimsoll: " + why + "; `plimsoll mcp wrap` can rewrite its file")
	for i := range w.out.Servers {
		if s := &w.out.Servers[i]; s.Name == name {
			s.Action, s.Why = Left, why
		}
	}
}

func bare(name string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool { return r > 127 || !bareKey(byte(r)) }) < 0
}
