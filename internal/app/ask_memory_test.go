package app_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/app/agents"
	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// TestAskWithTheSwitch: with the memory on an agent's question gets what the user said before, once in a session, and the agent has the tools to
// search; what was added is not kept as said. Without the switch, and with it off, the question goes out as it is.
func TestAskWithTheSwitch(t *testing.T) {
	const note, question = "The harbour of Halcyon opens at six in the morning.", "When does the harbour of Halcyon open?"
	for _, name := range []string{"ARGOCD_SERVER", "ARGOCD_OPTS", "ANTHROPIC_API_KEY", "LLM_PROVIDER", "OPENAI_MODEL", "GEMINI_API_KEY", "GEMINI_MODEL", "GOOGLE_API_KEY"} {
		t.Setenv(name, "")
	}
	for settings, on := range map[string]bool{"": false, "[memory]\non = true\n": true, "[memory]\non = false\n": false} {
		home := t.TempDir()
		t.Setenv("HOME", home)
		hello := func(int, *scripted.Request) scripted.Reply { return scripted.Reply{Text: "At six."} }
		model := scripted.New(scripted.Options{Lenient: true, Tokenizer: scripted.O200K, Script: hello, Side: hello})
		provide(t, model)
		file := filepath.Join(home, "config.toml")
		testfile.Write(t, file, settings)
		store, err := memory.Open(memory.Options{Dir: filepath.Join(home, "state", "memory")})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Add(t.Context(), memory.Record{Kind: memory.KindNote, Origin: memory.OriginUser, Namespace: "user", Text: note}); err != nil {
			t.Fatal(err)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		a := newCore(t, home, "PLIMSOLL_CONFIG="+file)
		for range 2 {
			if r, err := agents.Ask(t.Context(), a, agents.AskOptions{Question: question, Session: "s"}); err != nil || r.Answer != "At six." {
				t.Fatalf("%q: %+v, %v", settings, r, err)
			}
		}
		for i, r := range model.Requests() {
			if r.Kind != "model" {
				continue
			}
			if n := strings.Count(string(r.Body), "opens at six in the morning"); (n == 1) != on || n > 1 {
				t.Errorf("%q: request %d has it %d times", settings, i, n)
			}
			// A person's own questions have them also where nobody has moved the switch, as soon as anything is kept.
			if off := strings.Contains(settings, "false"); strings.Contains(string(r.Body), "search_memory") == off {
				t.Errorf("%q: request %d offers search_memory: %v", settings, i, off)
			}
		}
		if store, err = memory.Open(memory.Options{Dir: filepath.Join(home, "state", "memory")}); err != nil {
			t.Fatal(err)
		}
		all, err := store.List(t.Context(), memory.Filter{All: true, AllScopes: true, Limit: memory.MaxLimit})
		if err != nil {
			t.Fatal(err)
		}
		kept := 0
		for _, r := range all.Records {
			if r.Kind == memory.KindEpisode && strings.Contains(r.Text, "opens at six") {
				t.Errorf("%q: what was added is kept as said: %+v", settings, r)
			}
			if strings.Contains(r.Text, "When does the harbour") {
				kept++
			}
		}
		if (kept > 0) == strings.Contains(settings, "false") {
			t.Errorf("%q: the question is kept %d times", settings, kept)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
