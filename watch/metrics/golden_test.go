package metrics_test

import (
	"os"
	"strings"
	"testing"
)

// What a scrape shows is, byte for byte, what OpenTelemetry's exporter showed: dashboards and alerts rest on it. PLIMSOLL_RECORD=1
// writes the file anew.
func TestScrapeStays(t *testing.T) {
	const file = "testdata/scrape.txt"
	var lines []string
	for line := range strings.Lines(scrape(t, everything...)) {
		// What Go and the process say of themselves changes with them.
		name := strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE ")
		if strings.HasPrefix(name, "plimsoll_") || strings.HasPrefix(name, "gen_ai_") || strings.HasPrefix(name, "mcp_") {
			lines = append(lines, line)
		}
	}
	text := strings.Join(lines, "")
	if os.Getenv("PLIMSOLL_RECORD") != "" {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("a scrape shows\n%s", text)
	}
}
