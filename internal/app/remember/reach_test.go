package remember_test

import (
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/app/remember"
	"github.com/plimsoll/plimsoll/internal/config/profile"
)

// TestReachWords: one line says what the memory does for a tool, what it does not, and why; it never says that something works which
// the settings or the circumstances rule out.
func TestReachWords(t *testing.T) {
	claude, _ := profile.Find("claude")
	aider, _ := profile.Find("aider")
	const on = "[memory]\non = true\n"
	for _, c := range []struct {
		settings string
		reach    remember.Reach
		has, not []string
	}{
		{"", remember.Reach{}, []string{"what a compaction cuts is kept", "no tools", "no facts, because no model was agreed to", "on = true"}, []string{"every turn"}},
		{"[memory]\non = false\n", remember.Reach{}, []string{"off: nothing is kept", "config.toml:2"}, []string{"facts"}},
		{on + "[window]\nstore = \"off\"\n", remember.Reach{}, []string{"[window] store is off", "config.toml:4"}, []string{"every turn"}},
		{on, remember.Reach{Agent: claude}, []string{"every turn is kept", "tools to search it", "a subscription is never used"}, []string{"only in Claude Code", "on = true"}},
		{on, remember.Reach{Agent: aider, NoTools: "it has no slot"}, []string{"every turn is kept", "no tools, because it has no slot", "only in Claude Code and Codex"}, []string{"tools to search it"}},
		{on, remember.Reach{Agent: claude, NoProxy: "claude speaks to another provider"}, []string{"nothing is kept or added to prompts, because claude speaks to another provider", "tools to search it"}, []string{"every turn", "only in Claude Code"}},
		{on, remember.Reach{NoProxy: "sh is unknown", NoTools: "sh is unknown"}, []string{"nothing is kept or added to prompts, because sh is unknown; no tools either"}, nil},
		{"", remember.Reach{NoProxy: "it is off"}, []string{"nothing is kept, because it is off"}, []string{"a compaction"}},
		{on + "facts = true\n", remember.Reach{}, []string{"facts_model names no model"}, []string{"agreed"}},
		{on + "facts = true\nfacts_model = \"small\"\nfacts_url = \"http://127.0.0.1:11434/v1\"\n", remember.Reach{}, []string{"facts by small at http://127.0.0.1:11434/v1", "at most 20000 tokens a day"}, nil},
		{on + "embed_url = \"http://127.0.0.1:11434/v1\"\nembed_model = \"nomic-embed-text\"\n", remember.Reach{}, []string{"with nomic-embed-text, by meaning"}, nil},
	} {
		got := c.reach.Describe(newBench(t, c.settings).s)
		for _, want := range c.has {
			if !strings.Contains(got, want) {
				t.Errorf("%q, %+v: %s; want %q", c.settings, c.reach, got, want)
			}
		}
		for _, not := range c.not {
			if strings.Contains(got, not) {
				t.Errorf("%q, %+v: %s; it must not say %q", c.settings, c.reach, got, not)
			}
		}
		if strings.Contains(got, "\n") {
			t.Errorf("more than a line: %s", got)
		}
	}
}
