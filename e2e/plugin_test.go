//go:build linux || darwin

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

const pluginFolder = "../deploy/claude-plugin"

// pluginServer is the command of the plugin's MCP server, in a run.
func pluginServer(t *testing.T) []string {
	t.Helper()
	text := testfile.Read(t, filepath.Join(pluginFolder, ".mcp.json"))
	var file struct {
		MCPServers map[string]struct {
			Command string
			Args    []string
		}
	}
	if err := json.Unmarshal(text, &file); err != nil || len(file.MCPServers) != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	for _, s := range file.MCPServers {
		return append([]string{s.Command}, s.Args...)
	}
	return nil
}

// The MCP server of the plugin answers, and knows the run that it is in.
func TestPluginServerAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	messages := strings.Join([]string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"run_status","arguments":{}}}`,
		`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"list_runs","arguments":{"tool":"claude"}}}`,
		`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"list_runs","arguments":{"count":51}}}`,
		`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"predict_run","arguments":{"command":["npm","test"]}}}`,
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"show_run","arguments":{}}}`,
	}, "\n") + "\n"
	argv := append([]string{plimsoll, "run", "--quiet", "--force", "--tool", "claude", "--memory-max", "700M", "--"}, pluginServer(t)...)
	got := w.run(func(cmd *exec.Cmd) {
		cmd.Env = append(cmd.Env, "PATH="+bin+":"+os.Getenv("PATH"))
		cmd.Stdin = strings.NewReader(messages)
	}, argv...)
	if got.status != 0 {
		t.Fatalf("status %d: %s", got.status, got.stderr)
	}
	answers := map[float64]string{}
	for line := range strings.Lines(got.stdout) {
		var m struct{ ID float64 }
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		answers[m.ID] = line
	}
	for id, want := range map[float64][]string{
		1: {`"plimsoll-runs"`},
		2: {`"run_status"`, `"list_runs"`, `"show_run"`, `"predict_run"`, `"readOnlyHint":true`},
		3: {`\"inside\":true`, `\"tool\":\"claude\"`, `\"limit_bytes\":734003200`},
		4: {`\"outcome\":\"running\"`, `\"total\":1`},
		5: {`"isError":true`, "1 to 50"},
		6: {`\"tool\":\"npm\"`, `\"estimate_bytes\":`},
		7: {`\"outcome\":\"running\"`, `\"next\":`},
	} {
		for _, text := range want {
			if !strings.Contains(answers[id], text) {
				t.Errorf("answer %v has no %s: %s", id, text, clip(answers[id]))
			}
		}
	}
}

// What the plugin's texts tell a model to type works.
func TestPluginCommandsWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var texts strings.Builder
	for _, name := range []string{"commands/status.md", "skills/plimsoll/SKILL.md"} {
		text := testfile.Read(t, filepath.Join(pluginFolder, name))
		texts.WriteString(string(text))
	}
	commands := regexp.MustCompile("`(plimsoll (?:status|runs|stats)[^`]*)`").FindAllStringSubmatch(texts.String(), -1)
	if len(commands) < 4 {
		t.Fatalf("only %q", commands)
	}
	if got := w.run(nil, plimsoll, "run", "--quiet", "--force", "--", "true"); got.status != 0 {
		t.Fatal(got)
	}
	for _, c := range commands {
		argv := strings.Fields(c[1])
		argv[0] = plimsoll
		if got := w.run(nil, argv...); got.status != 0 || got.stdout == "" {
			t.Errorf("%s: status %d, %s", c[1], got.status, got.stderr)
		}
	}
}

// Claude Code takes the plugin: it is valid, can be installed from this repository, and its server connects.
func TestAgentClaudeTakesThePlugin(t *testing.T) {
	t.Parallel()
	claude := installed(t, "claude")
	w := newWorld(t)
	top, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		args []string
		want string
	}{
		{[]string{"plugin", "validate", filepath.Join(top, "deploy", "claude-plugin")}, "Validation passed"},
		{[]string{"plugin", "validate", top}, "Validation passed"},
		{[]string{"plugin", "marketplace", "add", top}, "plimsoll"},
		{[]string{"plugin", "install", "plimsoll@plimsoll"}, "plimsoll"},
		{[]string{"plugin", "list"}, "plimsoll@plimsoll"},
		{[]string{"mcp", "list"}, "Connected"},
	} {
		got := w.run(func(cmd *exec.Cmd) {
			cmd.Env = append(append(cmd.Env, alone...), "PATH="+bin+":"+os.Getenv("PATH"))
		}, append([]string{claude}, step.args...)...)
		if got.status != 0 || !strings.Contains(got.stdout+got.stderr, step.want) {
			t.Errorf("claude %s: status %d, no %q in\n%s%s", strings.Join(step.args, " "), got.status, step.want, got.stdout, got.stderr)
		}
	}
}
