package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
)

// stateOf returns what the newest run is at, in every place that shows it; "" while they do not agree.
func (w *world) stateOf() string {
	w.t.Helper()
	var list []struct{ State, Outcome string }
	var screen struct{ Runs []struct{ State string } }
	var glance struct{ State string }
	for _, c := range []struct {
		into    any
		command []string
	}{{&list, []string{"runs", "--json"}}, {&screen, []string{"top", "--once", "--json"}}, {&glance, []string{"status", "--json"}}} {
		if got := w.run(nil, append([]string{plimsoll}, c.command...)...); json.Unmarshal([]byte(got.stdout), c.into) != nil {
			w.t.Fatalf("%v: %d %s%s", c.command, got.status, clip(got.stdout), clip(got.stderr))
		}
	}
	if len(list) != 1 || len(screen.Runs) != 1 || screen.Runs[0].State != glance.State || list[0].State != glance.State {
		return ""
	}
	return glance.State
}

// A person asks Claude Code something, reads the answer and goes away: it is the person's turn, then it is idle, somebody types, it is idle
// again, and at last it is ended, with the line that takes the session up.
func TestAForgottenAgent(t *testing.T) {
	t.Parallel() // it waits for most of three minutes
	path := installed(t, "claude")
	claude := agents[0]
	w := newWorld(t)
	provider, base := provide(t, scripted.Options{Script: func(int, *scripted.Request) scripted.Reply { return scripted.Reply{Text: "Noted and understood."} }})
	write(t, quoted(t, map[string]any{
		"hasCompletedOnboarding": true, "theme": "dark", "customApiKeyResponses": map[string]any{"approved": []string{key}},
		"projects": map[string]any{w.work: map[string]any{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}},
	}), w.home, ".claude.json")
	report := filepath.Join(w.state, "report.json")
	c := w.open(append(append([]string{}, alone...), append(claude.env(base), "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1")...),
		plimsoll, "run", "--force", "--idle-max", "100s", "--report", report, "--", path)
	c.expectAnywhere("← for agents") // below the prompt
	c.press("Good evening.")
	c.expectAnywhere("evening.")
	if state := w.stateOf(); state != runs.Running {
		t.Errorf("before anything was asked it is %q", state)
	}
	c.press("\r")
	c.expectAnywhere("Noted and understood.")
	w.until("it is the person's turn", func() bool { return w.stateOf() == runs.YourTurn })
	w.until("nobody uses it", func() bool { return w.stateOf() == runs.Idle })
	c.press("x")
	w.until("somebody types", func() bool { return w.stateOf() == runs.YourTurn })
	w.until("nobody uses it again", func() bool { return w.stateOf() == runs.Idle })
	c.wait()
	var r journal.Report
	if text, err := os.ReadFile(report); err != nil || json.Unmarshal(text, &r) != nil {
		t.Fatalf("%s, %v", text, err)
	}
	if r.Outcome != journal.OutcomeLimit || r.LimitReached != "idle_max" {
		t.Errorf("%+v\nthe terminal shows\n%s", r, c.shows())
	}
	for _, words := range []string{"nobody has used it for", "nobody used it: --idle-max 3m20s", "to go on where it stopped, in the same directory: claude --continue"} {
		c.expectAnywhere(words)
	}
	if n := len(provider.Requests()); n == 0 {
		t.Error("nobody was asked")
	}
	w.nothingLeft()
}
