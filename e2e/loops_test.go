//go:build linux || darwin

package e2e

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
)

// A model that has its agent read the same file again and again: the run's report tells it; with a hint the model reads of it from then on, in
// the same place; and a stopped agent goes on when its user says something new.
func TestWindowLoops(t *testing.T) {
	const reads, found = 6, 4
	for _, a := range agents {
		if a.name != "claude" && a.name != "codex" { // opencode does the same; Gemini CLI ends by itself at the fifth call
			continue
		}
		for _, action := range []string{"warn", "hint", "stop"} {
			t.Run(a.name+" "+action, func(t *testing.T) {
				w := newWorld(t)
				write(t, "The tide comes at noon.\n", w.work, "notes.txt")
				provider, url := provide(t, scripted.Options{
					Script: scripted.Shells("The task is finished.", slices.Repeat([]string{"cat notes.txt"}, reads)...), Key: key,
				})
				e := errand{base: url + a.base, prompt: "Read notes.txt.", flags: []string{"--on-loop", action}, report: filepath.Join(w.state, "report.json")}
				got := a.start(t, w, e)
				r := readReport(t, e.report)
				if r.Window.Loops != 1 || !strings.Contains(r.Window.Loop, "times") {
					t.Fatalf("the report has %d loops: %q\nstdout: %s\nstderr: %s", r.Window.Loops, r.Window.Loop, clip(got.stdout), clip(got.stderr))
				}
				requests, said := toldIn(t, provider)
				finished := strings.Contains(got.stdout, "The task is finished.")
				switch action {
				case "warn":
					if !finished || len(said) != 0 {
						t.Errorf("finished: %v, the model was told in %v of %d requests", finished, said, requests)
					}
				case "hint":
					if !finished || len(said) != reads-found+1 || said[0] != found {
						t.Errorf("finished: %v, the model was told in %v of %d requests", finished, said, requests)
					}
				case "stop":
					if finished || requests != found || r.Window.Refused == 0 || !strings.Contains(got.stdout+got.stderr, "repeats itself") {
						t.Fatalf("finished: %v, %d requests, %d refused\nstdout: %s\nstderr: %s", finished, requests, r.Window.Refused, clip(got.stdout), clip(got.stderr))
					}
					e.resume, e.prompt = true, "Read it twice more and say when the tide comes."
					if got := a.start(t, w, e); got.status != 0 || !strings.Contains(got.stdout, "The task is finished.") {
						t.Errorf("resumed: status %d\nstdout: %s\nstderr: %s", got.status, clip(got.stdout), clip(got.stderr))
					}
				}
			})
		}
	}
}

// toldIn returns the number of requests of the task, and the indices of those in which the model is told that it repeats itself, in one
// place.
func toldIn(t *testing.T, p *scripted.Provider) (n int, told []int) {
	t.Helper()
	for _, r := range p.Requests() {
		if r.Kind != "model" || r.Request.Side {
			continue
		}
		switch bytes.Count(r.Body, []byte("Note by Plimsoll")) {
		case 0:
		case 1:
			told = append(told, n)
		default:
			t.Errorf("request %d says it more than once", n)
		}
		n++
	}
	return n, told
}
