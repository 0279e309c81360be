//go:build linux || darwin

package e2e

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"regexp"
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
			for _, on := range []string{"true", "false"} {
				w := newWorld(t)
				if got := w.run(nil, plimsoll, "memory", "add", "--namespace", "user", "The harbour of Halcyon opens at six in the morning."); got.status != 0 {
					t.Fatalf("plimsoll memory add: %d %s%s", got.status, got.stdout, got.stderr)
				}
				p, url := provide(t, scripted.Options{CheckSignatures: true, Script: scripted.Shells("The task is finished.", logs(t, w, 3)...)})
				got := a.start(t, w, errand{
					base: url + a.base, prompt: "When does the harbour of Halcyon open?", env: []string{"PLIMSOLL_MEMORY_ON=" + on},
					flags: []string{}, report: filepath.Join(w.state, "report.json"),
				})
				if got.status != 0 || !strings.Contains(got.stdout, "The task is finished.") || p.Refused() > 0 {
					t.Fatalf("%s: status %d, %d refused\nstdout: %s\nstderr: %s", on, got.status, p.Refused(), clip(got.stdout), clip(got.stderr))
				}
				var before []byte
				turns := 0
				for _, r := range p.Requests() {
					if r.Kind != "model" {
						continue
					}
					n := bytes.Count(r.Body, []byte("opens at six in the morning"))
					if r.Request.Side || on == "false" {
						if n > 0 {
							t.Errorf("%s: it stands in a request that is none of the task's: %s %s", on, r.Method, r.Path)
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
					for i := range request.Messages {
						m := &request.Messages[i]
						for j := range m.Parts {
							if part := &m.Parts[j]; bytes.Contains(request.Raw(part.Span), []byte("opens at six")) && (m.Role != body.RoleUser || part.Kind != body.Text) {
								t.Errorf("turn %d: it stands in a %s of the %s", r.Turn, part.Kind, m.Role)
							}
						}
					}
					array := messageArray(t, r)
					if !bytes.HasPrefix(array, before) {
						t.Errorf("turn %d does not begin with the one before", r.Turn)
					}
					before = array
				}
				if on == "true" && turns < 4 {
					t.Errorf("%d turns", turns)
				}
			}
		})
	}
}

