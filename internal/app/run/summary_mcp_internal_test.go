package run

import (
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/journal"
)

// Definitions over a tenth of the window that requests really went to are told of, and of no window that nobody knows.
func TestTooManyDefinitionsAreTold(t *testing.T) {
	for _, c := range []struct {
		tokens int
		window int64
		want   bool
	}{{20_001, 200_000, true}, {20_000, 200_000, false}, {1_000_000, 0, false}, {0, 200_000, false}} {
		text := tooManyDefinitions(journal.MCP{DefinitionTokens: c.tokens}, journal.Window{LimitTokens: c.window})
		if (text != "") != c.want || c.want && (!strings.Contains(text, "20001") || !strings.Contains(text, "window of 200000")) {
			t.Errorf("%d of %d: %q", c.tokens, c.window, text)
		}
	}
	for tool, want := range map[string]bool{"claude": true, "claude-agent-acp": true, "codex": true, "gemini": false, "make": false} {
		if defers(tool) != want {
			t.Errorf("%s: %v", tool, !want)
		}
	}
	if row := toolsRow(journal.MCP{DefinitionTokens: 900}); !strings.HasPrefix(row, "no call") || !strings.Contains(row, "900 tokens") {
		t.Error(row)
	}
}
