package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/testing/golden"
	"github.com/plimsoll/plimsoll/journal"
)

// printed are the types that commands print as JSON. What has no type of its own is in TestRealJSONStays.
var printed = []struct {
	command string
	of      reflect.Type
}{
	{"agent list --json", reflect.TypeFor[[]app.ListedAgent]()},
	{"agent sessions --json", reflect.TypeFor[[]app.AgentSession]()},
	{"ask --json", reflect.TypeFor[app.AskReport]()},
	{"config explain --json", reflect.TypeFor[config.Explanation]()},
	{"config show --json: settings", reflect.TypeFor[config.Settings]()},
	{"config show --json: warnings", reflect.TypeFor[[]config.Problem]()},
	{"demo --json", reflect.TypeFor[app.DemoScene]()},
	{"doctor --json", reflect.TypeFor[app.Doctor]()},
	{"gc --json", reflect.TypeFor[app.Collection]()},
	{"mcp argocd --list-tools --json", reflect.TypeFor[[]app.ArgoCDTool]()},
	{"mcp wrap --json", reflect.TypeFor[app.WrapResult]()},
	{"memory forget --json", reflect.TypeFor[app.MemoryForgotten]()},
	{"memory forget --dry-run --json", reflect.TypeFor[app.MemoryWouldForget]()},
	{"memory given --json", reflect.TypeFor[[]app.MemoryGiven]()},
	{"memory given --to --json", reflect.TypeFor[app.MemoryWouldGive]()},
	{"memory import --json", reflect.TypeFor[app.MemoryImported]()},
	{"memory learn --json", reflect.TypeFor[app.MemoryLearned]()},
	{"memory list --json", reflect.TypeFor[[]app.MemoryRecord]()},
	{"memory not --json", reflect.TypeFor[[]app.MemoryTakenBack]()},
	{"memory pin --json", reflect.TypeFor[app.MemoryPins]()},
	{"memory search --json", reflect.TypeFor[[]app.MemoryItem]()},
	{"memory stats --json", reflect.TypeFor[app.MemoryStats]()},
	{"memory why --json", reflect.TypeFor[app.MemoryWhy]()},
	{"models --json", reflect.TypeFor[app.ModelList]()},
	{"run --dry-run --json", reflect.TypeFor[app.Decision]()},
	{"run --report", reflect.TypeFor[journal.Report]()},
	{"runs --json", reflect.TypeFor[[]app.RunEntry]()},
	{"runs --cuts --json", reflect.TypeFor[[]app.CutEntry]()},
	{"setup --json", reflect.TypeFor[app.SetupResult]()},
	{"stats --json", reflect.TypeFor[[]app.Stat]()},
	{"stats --forget --json", reflect.TypeFor[[]app.Forgotten]()},
	{"stats --mcp --json", reflect.TypeFor[[]app.MCPSize]()},
	{"status --json", reflect.TypeFor[app.RunGlance]()},
	{"top --once --json", reflect.TypeFor[app.TopSnapshot]()},
}

// TestJSONKeysStay: every key that a command can print, with its type, also those that are left out when empty ("?").
func TestJSONKeysStay(t *testing.T) {
	var all strings.Builder
	for _, c := range printed {
		all.WriteString("$ plimsoll " + c.command + "\n")
		for line := range strings.Lines(golden.Type(c.of)) {
			all.WriteString("  " + line)
		}
	}
	golden.Check(t, recorded("json-types.txt"), all.String())
}

// TestRealJSONStays: the keys of what real commands print, where a type does not say them or a value writes itself.
func TestRealJSONStays(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.env = append(s.env, "OPENAI_API_KEY=", "ANTHROPIC_API_KEY=")
	s.configure("[agents.reviewer]\n[mcp]\nargocd_simulator = \"3,1,1,1\"\n")
	var all strings.Builder
	for _, line := range []string{
		"version --json", "config show --json", "config explain memory_max --json", "stats claude --format json", "top --once --json", "agent list --json",
		"ask --agent argocd --model standin --quiet --json list all applications",
		"ask --agent argocd --model standin --events list all applications",
		"runs last --json",
	} {
		o := s.plimsoll(strings.Fields(line)...)
		if o.code != 0 {
			t.Errorf("%s: %d, %s", line, o.code, o.stderr)
		}
		all.WriteString("$ plimsoll " + line + "\n")
		for key := range strings.Lines(golden.Keys(t, []byte(o.stdout))) {
			all.WriteString("  " + key)
		}
	}
	golden.Check(t, recorded("json-real.txt"), all.String())
}
