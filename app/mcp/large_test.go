package mcp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/journal"
)

func TestLargeResultsAreToldOnceForAToolAndLevel(t *testing.T) {
	var lines []string
	l := &LargeResults{Tell: func(line string) { lines = append(lines, line) }}
	for range 3 {
		l.Observe(journal.Record{Event: journal.ToolResultLarge{Server: "notes", Tool: "big\x1b[2J", Bytes: 150 << 10, Level: "warning"}})
	}
	l.Observe(journal.Record{Event: journal.ToolResultLarge{Server: "notes", Tool: "big", Bytes: 350 << 10, Level: "alert"}})
	l.Observe(journal.Record{Event: journal.ToolCalled{Server: "notes", Tool: "big"}})
	if len(lines) != 2 || !strings.Contains(lines[0], "warning: big") || !strings.Contains(lines[0], "150 KiB") || strings.Contains(lines[0], "\x1b") || !strings.HasPrefix(lines[1], "alert: big of notes answered with 350 KiB") {
		t.Errorf("%q", lines)
	}
	if n := len(l.List()); n != 4 {
		t.Errorf("%d are listed", n)
	}
	for i := range 500 {
		l.Observe(journal.Record{Event: journal.ToolResultLarge{Server: "s", Tool: fmt.Sprint("t", i), Bytes: 1 << 20, Level: "alert"}})
	}
	if len(lines) != maxLargeTold || len(l.List()) != maxLargeTold {
		t.Errorf("%d lines, %d listed", len(lines), len(l.List()))
	}
}
