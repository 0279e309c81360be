package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// editors' agents, as an editor starts them: the name of the program and its arguments, and whose environment it takes.
var agentsOfEditors = []struct {
	name, like string
	arguments  []string
}{
	{"claude-agent-acp", "claude", nil},
	{"codex-acp", "codex", nil},
	{"gemini", "gemini", []string{"--acp", "-m", "gemini-2.5-pro"}},
	{"opencode", "opencode", []string{"acp"}},
	{"qwen", "qwen", []string{"--acp", "--auth-type", "openai"}},
	{"copilot", "copilot", []string{"--acp", "--allow-all-tools", "--disable-builtin-mcps"}},
	{"cline", "", []string{"--acp"}},
}

// Real agents with a session open end with their editor, whichever way that goes.
func TestAgentEndsWithItsEditor(t *testing.T) {
	known := slices.Clone(agents)
	for _, o := range others {
		known = append(known, o.agent)
	}
	for _, a := range agentsOfEditors {
		t.Run(a.name, func(t *testing.T) {
			if _, err := os.Stat(filepath.Join(clients(), ".bin", a.name)); err != nil && (a.name == "codex-acp" || a.name == "cline") {
				t.Skipf("%s is installed by night", a.name)
			}
			path := installed(t, a.name)
			for _, killed := range []string{"editor", "group"} {
				t.Run(killed+" killed", func(t *testing.T) {
					w := newWorld(t)
					of := agent{env: func(string) []string { return nil }}
					if i := slices.IndexFunc(known, func(k agent) bool { return k.name == a.like }); i >= 0 {
						of = known[i]
						of.settle(t, w, "http://127.0.0.1:9"+of.base)
					}
					heard, pid := filepath.Join(w.home, "heard"), filepath.Join(w.home, "pid")
					says := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}` + "\n" +
						`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":` + quoted(t, w.work) + `,"mcpServers":[]}}` + "\n"
					editor := w.callerOf(testtool, pid, slices.Concat([]string{plimsoll, "run", "--force", "--quiet", "--", path}, a.arguments), func(cmd *exec.Cmd) {
						of.apart(errand{base: "http://127.0.0.1:9" + of.base, env: []string{"IS_SANDBOX=1", "EDITOR_SAYS=" + says, "EDITOR_HEARS=" + heard}})(cmd)
					})
					agent := w.agentOf(pid)
					w.until("an answer to session/new", func() bool {
						text, _ := os.ReadFile(heard)
						return strings.Contains(string(text), `"id":1`)
					})
					t.Logf("%d processes with a session asked for", len(w.processes()))
					if killed == "editor" {
						_ = syscall.Kill(editor.Process.Pid, syscall.SIGKILL)
						go func() { _ = editor.Wait() }()
					} else {
						_ = syscall.Kill(-agent, syscall.SIGKILL)
						go func() { _ = editor.Wait() }()
						w.until("the agent's end", func() bool { return syscall.Kill(agent, 0) != nil || zombie(agent) })
						_ = syscall.Kill(editor.Process.Pid, syscall.SIGKILL)
					}
					w.endsWithin(editorGrace)
				})
			}
		})
	}
}
