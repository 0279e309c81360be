//go:build linux || darwin

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// The memory with its one switch, from the first word to the last: what a person types into Claude Code at a terminal, in a conversation that is
// never compacted, is given in the next run, with what is pinned; that run's model is offered the tools; what is cut out of it is found by a
// search; and the daemon draws a fact from the person's words, by a model that was agreed to with a key of its own.
func TestMemoryWithOneSwitch(t *testing.T) {
	path := installed(t, "claude")
	claude := agents[0]
	w := newWorld(t)
	facts, _, _, _ := standinForFacts(t)
	w.variables = append(w.variables, "FACTS_API_KEY=own-key-of-facts-0123456789")
	write(t, fmt.Sprintf("[memory]\non = true\nfacts = true\nfacts_model = \"small\"\nfacts_url = %q\nfacts_key = \"FACTS_API_KEY\"\n", facts+"/v1"), w.state, "config.toml")
	daemon := func() *exec.Cmd {
		t.Helper()
		ready := filepath.Join(w.state, "ready")
		_ = os.Remove(ready)
		cmd := exec.Command(plimsoll, "serve", "--listen", "127.0.0.1:0", "--ready-file", ready)
		cmd.Dir, cmd.Env, cmd.Stderr = w.work, w.environment(), os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w.until("the daemon is ready", func() bool {
			text, err := os.ReadFile(ready)
			return err == nil && len(text) > 0
		})
		return cmd
	}
	end := func(cmd *exec.Cmd) {
		t.Helper()
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the daemon ended with %v", err)
		}
	}
	end(daemon()) // facts are drawn from what is said from now on
	const pinned, said = "Answer in whole sentences, please.", "The ledger uses PostgreSQL."
	if got := w.run(nil, plimsoll, "memory", "pin", pinned); got.status != 0 {
		t.Fatalf("%d %s%s", got.status, got.stdout, got.stderr)
	}

	// The first run: a person types one prompt, and goes.
	first, base := provide(t, scripted.Options{Script: func(int, *scripted.Request) scripted.Reply { return scripted.Reply{Text: "Noted and understood."} }})
	write(t, quoted(t, map[string]any{
		"hasCompletedOnboarding": true, "theme": "dark", "customApiKeyResponses": map[string]any{"approved": []string{key}},
		"projects": map[string]any{w.work: map[string]any{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}},
	}), w.home, ".claude.json")
	c := w.open(append(append([]string{}, alone...), append(claude.env(base), "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1")...), plimsoll, "run", "--force", "--quiet", "--", path)
	c.expectAnywhere("← for agents") // below the prompt
	c.press(said)
	c.expectAnywhere("PostgreSQL.")
	c.press("\r")
	wait.Reached(patience, func() bool {
		for _, r := range first.Requests() {
			if r.Kind == "model" && !r.Request.Side && bytes.Contains(r.Body, []byte(said)) {
				return true
			}
		}
		return false
	})
	c.expectAnywhere("Noted and understood.")
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	c.wait()
	if got := w.run(nil, plimsoll, "memory", "list", "--origin", "user", "--kind", "episode"); !strings.Contains(got.stdout, said) {
		t.Fatalf("what was typed is not kept as the user's: %d %s%s\nthe terminal shows\n%s", got.status, got.stdout, got.stderr, c.shows())
	}

	// The second: a task that does not fit into the window.
	second, base := provide(t, scripted.Options{Window: taskWindow, Script: longTask(logs(t, w, taskSteps*taskCalls))})
	e := errand{
		base: base, prompt: "Which database does the ledger use? Show every part of the log, one after the other.", args: []string{"mcp__plimsoll-memory"},
		flags: []string{}, report: filepath.Join(w.state, "report.json"),
	}
	if got := claude.start(t, w, e); got.status != 0 {
		t.Fatalf("status %d\nstdout: %s\nstderr: %s", got.status, clip(got.stdout), clip(got.stderr))
	}
	tools, turns := false, 0
	for _, r := range second.Requests() {
		if r.Kind != "model" || r.Request.Side || r.Status != 200 {
			continue
		}
		turns++
		for _, words := range []string{said, pinned} {
			if n := bytes.Count(r.Body, []byte(words)); n != 1 {
				t.Errorf("turn %d: %q stands there %d times", r.Turn, words, n)
			}
		}
		tools = tools || bytes.Contains(r.Body, []byte("mcp__plimsoll-memory__search_memory"))
	}
	if turns < taskSteps || !tools {
		t.Errorf("%d turns, search_memory offered: %v", turns, tools)
	}
	report := readReport(t, e.report)
	if report.Window.Compactions == 0 {
		t.Errorf("nothing was compacted: %+v", report.Window)
	}
	for _, words := range []string{"every turn is kept", "tools to search it", "facts by small at " + facts} {
		if !strings.Contains(report.Remembers, words) {
			t.Errorf("the report says %q; want %q", report.Remembers, words)
		}
	}
	if got := w.run(nil, plimsoll, "memory", "search", "--json", "step of part 3 took longer"); !strings.Contains(got.stdout, "of part 3 took longer") {
		t.Errorf("what was cut is not found: %d %s%s", got.status, clip(got.stdout), clip(got.stderr))
	}

	// And the background manager.
	manager := daemon()
	w.until("a fact is drawn", func() bool {
		got := w.run(nil, plimsoll, "memory", "search", "ledger database", "--kind", "fact")
		return strings.Contains(got.stdout, "ledger: database is PostgreSQL")
	})
	end(manager)
	w.nothingLeft()
}
