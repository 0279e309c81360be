package compact_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/window/wire"
)

// A session of a coding agent is compacted again and again: what it needs was masked first, then
// summarised, then summarised with the summary.
func TestWhatACodingAgentNeedsOutlivesManyCompactions(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	steps := []step{
		{user: "The task: port the importer to the new schema."},
		{assistant: "First the plan.", call: "update_plan", args: `{"plan":[{"step":"Old step","status":"pending"}]}`, result: "ok"},
	}
	for i := range 160 {
		steps = append(steps, step{assistant: fmt.Sprintf("Now I read file %d.", i), call: "read", args: fmt.Sprintf(`{"path":"gen/file_%d.go"}`, i), result: log(r, 1500)})
		switch i {
		case 10:
			steps = append(steps, step{call: "bash", args: `{"command":"go test ./ledger"}`, result: strings.Repeat("ok  \ta\t0.1s\n", 60) + "--- FAIL: TestRows (0.1s)\n    rows_test.go:12: got 3 rows, want 4\nFAIL"})
		case 20:
			steps = append(steps, step{call: "write_file", args: `{"path":"ledger/rows.go","content":"package ledger\n"}`, result: "ok"})
		case 30:
			steps = append(steps, step{
				assistant: "I keep the rows in a B-tree rather than in a map, because the report needs them in order.", call: "update_plan",
				args: `{"plan":[{"step":"Old step","status":"completed"},{"step":"Measure the B-tree","status":"pending"}]}`, result: "ok",
			})
		}
	}
	goal := compact.Goal{Target: 4000, Limit: 8000}
	for _, d := range dialects {
		whole := parse(t, d, body(d, steps))
		units := whole.Units()
		draft := whole.Draft()
		draft.DropMessages(units[0].To, len(whole.Messages))
		now := build(t, draft)
		compactions, rungs := 0, map[string]bool{}
		for _, u := range units[1:] {
			draft := now.Draft()
			for i := u.From; i < u.To; i++ {
				draft.InsertMessages(len(now.Messages), whole.Raw(whole.Messages[i].Span))
			}
			if now = build(t, draft); quarter(now).Total < goal.Limit*4/5 {
				continue
			}
			res := run(t, compact.New(compact.Options{}), now, goal)
			now = res.Request
			compactions++
			for _, rung := range res.Rungs {
				rungs[rung] = true
			}
		}
		if compactions < 5 || !rungs[compact.RungMask] || !rungs[compact.RungExtract] {
			t.Fatalf("%s: %d compactions, %v: the session tests nothing", d, compactions, rungs)
		}
		i := slices.IndexFunc(now.Messages, func(m wire.Message) bool { return strings.Contains(string(now.Raw(m.Span)), "[Plimsoll: summary of ") })
		if i < 0 {
			t.Fatalf("%s: no summary", d)
		}
		summary := now.Words(&now.Messages[i].Parts[0])
		for _, want := range []string{
			"$ go test ./ledger", "| rows_test.go:12: got 3 rows, want 4", "- ledger/rows.go\n", "[ ] Measure the B-tree", "[x] Old step",
			"I keep the rows in a B-tree rather than in a map, because the report needs them in order.",
		} {
			if !strings.Contains(summary, want) {
				t.Errorf("%s: lost after %d compactions: %s\n%s", d, compactions, want, summary)
			}
		}
		if strings.Contains(summary, "[ ] Old step") {
			t.Errorf("%s: a state of the plan that is gone:\n%s", d, summary)
		}
	}
}

func build(t *testing.T, d *wire.Draft) *wire.Request {
	t.Helper()
	r, err := d.Build()
	if err != nil {
		t.Fatal(err)
	}
	return r
}