// A session that is gone on with, in a second run: what was added in the first stands at the same place, and each message array begins
// with the one before, over both runs. In a third run, where it is switched off, the tool's own messages are there and nothing else.
func TestWindowMemoryResumed(t *testing.T) {
	const pinned, note = "Say hours of the day with all their digits.", "The harbour of Halcyon opens at six in the morning."
	for _, a := range agents {
		t.Run(a.name, func(t *testing.T) {
			w := newWorld(t)
			for _, words := range [][]string{{"add", "--namespace", "user", note}, {"pin", pinned}} {
				if got := w.run(nil, append([]string{plimsoll, "memory"}, words...)...); got.status != 0 {
					t.Fatalf("plimsoll memory %q: %d %s%s", words, got.status, got.stdout, got.stderr)
				}
			}
			p, url := provide(t, scripted.Options{CheckSignatures: true, Script: scripted.Shells("The task is finished.", logs(t, w, 1)...)})
			e := errand{base: url + a.base, flags: []string{}, report: filepath.Join(w.state, "report.json")}
			prompts := []string{"When does the harbour of Halcyon open?", "And when does it close?", "Is it far?"}
			var before []byte
			for i, prompt := range prompts {
				e.prompt, e.resume, e.env = prompt, i > 0, []string{"PLIMSOLL_MEMORY_ON=true"}
				if i == 2 {
					e.env = []string{"PLIMSOLL_MEMORY_ON=false"}
				}
				from := len(p.Requests())
				if got := a.start(t, w, e); got.status != 0 || p.Refused() > 0 {
					t.Fatalf("run %d: status %d, %d refused\nstdout: %s\nstderr: %s", i, got.status, p.Refused(), clip(got.stdout), clip(got.stderr))
				}
				turns := 0
				for _, r := range p.Requests()[from:] {
					if r.Kind != "model" || r.Request.Side {
						continue
					}
					turns++
					if !bytes.Contains(r.Body, []byte(prompts[0])) || !bytes.Contains(r.Body, []byte(prompt)) {
						t.Errorf("run %d: the session was not gone on with", i)
					}
					want := 1
					if i == 2 {
						want = 0
					}
					if pins, notes := bytes.Count(r.Body, []byte(pinned)), bytes.Count(r.Body, []byte("opens at six in the morning")); pins != want || notes != want {
						t.Errorf("run %d: what is pinned stands there %d times, what was said %d times", i, pins, notes)
					}
					if i == 2 {
						if bytes.Contains(r.Body, []byte("plimsoll-memory-context")) {
							t.Errorf("run %d: it is switched off, and something is left", i)
						}
						continue
					}
					// Gemini CLI sends a session that it goes on with without the signatures of thoughts, also alone.
					array := thoughtSignature.ReplaceAll(messageArray(t, r), nil)
					if !bytes.HasPrefix(array, before) {
						t.Errorf("run %d: the messages do not begin with those before", i)
					}
					before = array
				}
				if turns == 0 {
					t.Errorf("run %d asked nothing", i)
				}
			}
			why := w.run(nil, plimsoll, "memory", "search", "--json", "--kind", "pin", "digits")
			var found []struct{ ID string }
			if err := json.Unmarshal([]byte(why.stdout), &found); err != nil || len(found) != 1 {
				t.Fatalf("%v: %s%s", err, why.stdout, why.stderr)
			}
			why = w.run(nil, plimsoll, "memory", "why", found[0].ID)
			if n := strings.Count(why.stdout, "added to a prompt · "+a.name+" · conversation "); n != 1 {
				t.Errorf("it was added to one conversation, and %d are told of:\n%s", n, why.stdout)
			}
		})
	}
}

var thoughtSignature = regexp.MustCompile(`,"thoughtSignature":"[^"]*"`)

// messageArray is what a request has for messages, without cache marks.
func messageArray(t *testing.T, r *scripted.Recorded) (array []byte) {
	t.Helper()
	request, err := body.Parse(r.Request.Dialect, r.Body)
	if err != nil {
		t.Fatal(err)
	}
	for i := range request.Messages {
		request.Fingerprint(i, func(b []byte) { array = append(array, b...) })
	}
	return array
}

// A task that does not fit into the window is compacted as without the memory, and what was added to its prompt stays where it was.
func TestWindowMemoryCompacted(t *testing.T) {
	for _, a := range agents {
		t.Run(a.name, func(t *testing.T) {
			w := newWorld(t)
			if got := w.run(nil, plimsoll, "memory", "add", "--namespace", "user", "The harbour of Halcyon opens at six in the morning."); got.status != 0 {
				t.Fatalf("plimsoll memory add: %d %s%s", got.status, got.stdout, got.stderr)
			}
			if got := w.run(nil, plimsoll, "memory", "pin", "Say hours of the day with all their digits."); got.status != 0 {
				t.Fatalf("plimsoll memory pin: %d %s%s", got.status, got.stdout, got.stderr)
			}
			p, url := provide(t, scripted.Options{Window: taskWindow, CheckSignatures: true, Script: longTask(logs(t, w, taskSteps*taskCalls))})
			e := errand{
				base: url + a.base, prompt: "When does the harbour of Halcyon open? Show every part of the log, one after the other.", env: []string{"PLIMSOLL_MEMORY_ON=true"},
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
				for _, words := range []string{"opens at six in the morning", "with all their digits"} {
					if n := bytes.Count(r.Body, []byte(words)); r.Kind == "model" && !r.Request.Side && r.Status == 200 && n != 1 {
						t.Errorf("turn %d: %q stands there %d times", r.Turn, words, n)
					}
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
