package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
	"github.com/plimsoll/plimsoll/limit"
)

// TestMemory: nothing is put into requests unless the user says so, and a project's file may only have less kept.
func TestMemory(t *testing.T) {
	load := func(user, project string) (config.Settings, error) {
		t.Helper()
		dir := t.TempDir()
		work := filepath.Join(dir, "work")
		if err := os.MkdirAll(filepath.Join(work, ".git"), 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{filepath.Join(dir, "config.toml"): user, filepath.Join(work, ".plimsoll.toml"): project} {
			testfile.Write(t, name, text)
		}
		l, err := config.Load(config.Options{Dir: work, Environ: []string{"PLIMSOLL_CONFIG=" + filepath.Join(dir, "config.toml")}})
		if err != nil {
			return config.Settings{}, err
		}
		return l.For("claude")
	}
	s, err := load("", "")
	if err != nil {
		t.Fatal(err)
	}
	if m := s.Memory; m.State != config.MemoryDefault || m.Age != 90*24*time.Hour || m.Facts {
		t.Errorf("defaults: %+v", m)
	}
	// The switch has three positions, and a project may only move it to off.
	const on, off = "[memory]\non = true\n", "[memory]\non = false\n"
	for _, c := range []struct {
		user, project string
		want          config.MemoryState
		warnings      int
	}{
		{on, "", config.MemoryOn, 0},
		{off, "", config.MemoryOff, 0},
		{"", on, config.MemoryDefault, 1},
		{"", off, config.MemoryOff, 0},
		{on, off, config.MemoryOff, 0},
		{on, on, config.MemoryOn, 0},
		{off, on, config.MemoryOff, 1},
		{"[tools.claude.memory]\non = true\n", "", config.MemoryOn, 0},
		{"[tools.codex.memory]\non = true\n", "", config.MemoryDefault, 0},
		{on + "[tools.claude.memory]\non = false\n", "", config.MemoryOff, 0},
		{off + "[tools.claude.memory]\non = true\n", off, config.MemoryOff, 0},
	} {
		s, err := load(c.user, c.project)
		if err != nil || s.Memory.State != c.want || len(s.Warnings) != c.warnings {
			t.Errorf("%q with a project's %q: %s, %d warnings, %v", c.user, c.project, s.Memory.State, len(s.Warnings), err)
		}
		if len(s.Warnings) == 1 && !strings.Contains(s.Warnings[0].String(), "a project file may only switch it off") {
			t.Errorf("%q with a project's %q: %s", c.user, c.project, s.Warnings[0])
		}
	}
	// Where texts and a key go is the user's to say: a project's file decides nothing of it.
	s, err = load("[memory]\nembed_url = \"https://models.example/v1\"\nembed_model = \"m\"\nembed_key = \"MY_KEY\"\n",
		"[memory]\nembed_url = \"https://elsewhere.example/v1\"\nembed_model = \"x\"\nembed_key = \"OPENAI_API_KEY\"\ndisk_max = \"1G\"\n")
	if err != nil {
		t.Fatal(err)
	}
	if m := s.Memory; m.EmbedURL != "https://models.example/v1" || m.EmbedModel != "m" || m.EmbedKey != "MY_KEY" || m.DiskMax != 256*limit.MiB || len(s.Warnings) != 4 {
		t.Errorf("a project decides where texts go: %+v, %d warnings", m, len(s.Warnings))
	}
	if s, err = load("", "[memory]\nembed_url = \"https://elsewhere.example/v1\"\n"); err != nil || s.Memory.EmbedURL != "" {
		t.Errorf("a project sends texts to %q, %v", s.Memory.EmbedURL, err)
	}
	// Where words and the key for facts go is nobody's business but the user's: a repository may name no address, no model, no key and no budget.
	s, err = load("[memory]\nfacts = true\nfacts_model = \"openai/gpt-5-mini\"\nfacts_key = \"FACTS_API_KEY\"\n",
		"[memory]\nfacts_url = \"https://evil.example/v1\"\nfacts_model = \"other\"\nfacts_key = \"OPENAI_API_KEY\"\nfacts_key_file = \"/etc/passwd\"\nfacts_tokens = 1000000\n")
	if err != nil {
		t.Fatal(err)
	}
	if m := s.Memory; !m.Facts || m.FactsURL != "" || m.FactsModel != "openai/gpt-5-mini" || m.FactsKey != "FACTS_API_KEY" || m.FactsKeyFile != "" || m.FactsTokens != 20_000 || len(s.Warnings) != 5 {
		t.Errorf("a project has a say in facts: %+v, %d warnings", m, len(s.Warnings))
	}
	if s, err = load("", "[memory]\nfacts = true\n"); err != nil || s.Memory.Facts {
		t.Errorf("a project switches facts on: %v", err)
	}
	for _, c := range []struct{ text, want string }{
		{"[memory]\non = \"recall\"\n", "is not true or false"},
		{"[memory]\nfact = true\n", "facts"},
		{"[memory]\ndisk_max = \"1K\"\n", "disk_max"},
		{"[memory]\ninject = \"recall\"\n", "inject"},
	} {
		if _, err := load(c.text, ""); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v; want a problem with %q", c.text, err, c.want)
		}
	}
}

// What `config init` writes for the memory's switch is what whoever uncomments it may say there.
func TestMemoryInTheGeneratedFiles(t *testing.T) {
	var user, project strings.Builder
	if err := errors.Join(config.WriteInit(&user), config.WriteProjectInit(&project)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(user.String(), "\n# on = true\n") || !strings.Contains(project.String(), "\n# on = false\n") {
		t.Errorf("the user's file:\n%s\na project's:\n%s", user.String(), project.String())
	}
}
