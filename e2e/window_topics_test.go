//go:build linux || darwin

package e2e

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	body "github.com/plimsoll/plimsoll/window/wire"
)

// A session of a real tool that is gone on with crosses a boundary: the second prompt comes after the final answer, about two thirds
// of the window are in use. Where a cut is due by then, it is made in that request, in what belongs to the first task, and the requests after
// it begin with it. Where none is, the provider gets everything.
func TestWindowTopics(t *testing.T) {
	for _, a := range agents {
		// Windows in which what the tool sends of its own and twelve logs are about two thirds.
		window := map[string]string{"claude": "145000", "opencode": "120000"}[a.name]
		if window == "" {
			continue // as for TestWindowMemoryResumed
		}
		t.Run(a.name, func(t *testing.T) {
			for _, due := range []bool{true, false} {
				w := newWorld(t)
				p, url := provide(t, scripted.Options{Window: 200_000, CheckSignatures: true, Script: scripted.Shells("The task is finished.", logs(t, w, 12)...)})
				e := errand{
					base: url + a.base, flags: []string{}, report: filepath.Join(w.state, "report.json"),
					env: []string{"MAX_CONTEXT_TOKENS=" + window, "PLIMSOLL_WINDOW_TRIGGER=0.8"},
				}
				const second = "Now the release notes of Halcyon, please."
				for i, prompt := range []string{"Show every part of the log.", second} {
					e.prompt = prompt
					if i > 0 {
						e.args = []string{"--continue"}
						if due {
							e.env[1] = "PLIMSOLL_WINDOW_TRIGGER=0.5"
						}
					}
					got := a.start(t, w, e)
					if got.status != 0 || !strings.Contains(got.stdout, "The task is finished.") || p.Refused() > 0 {
						t.Fatalf("status %d, %d refused\nstdout: %s\nstderr: %s", got.status, p.Refused(), clip(got.stdout), clip(got.stderr))
					}
					if i == 0 {
						if window := readReport(t, e.report).Window; window.Compactions > 0 {
							t.Fatalf("room was made in the middle of the first task: %+v", window)
						}
					}
				}
				resumed := 0
				for _, r := range p.Requests() {
					if r.Kind != "model" || r.Request.Side || !bytes.Contains(r.Body, []byte(second)) {
						continue
					}
					resumed++
					request, err := body.Parse(r.Request.Dialect, r.Body)
					if err != nil {
						t.Fatal(err)
					}
					if cut := bytes.Contains(r.Body, []byte("[Plimsoll")); cut != due {
						t.Errorf("due %v: a request of %d messages and %d bytes is cut: %v", due, len(request.Messages), len(r.Body), cut)
					}
				}
				if resumed == 0 {
					t.Error("nothing was resumed")
				}
				if !due {
					continue
				}
				var list []struct{ ID string }
				got := w.run(nil, plimsoll, "runs", "--json")
				if err := json.Unmarshal([]byte(got.stdout), &list); err != nil || len(list) == 0 {
					t.Fatalf("%v: %s%s", err, got.stdout, got.stderr)
				}
				var run struct {
					Compactions []struct{ Reason, Boundary string }
				}
				got = w.run(nil, plimsoll, "runs", list[0].ID, "--json")
				if err := json.Unmarshal([]byte(got.stdout), &run); err != nil {
					t.Fatalf("%v: %s%s", err, got.stdout, got.stderr)
				}
				if len(run.Compactions) == 0 || run.Compactions[0].Reason != "topic" || run.Compactions[0].Boundary != "prompt" {
					t.Errorf("the run says %+v", run.Compactions)
				}
				if got = w.run(nil, plimsoll, "runs", list[0].ID); !strings.Contains(got.stdout, "topic: prompt") {
					t.Errorf("plimsoll runs ID does not say why: %s", got.stdout)
				}
			}
		})
	}
}
