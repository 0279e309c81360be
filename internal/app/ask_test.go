package app_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/app/agents"
	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// A first question with nothing but a key is answered: no agent is configured, and no Argo CD is known. With one that is known it goes
// to the agent for it, as before.
func TestAFirstQuestionNeedsOnlyAKey(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"ARGOCD_SERVER", "ARGOCD_OPTS", "ANTHROPIC_API_KEY", "LLM_PROVIDER", "OPENAI_MODEL", "GEMINI_MODEL", "GOOGLE_API_KEY"} {
		t.Setenv(name, "")
	}
	hello := func(int, *scripted.Request) scripted.Reply { return scripted.Reply{Text: "hello"} }
	model := scripted.New(scripted.Options{Lenient: true, Tokenizer: scripted.O200K, Script: hello, Side: hello})
	url := provide(t, model)
	ask := func(o agents.AgentOptions) (agents.AskReport, error) {
		t.Helper()
		a := newCore(t, home)
		return agents.Ask(t.Context(), a, agents.AskOptions{Question: "hi", AgentOptions: o})
	}
	r, err := ask(agents.AgentOptions{})
	if err != nil || r.Answer != "hello" || r.Agent != "assistant" || !strings.HasPrefix(r.Model, "openai/") {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err = ask(agents.AgentOptions{BaseURL: url + "/v1", Model: "some/model"}); err != nil || r.Answer != "hello" || r.Model != "openai/some/model" {
		t.Errorf("with an address: %+v, %v", r, err)
	}
	t.Setenv("OPENAI_API_KEY", "")
	t.Setenv("GEMINI_API_KEY", "k")
	t.Setenv("GOOGLE_GEMINI_BASE_URL", url)
	if r, err = ask(agents.AgentOptions{}); err != nil || r.Answer != "hello" || !strings.HasPrefix(r.Model, "gemini/") {
		t.Errorf("of Google: %+v, %v", r, err)
	}
	requests := model.Requests()
	if last := requests[len(requests)-1]; !strings.HasSuffix(last.Path, ":streamGenerateContent") || last.Header.Get("X-Goog-Api-Key") != "k" {
		t.Errorf("Google was asked at %s", last.Path)
	}
	t.Setenv("GEMINI_API_KEY", "")
	if _, err = ask(agents.AgentOptions{}); err == nil || !strings.Contains(err.Error(), "OPENROUTER_API_KEY") {
		t.Errorf("without a key: %v", err)
	}
	t.Setenv("OPENAI_API_KEY", "k")
	testfile.Write(t, filepath.Join(home, ".config", "plimsoll", "config.toml"), "[mcp.argocd.prod]\nurl = \""+url+"\"\n")
	if r, err := ask(agents.AgentOptions{}); r.Agent == "assistant" {
		t.Errorf("with an Argo CD: %+v, %v", r, err)
	}
}
