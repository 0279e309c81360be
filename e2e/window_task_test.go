//go:build linux || darwin

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/journal"
)

// taskWindow is the provider's window in tokens: the largest first request of these tools
// takes a third of it. Each step of the task adds a quarter, so that the history is full
// again within three steps, which no tool's own compaction can keep up with.
const (
	taskWindow = 60_000
	taskSteps  = 10
	taskCalls  = 3 // in parallel
)

// longTask reads taskCalls files per step and then ends.
func longTask(commands []string) scripted.Script {
	return func(turn int, _ *scripted.Request) scripted.Reply {
		if turn >= taskSteps {
			return scripted.Reply{Text: "The task is finished."}
		}
		reply := scripted.Reply{Thinking: "The next parts tell more.", Text: fmt.Sprintf("Step %d of %d.", turn+1, taskSteps)}
		for _, c := range commands[turn*taskCalls : (turn+1)*taskCalls] {
			reply.Calls = append(reply.Calls, scripted.Call{Shell: c})
		}
		return reply
	}
}

// windowReport is the part of the run report that tells about the window.
type windowReport struct {
	Loops              int64  `json:"loops"`
	Loop               string `json:"loop"`
	Requests           int64  `json:"requests"`
	TokensIn           int64  `json:"tokens_in"`
	LimitTokens        int64  `json:"limit_tokens"`
	Compactions        int64  `json:"compactions"`
	Repairs            int64  `json:"repairs"`
	CutBytes           int64  `json:"cut_bytes"`
	OverflowRecoveries int64  `json:"overflow_recoveries"`
	Refused            int64  `json:"refused"`
}

func readReport(t *testing.T, file string) (r struct {
	ExitCode  int          `json:"exit_code"`
	Window    windowReport `json:"window"`
	Remembers string       `json:"remembers"`
	Limits    []journal.Limit
},
) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	if at := withToken.Find(text); at != nil || bytes.Contains(text, []byte(key)) {
		t.Errorf("the report tells the proxy's token or the tool's key: %s", at)
	}
	return r
}

// withToken is the address that a tool is given in place of its provider's.
var withToken = regexp.MustCompile(`127\.0\.0\.1:[0-9]+/[A-Za-z0-9_-]{16,}`)

// A long task that does not fit into the provider's window: the tool alone dies or goes
// round in circles, through Plimsoll it ends as it should.
func TestWindowLongTask(t *testing.T) {
	var table strings.Builder
	fmt.Fprintf(&table, "%-9s %-9s %6s %6s %8s %8s %10s %9s\n", "tool", "", "status", "turns", "requests", "refused", "compacted", "recovered")
	for _, a := range agents {
		t.Run(a.name, func(t *testing.T) {
			for _, alone := range []bool{true, false} {
				w := newWorld(t)
				p, url := provide(t, scripted.Options{Window: taskWindow, CheckSignatures: true, Script: longTask(logs(t, w, taskSteps*taskCalls))})
				e := errand{base: url + a.base, prompt: "Show every part of the log, one after the other.", report: filepath.Join(w.state, "report.json")}
				if !alone {
					e.flags = []string{}
				}
				got := a.start(t, w, e)
				models := 0
				for _, r := range p.Requests() {
					if r.Kind == "model" {
						models++
					}
				}
				how, window := "alone", windowReport{}
				if !alone {
					how, window = "plimsoll", readReport(t, e.report).Window
				}
				fmt.Fprintf(&table, "%-9s %-9s %6d %6d %8d %8d %10d %9d\n", a.name, how, got.status, p.Turns(""), models, p.Refused(), window.Compactions, window.OverflowRecoveries)
				finished := got.status == 0 && p.Turns("") == taskSteps+1 && strings.Contains(got.stdout, "The task is finished.")
				switch {
				case alone && finished:
					t.Errorf("alone it finished too: the task tests nothing")
				case !alone && !finished:
					t.Errorf("status %d after %d of %d turns, %d refused\nstdout: %s\nstderr: %s", got.status, p.Turns(""), taskSteps+1, p.Refused(), clip(got.stdout), clip(got.stderr))
					for _, r := range p.Requests() {
						t.Logf("%s %s: %d, %d tokens, %d bytes %s", r.Method, r.Path, r.Status, r.Input, len(r.Body), r.Note)
					}
				case !alone:
					if window.Requests == 0 || window.Compactions == 0 {
						t.Errorf("the report does not tell of it: %+v", window)
					}
					// The first refusal teaches the limit, or, where it names none, nearly so.
					if p.Refused() > 2 {
						t.Errorf("%d requests were refused", p.Refused())
					}
					w.nothingLeft()
				}
			}
		})
	}
	t.Logf("a task of %d steps against a window of %d tokens\n%s", taskSteps, taskWindow, table.String())
}
