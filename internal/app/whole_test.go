package app_test

import (
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/app/agents"
	"github.com/plimsoll/plimsoll/internal/testing/scripted"
)

// A result that fits into half of what is free goes to the model of our own agents whole, and is kept of the step as 8,192 bytes; a
// larger one is a page, and MAX_TOOL_OUTPUT_SIZE holds.
func TestAResultIsWholeAtTheModelOfOurAgents(t *testing.T) {
	const size = 50_000
	for name, c := range map[string]struct {
		configuration string
		environ       []string
		calls         int
		least, most   int
		page          bool
	}{
		"by default":            {least: size, most: size + 100},
		"as it is written":      {configuration: "[mcp]\nmax_output = \"window\"\n", least: size, most: size + 100},
		"more than half is big": {environ: []string{"MAX_CONTEXT_TOKENS=30000"}, least: 15_000, most: 24_000, page: true},
		"a bound":               {environ: []string{"MAX_TOOL_OUTPUT_SIZE=10000"}, least: 5_000, most: 10_000, page: true},
		"a bound in the file":   {configuration: "[mcp]\nmax_output = \"20K\"\n", least: 10_000, most: 20 << 10, page: true},
	} {
		t.Run(name, func(t *testing.T) {
			var stored *agent.StepResult
			got := askHeard(t, 1, size, scripted.Options{}, c.configuration, func(e agents.Event) {
				if e.Result != nil {
					stored = e.Result
				}
			}, c.environ...)
			texts := got.results(t)
			if len(texts) != 1 || len(texts[0]) < c.least || len(texts[0]) > c.most || strings.Contains(texts[0], "result_page") != c.page {
				t.Fatalf("%d results, of %d bytes: %.200q", len(texts), len(strings.Join(texts, "")), texts)
			}
			if stored == nil || stored.Size < size || len(stored.Text) != min(8192, len(texts[0])) || !strings.HasPrefix(texts[0], stored.Text[:5000]) {
				t.Errorf("of the step %+v is kept", stored)
			}
		})
	}
}
