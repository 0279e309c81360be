//go:build linux || darwin

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
)

// Continue starts the server of its YAML file through the gateway that plimsoll mcp wrap has put there: its model calls a tool that
// answers with 2 MB, and is shown a page.
func TestContinueUsesAWrappedFile(t *testing.T) {
	path := installed(t, "cn")
	server := misbehaving(t)
	w := newWorld(t)
	p, url := provide(t, scripted.Options{Window: 200_000, Script: func(turn int, _ *scripted.Request) scripted.Reply {
		if turn == 0 {
			return scripted.Reply{Text: "I look.", Calls: []scripted.Call{{Tool: "big", Args: json.RawMessage(`{"bytes":2000000,"kind":"json"}`)}}}
		}
		return scripted.Reply{Text: "The task is finished."}
	}})
	file := filepath.Join(w.home, ".continue", "config.yaml")
	before := fmt.Sprintf(`name: test
version: 1.0.0
schema: v1
models:
  - {name: m, provider: openai, model: gpt-4o, apiKey: k, apiBase: %s/v1, roles: [chat], capabilities: [tool_use]}
mcpServers:
  # the only one
  - name: things
    command: %s
`, url, server)
	write(t, before, file)
	if got := w.run(nil, plimsoll, "mcp", "wrap", file); got.status != 0 {
		t.Fatalf("wrap: %d %s", got.status, got.stderr)
	}
	got := w.run(nil, path, "-p", "--auto", "--config", file, "What is there?")
	if got.status != 0 || !strings.Contains(got.stdout, "The task is finished.") {
		t.Fatalf("status %d\nstdout: %s\nstderr: %s", got.status, clip(got.stdout), clip(got.stderr))
	}
	last := ""
	for _, r := range p.Requests() {
		if r.Kind == "model" {
			last = string(r.Body)
		}
	}
	if !strings.Contains(last, `"result_page"`) || !handleIn.MatchString(last) || len(last) > 200_000 {
		t.Errorf("the model was shown %d bytes: %s", len(last), clip(last))
	}
	if got := w.run(nil, plimsoll, "mcp", "wrap", file, "--undo"); got.status != 0 {
		t.Fatalf("undo: %d %s", got.status, got.stderr)
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != before {
		t.Errorf("the file has changed: %s, %v", after, err)
	}
}
