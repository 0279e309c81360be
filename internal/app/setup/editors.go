package setup

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/plimsoll/plimsoll/internal/tools/wrap"
)

// editorFiles returns the user's own files in which editors may keep the commands of agents that speak the Agent Client Protocol.
func editorFiles(home string, getenv func(string) string) []string {
	settings := configHome(home, getenv)
	code := settings
	if runtime.GOOS == "darwin" {
		code = filepath.Join(home, "Library", "Application Support")
	}
	return []string{
		filepath.Join(settings, "zed", "settings.json"),
		filepath.Join(home, ".jetbrains", "acp.json"),
		filepath.Join(code, "Code", "User", "settings.json"),
	}
}

// neovimLua is the instruction for an edit by hand: a person's program is not a file of settings.
const neovimLua = `in Neovim put these words before an agent's command by hand. CodeCompanion:
    adapters = { acp = { claude_code = function()
      return require("codecompanion.adapters").extend("claude_code", { commands = { default = { "plimsoll", "run", "--", "claude-agent-acp" } } })
    end } }
  avante.nvim:
    acp_providers = { ["claude-code"] = { command = "plimsoll", args = { "run", "--", "claude-agent-acp" } } }`

// planEditors asks whether the agents that editors start are to be started by `plimsoll run`, and plans the changes of the editors' files. It
// asks only if a file has such a command.
func (s *site) planEditors() error {
	options := wrap.Options{Command: s.program, Agents: true}
	var files []string
	var registry []string
	for _, path := range editorFiles(s.home, s.o.Getenv) {
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		change := Change{What: whatEditors, File: path}
		f, err := readTarget(path, s.home, s.o.FollowLinks)
		if err != nil {
			s.failed(change, err)
			continue
		}
		planned, err := wrap.Plan(f.target, f.content, options)
		if err != nil {
			continue // whose file it is says so
		}
		already := false
		for _, agent := range planned.Servers {
			already = already || agent.Action == wrap.Already
			if agent.Action == wrap.Left && agent.Why == wrap.FromRegistry {
				registry = append(registry, agent.Name)
			}
		}
		switch {
		case planned.Changed(f.content):
			files = append(files, path)
		case already:
			s.note(change, Already, "")
		}
	}
	if len(registry) > 0 {
		s.addNext("to run " + list(registry, "and") + " in their limits, make them custom entries with a command: what the editor starts from its registry has none in its settings")
	}
	if _, err := os.Stat(filepath.Join(configHome(s.home, s.o.Getenv), "nvim")); err == nil && s.o.Editors != "no" {
		s.addNext(neovimLua)
	}
	if len(files) == 0 || s.o.Editors == "" && !s.o.Yes && !s.o.DryRun && s.o.Ask == nil {
		return nil
	}
	yes, err := s.planWrapped(whatEditors, files, options, Question{
		Flag: "editors", Text: "Run the agents that your editor starts in their limits (" + s.shortPaths(files) + ")?",
		About: "Puts `plimsoll run --` before their commands. Comments and everything else stay.", Given: s.o.Editors,
	})
	if err != nil || !yes {
		return err
	}
	s.addNext("restart the editors whose agents were changed")
	return nil
}
