package mcp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/config"
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

// Where the window is not known the one that is assumed is named; a client that loads definitions by itself is not told of.
func TestDefinitionsOverATenthOfTheWindowAreTold(t *testing.T) {
	for _, c := range []struct {
		window config.WindowSettings
		event  journal.ToolsListed
		want   string
	}{
		{config.WindowSettings{MaxTokens: 50_000}, journal.ToolsListed{Tokens: 5_001}, "of the window of 50000;"},
		{config.WindowSettings{MaxTokens: 50_000}, journal.ToolsListed{Tokens: 5_000}, ""},
		{config.WindowSettings{MaxTokens: -1}, journal.ToolsListed{Tokens: 10_001}, "of a window of 100000, which is assumed (the model is not known here; max_tokens of [window] says what it takes)"},
		{config.WindowSettings{MaxTokens: -1, Provider: "auto"}, journal.ToolsListed{Tokens: 10_000}, ""},
		{config.WindowSettings{MaxTokens: -1, Provider: "anthropic-claude"}, journal.ToolsListed{Tokens: 15_001}, "of a window of 150000, which is assumed"},
		{config.WindowSettings{MaxTokens: -1, Provider: "openai", ProviderTokens: map[string]int{"openai": 40_000}}, journal.ToolsListed{Tokens: 4_001}, "of the window of 40000;"},
		{config.WindowSettings{MaxTokens: 50_000}, journal.ToolsListed{Tokens: 20_000, Defers: true}, ""},
	} {
		var said []string
		l := &LargeResults{Window: assumedWindow(c.window), Tell: func(line string) { said = append(said, line) }}
		c.event.Server, c.event.Tools = "notes", 7
		for range 2 {
			l.Observe(journal.Record{Event: c.event})
		}
		if want := min(len(c.want), 1); len(said) != want || want > 0 && (!strings.Contains(said[0], c.want) || !strings.Contains(said[0], "the 7 tools of notes")) {
			t.Errorf("%+v, %d tokens: %q", c.window, c.event.Tokens, said)
		}
	}
}
