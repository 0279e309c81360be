package profile

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestEnvironReplacesAndRemoves(t *testing.T) {
	s := Setting{Env: []Variable{{Name: "A", Value: "2"}, {Name: "B", Unset: true}, {Name: "C", Value: ""}}}
	got := s.Environ([]string{"A=0", "X=y", "A=1", "B=1", "AB=1"})
	if want := []string{"X=y", "AB=1", "A=2", "C="}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestSetupMustBeWhole(t *testing.T) {
	p, _ := Find("claude")
	for name, in := range map[string]Setup{
		"no command": {Root: root}, "no root": {Argv: []string{"claude"}}, "a slash": {Argv: []string{"claude"}, Root: root + "/"},
	} {
		if _, err := p.Plan(in); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := (&Agent{}).Plan(Setup{Argv: []string{"x"}, Root: root}); err == nil {
		t.Error("an empty profile plans")
	}
	if _, ok := Find("emacs"); ok {
		t.Error("there is a profile of emacs")
	}
	if len(All()) < 9 || !slices.IsSortedFunc(All(), func(a, b *Agent) int { return strings.Compare(a.Name, b.Name) }) {
		t.Errorf("agents %+v", All())
	}
}

// Keys of the user's files must not reach a report.
func TestReasonsHoldNoSettings(t *testing.T) {
	for _, r := range []row{
		{tool: "codex", files: map[string]string{"/home/ann/.codex/auth.json": `{"OPENAI_API_KEY":"hunter2"`}},
		{tool: "codex", files: map[string]string{"/home/ann/.codex/config.toml": "hunter2 = = 1"}},
		{tool: "claude", files: map[string]string{"/home/ann/.claude/settings.json": `{"env":{"K":"hunter2"`}},
		{tool: "claude", env: []string{"ANTHROPIC_BASE_URL=https://ann:hunter2@x.example"}},
		{tool: "gemini", files: map[string]string{"/home/ann/.gemini/settings.json": `hunter2`}},
		{tool: "opencode", env: []string{openCodeNames.content() + "=hunter2"}},
	} {
		s := r.plan(t)
		if said, _ := json.Marshal(s); strings.Contains(string(said), "hunter2") {
			t.Errorf("%s: %s", r.tool, said)
		}
	}
}
