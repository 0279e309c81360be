//go:build linux || darwin

package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/agent/standin"
)

// A model that repeats itself costs a few calls, and the status says that there is no answer.
func TestAskEndsALoop(t *testing.T) {
	t.Parallel()
	model, err := standin.Listen(t.Context(), standin.Options{Loop: true, Window: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	w := newWorld(t)
	w.variables = append(w.variables, simulated)
	w.variables = append(w.variables, "OPENAI_BASE_URL="+model.URL(), "OPENAI_API_KEY="+model.Token(), "OPENAI_MODEL="+standin.Model)
	for _, question := range []string{"loop", "loop: search for prod, changing"} {
		r := w.run(nil, plimsoll, "ask", "--json", question)
		var report struct {
			Outcome, Detail string
			Calls           int
		}
		if err := json.Unmarshal([]byte(r.stdout), &report); err != nil {
			t.Fatalf("%v: %s%s", err, r.stdout, r.stderr)
		}
		// Arguments that change with each call are no loop by themselves: then the steps end it.
		if loop := report.Outcome == "loop-detected" && r.status == 1 && report.Calls <= 8; !loop && (question == "loop" || report.Outcome != "step-limit" || report.Calls > 20) {
			t.Errorf("%q: status %d, %+v", question, r.status, report)
		}
	}
}

// The daemon serves the agents of the configuration beside its gateways, behind its token.
func TestServeHasAgents(t *testing.T) {
	w := newWorld(t)
	write(t, "[serve]\ntoken = \"DAEMON_TOKEN\"\n[agents.helper]\nmodel = \"standin\"\n[agents.hidden]\nmodel = \"standin\"\na2a = false\n", w.state, "config.toml")
	const token = "a-token-of-the-test-0123456789"
	w.variables = append(w.variables, "DAEMON_TOKEN="+token)
	ready := filepath.Join(t.TempDir(), "ready")
	w.background(plimsoll, "serve", "--listen", "127.0.0.1:0", "--ready-file", ready)
	url := ""
	w.until("the daemon is ready", func() bool {
		text, _ := os.ReadFile(ready)
		url = strings.TrimSpace(string(text))
		return url != ""
	})
	get := func(path, bearer string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if bearer != "" {
			r.Header.Set("Authorization", "Bearer "+bearer)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(text)
	}
	const card = "/a2a/helper/.well-known/agent-card.json"
	if code, text := get(card, ""); code != http.StatusUnauthorized {
		t.Errorf("without a token: %d %s", code, clip(text))
	}
	if code, text := get(card, token); code != http.StatusOK || !strings.Contains(text, "stand-in") || !strings.Contains(text, "bearer") {
		t.Errorf("the card: %d %s", code, clip(text))
	}
	if code, text := get("/a2a/hidden/.well-known/agent-card.json", token); code != http.StatusNotFound || !strings.Contains(text, "/a2a/helper") {
		t.Errorf("an agent that is not served: %d %s", code, clip(text))
	}
}
