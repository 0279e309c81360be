//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/journal"
)

// A person raises the limit of a run that stands at it, from outside, and the conversation goes on. The agent that runs inside can't.
func TestARaiseLetsTheConversationGoOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	claude := agents[slices.IndexFunc(agents, func(a agent) bool { return a.name == "claude" })]
	p, url := provide(t, scripted.Options{Script: scripted.Shells("The task is finished.", "echo 1", "echo 2", "echo 3", "echo 4", "echo 5", "echo 6", "echo 7", "echo 8")})
	path, first, second := installed(t, "claude"), filepath.Join(w.state, "first"), filepath.Join(w.state, "go")
	// Behind a shell, as in many a script: the limit is the whole run's.
	script := fmt.Sprintf("%s raise claude --tokens +1M >%s.raise 2>&1; %s -p 'Do all the steps.' --allowedTools Bash >%[2]s 2>&1; echo \"ended $?\" >>%[2]s; "+
		"until test -e %[4]s; do sleep 0.1; done; exec %[3]s --continue -p 'Go on.' --allowedTools Bash", plimsoll, first, path, second)
	report := filepath.Join(w.state, "report.json")
	cmd := exec.Command(plimsoll, "run", "--force", "--tool", "claude", "--tokens-max", "40k", "--report", report, "--", "sh", "-c", script)
	cmd.Dir, cmd.Env = w.work, w.environment()
	claude.apart(errand{base: url, flags: []string{}})(cmd)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	text := w.told(first, "ended")
	if !strings.Contains(text, "plimsoll raise") || strings.Contains(text, "ended 0") {
		t.Errorf("at the limit: %s", clip(text))
	}
	if inside, _ := os.ReadFile(first + ".raise"); !strings.Contains(string(inside), "does not raise limits") {
		t.Errorf("a raise from inside: %s", inside)
	}
	turns := p.Turns("")
	if got := w.run(nil, plimsoll, "raise", "claude", "--tokens", "+2M"); got.status != 0 || !strings.Contains(got.stdout, "tokens_max: 2M, before it was 40k") {
		t.Errorf("raise: %d %s %s", got.status, got.stdout, got.stderr)
	}
	write(t, "", second)
	if err := cmd.Wait(); err != nil || !strings.Contains(out.String(), "The task is finished.") || p.Turns("") != 9 || turns >= 9 {
		t.Errorf("%v after %d and %d turns\nstdout: %s\nstderr: %s", err, turns, p.Turns(""), clip(out.String()), clip(errs.String()))
	}
	for _, words := range []string{"of the 40k tokens that this run may use are used", "its next requests are refused", "plimsoll raise"} {
		if !strings.Contains(errs.String(), words) {
			t.Errorf("the person is not told %q: %s", words, errs.String())
		}
	}
	w.nothingLeft()
}

