package metrics_test

import (
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/golden"
)

// What a scrape shows is, byte for byte, what OpenTelemetry's exporter showed: dashboards and alerts rest on it. -update writes the
// file anew.
func TestScrapeStays(t *testing.T) {
	var lines []string
	for line := range strings.Lines(scrape(t, everything...)) {
		// What Go and the process say of themselves changes with them.
		name := strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE ")
		if strings.HasPrefix(name, "plimsoll_") || strings.HasPrefix(name, "gen_ai_") || strings.HasPrefix(name, "mcp_") {
			lines = append(lines, line)
		}
	}
	golden.Check(t, "testdata/scrape.txt", strings.Join(lines, ""))
}
