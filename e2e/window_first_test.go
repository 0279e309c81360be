//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
)

// A tool that knows nothing of a base URL sends the same through Plimsoll as without it:
// the same tools, about the same size. A proxy that answers for the provider's own host
// sees both.
//
// Only on Linux: elsewhere a program's own certificates are not taken from a variable.
func TestWindowFirstRequest(t *testing.T) {
	var table strings.Builder
	fmt.Fprintf(&table, "%-9s %6s %12s %12s\n", "tool", "tools", "bytes alone", "plimsoll")
	for _, a := range agents {
		t.Run(a.name, func(t *testing.T) {
			var first [2]*scripted.Recorded
			for i := range first {
				w := newWorld(t)
				p := scripted.New(scripted.Options{Script: scripted.Shells("The task is finished.", "pwd"), Key: key})
				h := playHosts(t, a.host, p)
				e := errand{proxy: h.url, env: h.environ(), prompt: "Say where you are.", report: filepath.Join(w.state, "report.json")}
				if i == 1 {
					e.flags = []string{}
				}
				got := a.start(t, w, e)
				if got.status != 0 || !strings.Contains(got.stdout, "The task is finished.") {
					t.Fatalf("status %d\nstdout: %s\nstderr: %s", got.status, clip(got.stdout), clip(got.stderr))
				}
				if i == 1 {
					if n := readReport(t, e.report).Window.Requests; n < 2 {
						t.Fatalf("%d requests went through the proxy", n)
					}
				}
				for _, r := range p.Requests() {
					if r.Kind == "model" && !r.Request.Side {
						first[i] = r
						break
					}
				}
			}
			alone, through := first[0], first[1]
			if a, b := names(alone), names(through); !slices.Equal(a, b) {
				t.Errorf("tools %q, alone %q", b, a)
			}
			if a, b := len(alone.Body), len(through.Body); b > a+a/20 || b < a-a/20 {
				t.Errorf("%d bytes, alone %d", b, a)
			}
			fmt.Fprintf(&table, "%-9s %6d %12d %12d\n", a.name, len(alone.Request.Tools), len(alone.Body), len(through.Body))
			// Claude Code 2.1.332 asks for this at Anthropic's own address alone, whatever it is told of another.
			bare := headers(alone)
			for i := range bare {
				bare[i] = strings.Replace(bare[i], "mid-conversation-system-clear-at-2026-08-21,", "", 1)
			}
			if got := headers(through); !slices.Equal(bare, got) {
				t.Errorf("headers %q, alone %q", got, bare)
			}
		})
	}
	t.Logf("the first request of a task at the provider's own host\n%s", table.String())
}

func names(r *scripted.Recorded) []string {
	var out []string
	for _, tool := range r.Request.Tools {
		out = append(out, tool.Namespace+"/"+tool.Name)
	}
	return out
}

// headers are the names, and the values that are no identifiers of the run. Connection is
// between neighbours, and what a tool accepts as encoding depends on whether it speaks TLS.
func headers(r *scripted.Recorded) []string {
	var out []string
	for name, values := range r.Header {
		switch name {
		case "Connection", "Accept-Encoding":
		case "Authorization", "X-Api-Key", "X-Goog-Api-Key", "Anthropic-Beta", "Content-Type", "User-Agent":
			out = append(out, name+": "+strings.Join(values, ", "))
		default:
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Towards Anthropic's own host Claude Code sums up each body in its system prompt. The sum
// is passed on with the body it belongs to, and not with one that Plimsoll has shortened.
func TestWindowLongTaskAtHome(t *testing.T) {
	a := agents[slices.IndexFunc(agents, func(a agent) bool { return a.name == "claude" })]
	w := newWorld(t)
	p := scripted.New(scripted.Options{Window: taskWindow, CheckSignatures: true, Script: longTask(logs(t, w, taskSteps*taskCalls)), Key: key})
	h := playHosts(t, a.host, p)
	e := errand{proxy: h.url, env: h.environ(), prompt: "Show every part of the log.", report: filepath.Join(w.state, "report.json"), flags: []string{}}
	got := a.start(t, w, e)
	if got.status != 0 || p.Turns("") != taskSteps+1 {
		t.Fatalf("status %d after %d turns\nstdout: %s\nstderr: %s", got.status, p.Turns(""), clip(got.stdout), clip(got.stderr))
	}
	with, without := 0, 0
	for _, r := range p.Requests() {
		switch {
		case r.Kind != "model" || r.Request.Side:
		case bytes.Contains(r.Body, []byte("; cch=")):
			with++
			if without > 0 {
				t.Errorf("the request of turn %d has a sum, after one that was shortened had none", r.Turn)
			}
		default:
			without++
		}
	}
	if window := readReport(t, e.report).Window; with == 0 || without == 0 || window.Compactions == 0 {
		t.Errorf("%d requests with a sum, %d without, %+v", with, without, window)
	}
	t.Logf("%d requests with a sum, %d without", with, without)
}
