//go:build linux || darwin

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The MCP server of the memory, through the client that people try servers with: the tools, Anthropic's example of a note, and a search that finds it.
func TestMCPInspectorOnTheMemory(t *testing.T) {
	w := newWorld(t)
	inspector := pinned(t, "mcp-inspector")
	target := []string{plimsoll, "mcp", "memory", "--quiet"}
	inspect := func(args ...string) result {
		t.Helper()
		return w.run(func(cmd *exec.Cmd) { cmd.Env = append(w.node(), "MCP_INSPECTOR_SECRET_STORE=memory") },
			slices.Concat([]string{inspector, "--cli"}, target, args)...)
	}
	ask := func(args ...string) string {
		t.Helper()
		got := inspect(args...)
		var said struct {
			Tools   []struct{ Name string }
			Content []struct{ Text string }
		}
		if got.status != 0 || json.Unmarshal([]byte(got.stdout), &said) != nil {
			t.Fatalf("%v: status %d\n%s\n%s", args, got.status, clip(got.stdout), clip(got.stderr))
		}
		var all []string
		for _, tool := range said.Tools {
			all = append(all, tool.Name)
		}
		for _, c := range said.Content {
			all = append(all, c.Text)
		}
		return strings.Join(all, " ")
	}
	if got := ask("--method", "tools/list"); got != "get_memory manage_memory memory search_memory result_page result_search result_query" {
		t.Errorf("the tools are %s", got)
	}
	create := []string{"--method", "tools/call", "--tool-name", "memory", "--tool-arg", "command=create", "--tool-arg", "path=/memories/notes.txt", "--tool-arg", "file_text=Meeting notes: the heron flies"}
	if got := ask(create...); got != "File created successfully at: /memories/notes.txt" {
		t.Error(got)
	}
	if got := inspect(create...); got.status == 0 || !strings.Contains(got.stdout, `"Error: File /memories/notes.txt already exists"`) {
		t.Errorf("status %d: %s", got.status, got.stdout) // the Inspector fails where a tool says isError
	}
	found := ask("--method", "tools/call", "--tool-name", "search_memory", "--tool-arg", "query=heron", "--tool-arg", "limit=5")
	if !strings.HasPrefix(found, `1 memory for "heron"`) || !strings.Contains(found, "/memories/notes.txt") {
		t.Error(found)
	}
	_, rest, _ := strings.Cut(found, "\n- ")
	id, _, _ := strings.Cut(rest, " ")
	if got := ask("--method", "tools/call", "--tool-name", "get_memory", "--tool-arg", "id="+id); !strings.Contains(got, `"Meeting notes: the heron flies"`) {
		t.Error(got)
	}
	target = append(target, "--read-only")
	if got := ask("--method", "tools/list"); !strings.HasPrefix(got, "get_memory memory search_memory") {
		t.Errorf("to read there are %s", got)
	}
}

// The official conformance suite on the memory's server, as `plimsoll serve` has it at /mcp/memory. What the suite asks of tools, resources and prompts
// of its own example server cannot be asked of another one; of all else nothing fails.
func TestMCPConformanceOfTheMemory(t *testing.T) {
	pinned(t, "conformance")
	w := newWorld(t)
	ready := filepath.Join(t.TempDir(), "ready")
	w.background(plimsoll, "serve", "--listen", "127.0.0.1:0", "--ready-file", ready)
	base := ""
	w.until("the daemon is ready", func() bool {
		text, _ := os.ReadFile(ready)
		base = strings.TrimSpace(string(text))
		return base != ""
	})
	for _, c := range []struct {
		requirements string
		scenarios    []string
		beside       []string // checks that want the example server's tools, resources or prompts
	}{
		{"2025-11-25", []string{
			"server-initialize", "logging-set-level", "ping", "tools-list", "server-sse-multiple-streams", "dns-rebinding-protection", "server-session-lifecycle",
		}, nil},
		{"2026-07-28", []string{
			"server-stateless", "tools-list", "server-sse-multiple-streams", "sep-2164-resource-not-found", "dns-rebinding-protection", "caching",
			"http-header-validation", "input-required-result-unsupported-methods", "input-required-result-validate-input",
		}, []string{
			"sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400", "sep-2575-http-server-no-independent-requests-on-stream",
			"sep-2575-server-no-log-without-loglevel", "sep-2549-prompts-list-caching-hints", "sep-2549-resources-list-caching-hints",
			"sep-2549-resources-templates-list-caching-hints",
		}},
	} {
		t.Run(c.requirements, func(t *testing.T) {
			got := w.scenarios(nil, "server", "--url", base+"/mcp/memory", "--requirements", c.requirements)
			checks := 0
			for _, name := range c.scenarios {
				v, ran := got[name]
				failed := slices.DeleteFunc(v.failed, func(id string) bool { return slices.Contains(c.beside, id) })
				if checks += len(v.passed); !ran || len(failed) > 0 || len(v.passed) == 0 {
					t.Errorf("%s: ran %v, fails %v, passes %v", name, ran, failed, v.passed)
				}
			}
			t.Logf("%d scenarios, %d checks passed", len(c.scenarios), checks)
		})
	}
}
