//go:build linux || darwin

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

// A tool that makes room by itself does so through Plimsoll at the same points as alone,
// and Plimsoll leaves its request for a summary, and what came of it, as they are. Both
// tools count by the usage that the provider reports.
func TestWindowOwnCompaction(t *testing.T) {
	for _, c := range []struct {
		tool string
		args []string
		env  []string
		item bool // the summary travels as an item of its own, whose text nobody can read
	}{
		{tool: "claude", env: []string{"CLAUDE_CODE_AUTO_COMPACT_WINDOW=140000", "CLAUDE_CODE_DISABLE_1M_CONTEXT=1"}},
		{tool: "codex", args: []string{"-c", "model_auto_compact_token_limit=40000"}, item: true},
	} {
		t.Run(c.tool, func(t *testing.T) {
			a := agents[slices.IndexFunc(agents, func(a agent) bool { return a.name == c.tool })]
			var points [2][]int // the turns before which it made room: alone, through Plimsoll
			for i := range points {
				w := newWorld(t)
				p, url := provide(t, scripted.Options{Window: 150_000, Script: longTask(logs(t, w, taskSteps*taskCalls))})
				e := errand{base: url + a.base, prompt: "Show every part of the log.", args: c.args, env: c.env, report: filepath.Join(w.state, "report.json")}
				if i == 1 {
					e.flags = []string{}
				}
				got := a.start(t, w, e)
				if got.status != 0 || !strings.Contains(got.stdout, "The task is finished.") || p.Refused() > 0 {
					t.Fatalf("status %d, %d refused\nstdout: %s\nstderr: %s", got.status, p.Refused(), clip(got.stdout), clip(got.stderr))
				}
				next := 0 // turn
				for _, r := range p.Requests() {
					switch {
					case r.Kind != "model" || r.Request.Side && !r.Request.Compaction:
					case r.Request.Compaction:
						points[i] = append(points[i], next)
					default:
						next = r.Turn + 1
						if c.item && bytes.Count(r.Body, []byte(`"type":"compaction"`)) != min(len(points[i]), 1) {
							t.Errorf("the request of turn %d, after %d summaries, lacks the item or has several", r.Turn, len(points[i]))
						}
					}
				}
				if i == 1 {
					if window := readReport(t, e.report).Window; window.Requests == 0 || window.Compactions > 0 || window.OverflowRecoveries > 0 {
						t.Errorf("Plimsoll did something of its own: %+v", window)
					}
				}
			}
			if len(points[0]) == 0 || fmt.Sprint(points[0]) != fmt.Sprint(points[1]) {
				t.Errorf("made room before the turns %v, alone before %v", points[1], points[0])
			}
			t.Logf("made room by itself before the turns %v", points[1])
		})
	}
}
