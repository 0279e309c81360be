package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/app/agents"
	"github.com/plimsoll/plimsoll/internal/app/demo"
	"github.com/plimsoll/plimsoll/internal/app/mcp"
	"github.com/plimsoll/plimsoll/internal/app/memories"
	"github.com/plimsoll/plimsoll/internal/app/run"
	"github.com/plimsoll/plimsoll/internal/app/setup"
	"github.com/plimsoll/plimsoll/internal/app/watch"
	"github.com/plimsoll/plimsoll/internal/app/watch/top"
	"github.com/plimsoll/plimsoll/internal/app/window"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/testing/golden"
	"github.com/plimsoll/plimsoll/journal"
)

// printed are the types that commands print as JSON. What has no type of its own is in TestRealJSONStays.
var printed = []struct {
	command string
	of      reflect.Type
}{
	{"agent list --json", reflect.TypeFor[[]agents.Listed]()},
	{"agent sessions --json", reflect.TypeFor[[]agents.Session]()},
	{"ask --json", reflect.TypeFor[agents.AskReport]()},
	{"config explain --json", reflect.TypeFor[config.Explanation]()},
	{"config show --json: settings", reflect.TypeFor[config.Settings]()},
	{"config show --json: warnings", reflect.TypeFor[[]config.Problem]()},
	{"demo --json", reflect.TypeFor[demo.Scene]()},
	{"doctor --json", reflect.TypeFor[run.Doctor]()},
	{"gc --json", reflect.TypeFor[app.Collection]()},
	{"mcp argocd --list-tools --json", reflect.TypeFor[[]mcp.ArgoCDTool]()},
	{"mcp wrap --json", reflect.TypeFor[mcp.WrapResult]()},
	{"memory forget --json", reflect.TypeFor[memories.Forgotten]()},
	{"memory forget --dry-run --json", reflect.TypeFor[memories.ForgetPreview]()},
	{"memory given --json", reflect.TypeFor[[]memories.Given]()},
	{"memory given --to --json", reflect.TypeFor[memories.WouldGive]()},
	{"memory import --json", reflect.TypeFor[memories.Imported]()},
	{"memory learn --json", reflect.TypeFor[agents.Learned]()},
	{"memory list --json", reflect.TypeFor[[]memories.Record]()},
	{"memory not --json", reflect.TypeFor[[]memories.TakenBack]()},
	{"memory pin --json", reflect.TypeFor[memories.Pins]()},
	{"memory search --json", reflect.TypeFor[[]memories.Item]()},
	{"memory stats --json", reflect.TypeFor[memories.Stats]()},
	{"memory why --json", reflect.TypeFor[memories.Why]()},
	{"models --json", reflect.TypeFor[window.ModelList]()},
	{"run --dry-run --json", reflect.TypeFor[run.Decision]()},
	{"run --report", reflect.TypeFor[journal.Report]()},
	{"runs --json", reflect.TypeFor[[]watch.Entry]()},
	{"runs --cuts --json", reflect.TypeFor[[]window.Entry]()},
	{"setup --json", reflect.TypeFor[setup.Result]()},
	{"stats --json", reflect.TypeFor[[]app.Stat]()},
	{"stats --forget --json", reflect.TypeFor[[]app.Forgotten]()},
	{"stats --mcp --json", reflect.TypeFor[[]mcp.Size]()},
	{"status --json", reflect.TypeFor[watch.Glance]()},
	{"top --once --json", reflect.TypeFor[top.Snapshot]()},
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
