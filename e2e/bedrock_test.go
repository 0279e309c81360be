//go:build linux || darwin

package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
)

// Claude Code asks Bedrock with a key of Bedrock's own, which goes by TLS to the proxy and with it to Bedrock.
func TestClaudeOnBedrockWithAKey(t *testing.T) {
	i := 0
	for agents[i].name != "claude" {
		i++
	}
	provider, url := provide(t, scripted.Options{Bedrock: true, Script: scripted.Replies(
		scripted.Reply{Text: "I look.", Calls: []scripted.Call{{Tool: "Bash", Args: map[string]any{"command": `echo "at $ANTHROPIC_BEDROCK_BASE_URL"`, "description": "look"}}}},
		scripted.Reply{Text: "All is well."},
	)})
	w := newWorld(t)
	report := filepath.Join(w.home, "report.json")
	got := agents[i].start(t, w, errand{
		env:    []string{"CLAUDE_CODE_USE_BEDROCK=1", "AWS_REGION=eu-west-1", "AWS_EC2_METADATA_DISABLED=true", "AWS_BEARER_TOKEN_BEDROCK=" + key, "ANTHROPIC_BEDROCK_BASE_URL=" + url},
		prompt: "Look.", flags: []string{}, report: report,
	})
	if got.status != 0 || !strings.Contains(got.stdout, "All is well.") {
		t.Fatalf("status %d\n%s%s", got.status, got.stdout, got.stderr)
	}
	r := readReport(t, report)
	if r.Window.Requests < 2 {
		t.Errorf("the report has %+v", r.Window)
	}
	secure := false
	for _, asked := range provider.Requests() {
		if asked.Kind == "model" && asked.Header.Get("Authorization") != "Bearer "+key {
			t.Errorf("%s came without the key", asked.Path)
		}
		secure = secure || strings.Contains(string(asked.Body), "at https://127.0.0.1:")
	}
	if !secure {
		t.Error("Claude Code was not sent to the listener with TLS")
	}
}
