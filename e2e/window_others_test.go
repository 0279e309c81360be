//go:build linux

package e2e

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
)

// others are agents that are told by every user where their model is: there is no provider's own host to be played for them.
var others = []struct {
	agent
	window, calls int // the task is so many commands, for which the window has no room
}{
	{window: 24_000, calls: 2, agent: agent{
		name: "qwen", base: "/v1", settle: func(*testing.T, *world, string) {},
		env: func(base string) []string {
			return []string{"OPENAI_BASE_URL=" + base, "OPENAI_API_KEY=" + key, "OPENAI_MODEL=gpt-5.1"}
		},
		argv: func(prompt string) []string { return []string{"-y", "--auth-type", "openai", "-p", prompt} },
	}},
	// It moves long results to files by itself.
	{window: 15_500, calls: 14, agent: agent{
		name: "copilot", base: "/v1", settle: func(*testing.T, *world, string) {},
		env: func(base string) []string {
			return []string{"COPILOT_OFFLINE=true", "COPILOT_AUTO_UPDATE=false", "COPILOT_PROVIDER_BASE_URL=" + base, "COPILOT_PROVIDER_API_KEY=" + key, "COPILOT_MODEL=gpt-5.1"}
		},
		argv: func(prompt string) []string { return []string{"-p", prompt, "--allow-all-tools"} },
	}},
}

// A task that does not fit into the provider's window ends through Plimsoll, and its first request is the one of a run without.
func TestWindowOthers(t *testing.T) {
	for _, a := range others {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			var first [2]*scripted.Recorded
			for i := range first {
				w := newWorld(t)
				o := scripted.Options{} // any answer will do: the first request is what is looked at
				if i == 1 {
					o = scripted.Options{Window: a.window, Script: scripted.Shells("The task is finished.", logs(t, w, a.calls)...)}
				}
				p, url := provide(t, o)
				e := errand{base: url + a.base, prompt: "Show every part of the log, one after the other.", report: filepath.Join(w.state, "report.json")}
				if i == 1 {
					e.flags = []string{}
				}
				got := a.start(t, w, e)
				for _, r := range p.Requests() {
					if r.Kind == "model" && !r.Request.Side {
						first[i] = r
						break
					}
				}
				if got.status != 0 || first[i] == nil || i == 1 && (p.Turns("") != a.calls+1 || !strings.Contains(got.stdout, "The task is finished.")) {
					t.Fatalf("status %d after %d turns, %d refused\nstdout: %s\nstderr: %s", got.status, p.Turns(""), p.Refused(), clip(got.stdout), clip(got.stderr))
				}
				if i == 1 {
					if window := readReport(t, e.report).Window; window.Requests == 0 || window.Compactions == 0 || p.Refused() > 2 {
						t.Errorf("%d refused, the report says %+v", p.Refused(), window)
					}
					w.nothingLeft()
				}
			}
			alone, through := first[0], first[1]
			if a, b := names(alone), names(through); !slices.Equal(a, b) {
				t.Errorf("tools %q, alone %q", b, a)
			}
			if a, b := len(alone.Body), len(through.Body); b > a+a/20 || b < a-a/20 {
				t.Errorf("%d bytes, alone %d", b, a)
			}
			if a, b := headers(alone), headers(through); !slices.Equal(a, b) {
				t.Errorf("headers %q, alone %q", b, a)
			}
			t.Logf("%d tools, %d bytes alone, %d through Plimsoll", len(alone.Request.Tools), len(alone.Body), len(through.Body))
		})
	}
}

// promptAdapter starts the real adapter of Claude Code as an editor does, with flags for run, and asks its agent once.
func (w *world) promptAdapter(url, text string, flags ...string) *talk {
	w.t.Helper()
	claude := agents[slices.IndexFunc(agents, func(a agent) bool { return a.name == "claude" })]
	k := w.talkTo(claude.apart(errand{base: url, env: []string{"IS_SANDBOX=1"}, flags: []string{}}), append([]string{"--force"}, flags...), installed(w.t, "claude-agent-acp"))
	k.send(0, "initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}})
	if r, ok := k.answer(0); !ok || r.Error != nil {
		w.t.Fatalf("initialize: %+v %s", r.Error, clip(k.errs.String()))
	}
	k.send(1, "session/new", map[string]any{"cwd": w.work, "mcpServers": []any{}})
	r, ok := k.answer(1)
	var session struct{ SessionID string }
	if !ok || r.Error != nil || json.Unmarshal(r.Result, &session) != nil || session.SessionID == "" {
		w.t.Fatalf("session/new: %s %+v %s", r.Result, r.Error, clip(k.errs.String()))
	}
	k.send(2, "session/prompt", map[string]any{"sessionId": session.SessionID, "prompt": []any{map[string]any{"type": "text", "text": text}}})
	r, ok = k.answer(2)
	if !ok || r.Error != nil || !strings.Contains(string(r.Result), `"end_turn"`) {
		w.t.Fatalf("session/prompt: %s %+v %s", r.Result, r.Error, clip(k.errs.String()))
	}
	return k
}

// A tool of the agent behind the real adapter takes all of the memory: it goes, the agent is told and ends its task.
func TestAdaptersAgentOutlivesItsTool(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, url := provide(t, scripted.Options{CheckSignatures: true, Script: scripted.Shells("The task is finished.", "head -c 3000000000 /dev/zero | tail -c 3000000000 >/dev/null")})
	report := filepath.Join(w.state, "report.json")
	k := w.promptAdapter(url, "Run the job.", "--memory-max", "1G", "--report", report)
	if p.Turns("") != 2 {
		t.Errorf("%d turns, %d refused", p.Turns(""), p.Refused())
	}
	if r := k.report(report); r.Outcome != "ok" || len(r.KilledChildren) == 0 || r.KilledChildren[0].Name != "tail" {
		t.Errorf("the report says %+v", r)
	}
	w.nothingLeft()
}

// An adapter as an editor starts it: its agent's requests come through the run's proxy, and a task that does not fit into the
// window ends.
func TestWindowAdapter(t *testing.T) {
	t.Parallel()
	const calls = 6
	w := newWorld(t)
	p, url := provide(t, scripted.Options{Window: 35_000, CheckSignatures: true, Script: scripted.Shells("The task is finished.", logs(t, w, calls)...)})
	report := filepath.Join(w.state, "report.json")
	k := w.promptAdapter(url, "Show every part of the log.", "--report", report)
	if p.Turns("") != calls+1 {
		t.Fatalf("%d turns, %d refused %s", p.Turns(""), p.Refused(), clip(k.errs.String()))
	}
	k.close()
	if err := k.cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, clip(k.errs.String()))
	}
	if window := readReport(t, report).Window; window.Requests == 0 || window.Compactions == 0 {
		t.Errorf("the report says %+v", window)
	}
	w.nothingLeft()
}
