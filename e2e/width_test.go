//go:build linux || darwin

package e2e

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// A terminal of 80 columns breaks a longer line in the middle of a word: what Plimsoll says is broken at words.
func TestTerminalTablesFit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	write(t, `{
  "mcpServers": {
    "files": {"command": "npx", "args": ["x"]},
    "far": {"url": "https://mcp.example.com/mcp"}
  }
}`, w.work, ".mcp.json")
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"what the machine enforces": {[]string{"doctor"}, "LAYER"},
		"a dry run":                 {[]string{"run", "--dry-run", "--", "sh", "-c", "true"}, "would start now"},
		"a key":                     {[]string{"config", "explain", "memory_max"}, "in force"},
		"a table":                   {[]string{"config", "explain", "memory"}, "The limits of a run are other keys"},
		"a check":                   {[]string{"config", "check"}, "memory: "},
		"servers":                   {[]string{"mcp", "wrap", ".mcp.json", "--dry-run"}, "--remote"},
		"all values":                {[]string{"config", "show"}, "resources.memory_max"},
	} {
		t.Run(name, func(t *testing.T) {
			here := *w
			here.t = t
			console := here.open(nil, append([]string{plimsoll}, c.args...)...)
			console.expect(c.says)
			console.wait()
			for line := range strings.Lines(console.shows()) {
				line = strings.TrimRight(line, "\r\n")
				long := utf8.RuneCountInString(line) > 80
				// A word that is longer alone, such as a path, and a line of a file in a diff stay whole.
				if whole := strings.HasPrefix(line, "+") || strings.HasPrefix(line, "-") || len(strings.Fields(line)) == 1; long && !whole && !strings.Contains(line, filepath.Dir(w.home)) {
					t.Errorf("%d columns: %q", utf8.RuneCountInString(line), line)
				}
			}
		})
	}
}