// priced is a provider whose answers cost 26 cents each: gpt-4o reads 100,000 tokens and writes 1,000. A gate that is not nil holds each answer
// back until it is closed.
func priced(t *testing.T, gate <-chan struct{}) (url string, asked func() int) {
	var mu sync.Mutex
	n := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		n++
		mu.Unlock()
		if gate != nil {
			select {
			case <-gate:
			case <-r.Context().Done():
				return
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"c","object":"chat.completion","model":"gpt-4o","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":100000,"completion_tokens":1000}}`)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

// asking is a run that asks the model once, under a budget.
func (w *world) asking(url string) *exec.Cmd {
	cmd := exec.Command(plimsoll, "run", "--force", "--proxy", "--quiet", "--", testtool, "ask", "OPENAI_BASE_URL", "/chat/completions")
	cmd.Dir, cmd.Env = w.work, w.environment("OPENAI_BASE_URL="+url+"/v1")
	return cmd
}

// A budget is one for all runs: of twenty at once and after each other as many ask as it pays for, and at most those under way pass it.
func TestABudgetIsOneForAllRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	write(t, "[budget]\nday = 2.0\n", w.state, "config.toml")
	url, asked := priced(t, nil)
	var all sync.WaitGroup
	var mu sync.Mutex
	refused := 0
	for range 20 {
		all.Go(func() {
			out, err := w.asking(url).Output()
			mu.Lock()
			defer mu.Unlock()
			if !strings.Contains(string(out), "200 OK") {
				refused++
				if !strings.Contains(string(out), "400 Bad Request") {
					t.Errorf("%s, %v", out, err)
				}
			}
		})
	}
	all.Wait()
	// $2.00 are eight answers of $0.26; those under way may be as many as there are runs.
	if n := asked(); n < 8 || n+refused != 20 {
		t.Errorf("%d asked, %d were refused", n, refused)
	}
	before := asked()
	if out, _ := w.asking(url).Output(); !strings.Contains(string(out), "400 Bad Request") || asked() != before {
		t.Errorf("behind the line: %s", out)
	}
	got := w.run(nil, plimsoll, "spend", "--json")
	var days []struct {
		Cost float64 `json:"cost_usd"`
	}
	if err := json.Unmarshal([]byte(got.stdout), &days); err != nil || len(days) != 1 || math.Abs(days[0].Cost-0.26*float64(before)) > 1e-6 {
		t.Errorf("%d answers, and plimsoll spend has %s", before, got.stdout)
	}
}

// A run that is killed with an answer under way has spent what it held, and its hold does not keep others waiting.
func TestAKilledRunHasSpentWhatItHeld(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	write(t, "[budget]\nday = 0.3\n", w.state, "config.toml")
	gate := make(chan struct{})
	url, asked := priced(t, gate)
	cmd := w.asking(url)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.until("the provider is asked", func() bool { return asked() == 1 })
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	close(gate)
	began := time.Now()
	out, err := w.asking(url).Output()
	if !strings.Contains(string(out), "200 OK") {
		t.Errorf("the next run got %s, %v", out, err)
	}
	if waited := time.Since(began); waited > 10*time.Second {
		t.Errorf("it waited %v for a run that is dead", waited)
	}
	got := w.run(nil, plimsoll, "spend", "--by", "budget", "--json")
	var budgets []struct {
		Spent float64 `json:"spent_usd"`
		Held  float64 `json:"held_usd"`
	}
	// One answer of $0.26, and what the killed run held for the 2,000 tokens that an answer may have: $0.02.
	if err := json.Unmarshal([]byte(got.stdout), &budgets); err != nil || len(budgets) != 1 || budgets[0].Spent < 0.279 || budgets[0].Spent > 0.29 || budgets[0].Held != 0 {
		t.Errorf("%v, the budget has %s", err, got.stdout)
	}
}

// Where nothing stands before the model, a limit of what may be spent refuses the start.
func TestASpendLimitThatNobodyHoldsRefusesTheStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, flags := range [][]string{{"--cost-max", "5"}, {"--tokens-max", "2M", "--no-proxy"}, {"--quota-max", "60%"}} {
		argv := append(append([]string{plimsoll, "run", "--force"}, flags...), "--", "true")
		got := w.run(nil, argv...)
		if got.status != 125 || !strings.Contains(got.stderr, "nobody would hold what it may spend") {
			t.Errorf("%q: status %d, %s", flags, got.status, got.stderr)
		}
	}
	write(t, "[budget]\nday = 20.0\n", w.state, "config.toml")
	if got := w.run(nil, plimsoll, "run", "--force", "--", "true"); got.status != 0 {
		t.Errorf("a budget refuses what asks no model: %d %s", got.status, got.stderr)
	}
	if got := w.run(nil, plimsoll, "run", "--no-proxy", "--tool", "claude", "--", "true"); got.status != 125 || !strings.Contains(got.stderr, "[budget]") {
		t.Errorf("an agent without a proxy: %d %s", got.status, got.stderr)
	}
	// A book that can't be read is no open budget.
	url, asked := priced(t, nil)
	write(t, "no book", w.state, "spend", "book")
	out, err := w.asking(url).Output()
	if _, exit := errors.AsType[*exec.ExitError](err); err != nil && !exit || !strings.Contains(string(out), "400 Bad Request") || asked() != 0 {
		t.Errorf("%s, %v, %d asked", out, err, asked())
	}
}

// Plimsoll's own agents ask the budgets as well.
func TestABudgetBoundsQuestions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	write(t, "[budget]\nday = 0.3\n", w.state, "config.toml")
	url, asked := priced(t, nil)
	w.variables = []string{"OPENAI_API_KEY=" + key, "OPENAI_BASE_URL=" + url + "/v1"}
	for i := range 2 {
		if got := w.run(nil, plimsoll, "ask", "--quiet", "--model", "openai/gpt-4o", "how are you?"); got.status != 0 {
			t.Fatalf("question %d: %d %s%s", i, got.status, got.stdout, got.stderr)
		}
	}
	got := w.run(nil, plimsoll, "ask", "--quiet", "--model", "openai/gpt-4o", "how are you?")
	if got.status == 0 || !strings.Contains(got.stdout+got.stderr, "budget.day") || asked() != 2 {
		t.Errorf("behind the line: status %d after %d requests: %s%s", got.status, asked(), got.stdout, got.stderr)
	}
}

// What runs inside a run counts for both, and once in the sums: a run with a limit of its own, and a question of Plimsoll's own agent.
func TestWhatRunsInsideCountsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url, asked := priced(t, nil)
	w.variables = []string{"OPENAI_API_KEY=" + key, "OPENAI_BASE_URL=" + url + "/v1"}
	script := fmt.Sprintf("%[1]s run --force --quiet --proxy --tokens-max 150k -- sh -c '%[2]s ask OPENAI_BASE_URL /chat/completions; %[2]s ask OPENAI_BASE_URL /chat/completions; %[2]s ask OPENAI_BASE_URL /chat/completions'; "+
		"%[1]s ask --quiet --model openai/gpt-4o 'how are you?'", plimsoll, testtool)
	report := filepath.Join(w.state, "report.json")
	got := w.run(nil, plimsoll, "run", "--force", "--quiet", "--proxy", "--tokens-max", "2M", "--report", report, "--", "sh", "-c", script)
	if got.status != 0 || strings.Count(got.stdout, "200 OK") != 2 || strings.Count(got.stdout, "400 Bad Request") != 1 || asked() != 3 {
		t.Errorf("%d requests; %d %s\n%s", asked(), got.status, got.stdout, got.stderr)
	}
	r := readReport(t, report)
	if i := slices.IndexFunc(r.Limits, func(l journal.Limit) bool { return l.Name == "tokens_max" }); i < 0 || r.Limits[i].Used != 3*101_000 {
		t.Errorf("the outer run has used %+v", r.Limits)
	}
	sums := w.run(nil, plimsoll, "spend", "--by", "day", "--json")
	var rows []struct {
		Input int64 `json:"input_tokens"`
	}
	if err := json.Unmarshal([]byte(sums.stdout), &rows); err != nil || len(rows) != 1 || rows[0].Input != 300_000 {
		t.Errorf("%v: %s", err, sums.stdout)
	}
}
