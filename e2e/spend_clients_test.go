//go:build linux

package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/journal"
)

// At the limit of what it may spend each real client stops with the reason: no hang, no storm of retries, a status that is not 0.
func TestSpendLimitEndsEachClient(t *testing.T) {
	all := slices.Clone(agents)
	for _, o := range others {
		all = append(all, o.agent)
	}
	var table strings.Builder
	fmt.Fprintf(&table, "%-9s %6s %9s %9s  %s\n", "client", "status", "refused", "seconds", "what it shows")
	for _, a := range all {
		t.Run(a.name, func(t *testing.T) {
			w := newWorld(t)
			var commands []string
			for i := range 8 {
				commands = append(commands, fmt.Sprintf("echo step %d", i))
			}
			p, url := provide(t, scripted.Options{Script: scripted.Shells("The task is finished.", commands...)})
			e := errand{base: url + a.base, prompt: "Do all the steps.", report: filepath.Join(w.state, "report.json"), flags: []string{"--tokens-max", "40k"}}
			began := time.Now()
			got := a.start(t, w, e)
			took := time.Since(began)
			r := readReport(t, e.report)
			refused := r.Window.Refused
			shown := lineWith(got.stdout+"\n"+got.stderr, "Plimsoll: ")
			fmt.Fprintf(&table, "%-9s %6d %9d %9.1f  %s\n", a.name, got.status, refused, took.Seconds(), clip(shown))
			if got.status == 0 || shown == "" || refused == 0 || refused > 2 || took > 90*time.Second || p.Turns("") == 0 || p.Turns("") > 7 {
				t.Errorf("status %d, %d turns, %d refused, %v\nstdout: %s\nstderr: %s", got.status, p.Turns(""), refused, took, clip(got.stdout), clip(got.stderr))
			}
			if i := slices.IndexFunc(r.Limits, func(l journal.Limit) bool { return l.Name == "tokens_max" }); i < 0 || r.Limits[i].Reached != journal.LineHard || r.Limits[i].Used < 40_000 {
				t.Errorf("the report's limits: %+v", r.Limits)
			}
			w.nothingLeft()
		})
	}
	t.Log("\n" + table.String())
}

// lineWith returns the first line of a text with a word in it, "" for none.
func lineWith(text, word string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// Sub-agents of Claude Code at the limit: neither they nor their parent hang, and the parent ends with the reason.
func TestSpendLimitEndsSubAgents(t *testing.T) {
	claude := agents[slices.IndexFunc(agents, func(a agent) bool { return a.name == "claude" })]
	w := newWorld(t)
	_, url := provide(t, scripted.Options{
		Conversation: func(r *scripted.Request) string { return fmt.Sprint(strings.Contains(string(r.Body), "sub-task")) },
		Script: func(turn int, r *scripted.Request) scripted.Reply {
			if turn == 0 && slices.ContainsFunc(r.Tools, func(x scripted.Tool) bool { return x.Name == "Agent" }) {
				var calls []scripted.Call
				for i := range 3 {
					calls = append(calls, scripted.Call{Tool: "Agent", Args: map[string]any{"description": fmt.Sprintf("part %d", i), "prompt": "Do the sub-task.", "subagent_type": "general-purpose"}})
				}
				return scripted.Reply{Calls: calls}
			}
			return scripted.Reply{Calls: []scripted.Call{{Shell: fmt.Sprintf("echo turn %d", turn)}}}
		},
	})
	e := errand{base: url, prompt: "Do all parts.", report: filepath.Join(w.state, "report.json"), flags: []string{"--tokens-max", "150k"}, args: []string{"--allowedTools", "Bash", "Agent"}}
	began := time.Now()
	got := claude.start(t, w, e)
	took := time.Since(began)
	r := readReport(t, e.report)
	t.Logf("status %d after %v and %d requests, %d refused: %s", got.status, took, r.Window.Requests, r.Window.Refused, clip(got.stdout))
	if got.status == 0 || !strings.Contains(got.stdout+got.stderr, "Plimsoll: ") || r.Window.Refused > 12 || took > 90*time.Second {
		t.Errorf("status %d, %v, %d refused\nstdout: %s\nstderr: %s", got.status, took, r.Window.Refused, clip(got.stdout), clip(got.stderr))
	}
	w.nothingLeft()
}
