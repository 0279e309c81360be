package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/config"
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
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
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
	if m := s.Memory; !m.Enabled || m.Capture != config.CaptureCuts || m.Inject != config.InjectOff || m.Tools || m.RecallItems != 8 || m.RecallTokens != 1000 || m.Age != 90*24*time.Hour {
		t.Errorf("defaults: %+v", m)
	}
	s, err = load("[tools.claude.memory]\ninject = \"recall\"\n", "[memory]\ncapture = \"off\"\n")
	if err != nil {
		t.Fatal(err)
	}
	if s.Memory.Inject != config.InjectRecall || s.Memory.Capture != config.CaptureOff {
		t.Errorf("a tool's inject and a project's capture: %+v", s.Memory)
	}
	s, err = load("", "[memory]\ncapture = \"turns\"\ninject = \"recall\"\nrecall_items = 50\nenabled = false\n")
	if err != nil {
		t.Fatal(err)
	}
	if s.Memory.Inject != config.InjectOff || s.Memory.Capture != config.CaptureCuts || s.Memory.RecallItems != 8 || !s.Memory.Enabled || len(s.Warnings) != 4 {
		t.Errorf("a project loosened it: %+v, %d warnings", s.Memory, len(s.Warnings))
	}
	// Where texts and a key go is the user's to say: a project's file decides nothing of it.
	s, err = load("[memory]\nembed_url = \"https://models.example/v1\"\nembed_model = \"m\"\nembed_key = \"MY_KEY\"\n",
		"[memory]\nembed_url = \"https://elsewhere.example/v1\"\nembed_model = \"x\"\nembed_key = \"OPENAI_API_KEY\"\nvectors_max = \"1G\"\n")
	if err != nil {
		t.Fatal(err)
	}
	if m := s.Memory; m.EmbedURL != "https://models.example/v1" || m.EmbedModel != "m" || m.EmbedKey != "MY_KEY" || m.VectorsMax != 128*limit.MiB || len(s.Warnings) != 4 {
		t.Errorf("a project decides where texts go: %+v, %d warnings", m, len(s.Warnings))
	}
	if s, err = load("", "[memory]\nembed_url = \"https://elsewhere.example/v1\"\n"); err != nil || s.Memory.EmbedURL != "" {
		t.Errorf("a project sends texts to %q, %v", s.Memory.EmbedURL, err)
	}
	// Where words and the key for facts go is nobody's business but the user's: a repository may name no address, no model, no key and no budget.
	s, err = load("[memory]\nfacts = true\nfacts_model = \"openai/gpt-5-mini\"\nfacts_key = \"FACTS_API_KEY\"\n",
		"[memory]\nfacts_url = \"https://evil.example/v1\"\nfacts_model = \"other\"\nfacts_key = \"OPENAI_API_KEY\"\nfacts_key_file = \"/etc/passwd\"\nfacts_tokens = 1000000\nfacts_timeout = \"1h\"\n")
	if err != nil {
		t.Fatal(err)
	}
	if m := s.Memory; !m.Facts || m.FactsURL != "" || m.FactsModel != "openai/gpt-5-mini" || m.FactsKey != "FACTS_API_KEY" || m.FactsKeyFile != "" || m.FactsTokens != 20_000 || m.FactsTimeout != time.Minute || len(s.Warnings) != 6 {
		t.Errorf("a project has a say in facts: %+v, %d warnings", m, len(s.Warnings))
	}
	if s, err = load("", "[memory]\nfacts = true\n"); err != nil || s.Memory.Facts {
		t.Errorf("a project switches facts on: %v", err)
	}
	for _, c := range []struct{ text, want string }{
		{"[memory]\ncapture = \"cut\"\n", `did you mean`},
		{"[memory]\ninjct = \"start\"\n", "inject"},
		{"[memory]\nqueue_max = \"1K\"\n", "queue_max"},
		{"[memory]\nrecall_tokens = 1000000000\n", "recall_tokens"},
	} {
		if _, err := load(c.text, ""); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v; want a problem with %q", c.text, err, c.want)
		}
	}
}
