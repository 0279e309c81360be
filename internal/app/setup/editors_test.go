package setup

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// Settings of editors as people have them: with comments, trailing commas, keys that are nobody's business here.
const (
	zed = `// Zed settings
{
  "theme": "One Dark", // dark
  "agent_servers": {
    /* mine */
    "opencode": {
      "type": "custom",
      "command": "opencode",
      "args": ["acp"], // speaks ACP
      "env": {},
    },
    "bare": { "command": "gemini" },
    "claude": { "type": "registry" },
    "own": { "type": "custom", "command": "/usr/bin/plimsoll", "args": ["run", "--memory-max", "8G", "--", "codex-acp"] },
  },
}
`
	jetbrains = "{\r\n\t\"default_mcp_settings\": {},\r\n\t\"agent_servers\": {\"Qwen\": {\"command\": \"qwen\", \"args\": []}}\r\n}"
	vscode    = `{"editor.fontSize": 12, "acp.agents": {"Codex": {"command": "npx", "args": ["-y", "@agentclientprotocol/codex-acp"]}}}`
)

func editorHouse(t *testing.T) *house {
	t.Helper()
	h := newHouse(t, map[string]string{
		".config/zed/settings.json": zed, ".jetbrains/acp.json": jetbrains, ".config/Code/User/settings.json": vscode, ".config/nvim/init.lua": "",
	})
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(os.Getenv("PATH"), "plimsoll")) // newHouse has one folder in it
	}
	if err != nil {
		t.Fatal(err)
	}
	h.o.Agents, h.o.MCP, h.o.Watch = "none", "no", "no"
	return h
}

func TestEditorsAgentsRunInTheirLimits(t *testing.T) {
	h := editorHouse(t)
	before := h.everything()
	h.o.Yes = true
	r := h.do()
	if len(r.Changes) != 3 {
		t.Errorf("%+v", r.Changes)
	}
	for _, c := range r.Changes {
		if c.What != whatEditors || c.Action != Changed || c.Diff == "" {
			t.Errorf("%+v", c)
		}
	}
	next := strings.Join(r.Next, "\n")
	for _, want := range []string{"to run claude in their limits, make them custom entries", `commands = { default = { "plimsoll", "run", "--"`, "restart the editors"} {
		if !strings.Contains(next, want) {
			t.Errorf("what is next does not say %q: %s", want, next)
		}
	}
	self := strconv.Quote(filepath.Join(os.Getenv("PATH"), "plimsoll"))
	for file, wants := range map[string][]string{
		".config/zed/settings.json": {
			"\"command\": " + self + ",\n      \"args\": [\"run\", \"--\", \"opencode\", \"acp\"], // speaks ACP\n", "// Zed settings\n", "/* mine */",
			`{ "command": ` + self + `, "args": ["run", "--", "gemini"] }`, `{ "type": "registry" }`, `["run", "--memory-max", "8G", "--", "codex-acp"]`,
		},
		".jetbrains/acp.json":             {`{"command": ` + self + `, "args": ["run", "--", "qwen"]}`},
		".config/Code/User/settings.json": {`"args": ["run", "--", "npx", "-y", "@agentclientprotocol/codex-acp"]`},
	} {
		text := testfile.Read(t, filepath.Join(h.home, file))
		for _, want := range wants {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s has no %q:\n%s", file, want, text)
			}
		}
	}
	after := h.everything()
	for _, c := range h.do().Changes {
		if c.Action != Already {
			t.Errorf("a second time: %+v", c)
		}
	}
	h.same("a second time", after)
	for _, c := range h.undo().Changes {
		if c.Action != Undone || !c.Exact {
			t.Errorf("undone: %+v", c)
		}
	}
	h.same("undone", before)
}

// What was changed meanwhile stays, and the agents are their own again.
func TestEditorsSettingsThatChangeMeanwhile(t *testing.T) {
	h := editorHouse(t)
	h.o.Yes = true
	h.do()
	file := filepath.Join(h.home, ".config/zed/settings.json")
	text := testfile.Read(t, file)
	h.write(file, strings.Replace(string(text), "One Dark", "Ayu", 1), 0o600)
	for _, c := range h.undo().Changes {
		if c.Action != Undone || c.Exact != (c.File != file) {
			t.Errorf("%+v", c)
		}
	}
	if text, _ := os.ReadFile(file); string(text) != strings.Replace(zed, "One Dark", "Ayu", 1) {
		t.Errorf("%s", text)
	}
}

// Without a person, and without an answer, editors are left alone: scripts that answer three questions go on working.
func TestEditorsAreLeftWithoutAnAnswer(t *testing.T) {
	h := editorHouse(t)
	h.o.Yes = false
	before := h.everything()
	if r := h.do(); len(r.Changes) != 0 {
		t.Errorf("%+v", r)
	}
	h.same("no answer", before)
	h.o.Editors = "yes"
	if r := h.do(); len(r.Changes) != 3 {
		t.Errorf("%+v", r)
	}
}
