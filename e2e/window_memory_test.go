//go:build linux || darwin

package e2e

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	body "github.com/plimsoll/plimsoll/window/wire"
)

// What the memory adds to a prompt: real tools start with it, go on through calls of tools, and end as they do alone. It stands in
// every request from the prompt on, at the same place to the byte, so that each message array begins with the one before; once, and in
// no result of a tool. Switched off the provider gets none of it.
func TestWindowMemory(t *testing.T) {
	for _, a := range agents {
		t.Run(a.name, func(t *testing.T) {
			for _, inject := range []string{"recall", "off"} {
				w := newWorld(t)
				if got := w.run(nil, plimsoll, "memory", "add", "--namespace", "user", "The harbour of Halcyon opens at six in the morning."); got.status != 0 {
					t.Fatalf("plimsoll memory add: %d %s%s", got.status, got.stdout, got.stderr)
				}
				p, url := provide(t, scripted.Options{CheckSignatures: true, Script: scripted.Shells("The task is finished.", logs(t, w, 3)...)})
				got := a.start(t, w, errand{
					base: url + a.base, prompt: "When does the harbour of Halcyon open?", env: []string{"PLIMSOLL_MEMORY_INJECT=" + inject},
					flags: []string{}, report: filepath.Join(w.state, "report.json"),
				})
				if got.status != 0 || !strings.Contains(got.stdout, "The task is finished.") || p.Refused() > 0 {
					t.Fatalf("%s: status %d, %d refused\nstdout: %s\nstderr: %s", inject, got.status, p.Refused(), clip(got.stdout), clip(got.stderr))
				}
				var before []byte
				turns := 0
				for _, r := range p.Requests() {
					if r.Kind != "model" {
						continue
					}
					n := bytes.Count(r.Body, []byte("opens at six in the morning"))
					if r.Request.Side || inject == "off" {
						if n > 0 {
							t.Errorf("%s: it stands in a request that is none of the task's: %s %s", inject, r.Method, r.Path)
						}
						continue
					}
					turns++
					if n != 1 {
						t.Errorf("turn %d: it stands there %d times", r.Turn, n)
					}
					request, err := body.Parse(r.Request.Dialect, r.Body)
					if err != nil {
						t.Fatal(err)
					}
					var array []byte
					for i := range request.Messages {
						m := &request.Messages[i]
						request.Fingerprint(i, func(b []byte) { array = append(array, b...) })
						for j := range m.Parts {
							if part := &m.Parts[j]; bytes.Contains(request.Raw(part.Span), []byte("opens at six")) && (m.Role != body.RoleUser || part.Kind != body.Text) {
								t.Errorf("turn %d: it stands in a %s of the %s", r.Turn, part.Kind, m.Role)
							}
						}
					}
					if !bytes.HasPrefix(array, before) {
						t.Errorf("turn %d does not begin with the one before", r.Turn)
					}
					before = array
				}
				if inject != "off" && turns < 4 {
					t.Errorf("%d turns", turns)
				}
			}
		})
	}
}

// A session that is gone on with, in a second run, gets what was added in the first at the same place again.
func TestWindowMemoryResumed(t *testing.T) {
	for _, a := range agents {
		args := map[string][]string{"claude": {"--continue"}, "opencode": {"--continue"}}[a.name]
		if args == nil {
			continue // Codex and Gemini CLI have no resumption without a terminal at these versions that takes a prompt by argument
		}
		t.Run(a.name, func(t *testing.T) {
			w := newWorld(t)
			if got := w.run(nil, plimsoll, "memory", "add", "--namespace", "user", "The harbour of Halcyon opens at six in the morning."); got.status != 0 {
				t.Fatalf("plimsoll memory add: %d %s%s", got.status, got.stdout, got.stderr)
			}
			p, url := provide(t, scripted.Options{CheckSignatures: true, Script: scripted.Shells("The task is finished.", logs(t, w, 1)...)})
			e := errand{
				base: url + a.base, prompt: "When does the harbour of Halcyon open?", env: []string{"PLIMSOLL_MEMORY_INJECT=recall"},
				flags: []string{}, report: filepath.Join(w.state, "report.json"),
			}
			for i, prompt := range []string{"When does the harbour of Halcyon open?", "And when does it close?"} {
				e.prompt = prompt
				if i > 0 {
					e.args = args
				}
				if got := a.start(t, w, e); got.status != 0 {
					t.Fatalf("status %d\nstdout: %s\nstderr: %s", got.status, clip(got.stdout), clip(got.stderr))
				}
			}
			resumed := 0
			for _, r := range p.Requests() {
				if r.Kind == "model" && !r.Request.Side && bytes.Contains(r.Body, []byte("And when does it close?")) {
					resumed++
					if n := bytes.Count(r.Body, []byte("opens at six in the morning")); n != 1 {
						t.Errorf("it stands there %d times", n)
					}
				}
			}
			if resumed == 0 {
				t.Error("nothing was resumed")
			}
		})
	}
}

// A task that does not fit into the window is compacted as without the memory, and what was added to its prompt stays where it was.
func TestWindowMemoryCompacted(t *testing.T) {
	for _, a := range agents {
		t.Run(a.name, func(t *testing.T) {
			w := newWorld(t)
			if got := w.run(nil, plimsoll, "memory", "add", "--namespace", "user", "The harbour of Halcyon opens at six in the morning."); got.status != 0 {
				t.Fatalf("plimsoll memory add: %d %s%s", got.status, got.stdout, got.stderr)
			}
			p, url := provide(t, scripted.Options{Window: taskWindow, CheckSignatures: true, Script: longTask(logs(t, w, taskSteps*taskCalls))})
			e := errand{
				base: url + a.base, prompt: "When does the harbour of Halcyon open? Show every part of the log, one after the other.", env: []string{"PLIMSOLL_MEMORY_INJECT=recall"},
				flags: []string{}, report: filepath.Join(w.state, "report.json"),
			}
			got := a.start(t, w, e)
			if got.status != 0 || p.Turns("") != taskSteps+1 || p.Refused() > 2 {
				t.Fatalf("status %d after %d turns, %d refused\nstdout: %s\nstderr: %s", got.status, p.Turns(""), p.Refused(), clip(got.stdout), clip(got.stderr))
			}
			if window := readReport(t, e.report).Window; window.Compactions == 0 {
				t.Errorf("nothing was compacted: %+v", window)
			}
			for _, r := range p.Requests() {
				if n := bytes.Count(r.Body, []byte("opens at six in the morning")); r.Kind == "model" && !r.Request.Side && r.Status == 200 && n != 1 {
					t.Errorf("turn %d: it stands there %d times", r.Turn, n)
				}
			}
			// What was cut is found again.
			found := w.run(nil, plimsoll, "memory", "search", "--json", "step of part 3 took longer")
			if found.status != 0 || !strings.Contains(found.stdout, "of part 3 took longer") {
				t.Errorf("what was cut is not found: %d %s%s", found.status, clip(found.stdout), clip(found.stderr))
			}
		})
	}
}
