package compact_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/window/compact"
)

// What belongs to the task under way stays as it is, also where an earlier compaction has moved it.
func TestSince(t *testing.T) {
	for _, d := range dialects {
		steps := append(session(40, 1900), step{user: "Now the second task."})
		first := len(parse(t, d, body(d, steps[:len(steps)-1])).Messages)
		for range 12 {
			steps = append(steps, step{assistant: "Next file.", call: "read", result: strings.Repeat("the second task reads this line\n", 20)})
		}
		r := parse(t, d, body(d, steps))
		total := quarter(r).Total
		c := compact.New(compact.Options{})
		reads := func(body []byte) int { return strings.Count(string(body), "the second task reads this line") }
		whole := reads(r.Body)
		goal := compact.Goal{Target: total / 4, Limit: total, Trigger: total}
		if res := run(t, c, r, goal); reads(res.Request.Body) == whole {
			t.Errorf("%s: %v spared it without being asked", d, res.Rungs)
		}
		goal.Since = first
		res := run(t, c, r, goal)
		if got := reads(res.Request.Body); got != whole || !res.Changed() {
			t.Errorf("%s: %d of %d lines of the second task are left, %v", d, got, whole, res.Rungs)
		}
		made := compact.Checkpoint(view(t, r), &res, make([][16]byte, len(r.Messages)))
		v, err := compact.Replay(r, made)
		if err != nil {
			t.Fatal(err)
		}
		goal.Target = res.After - 50
		again, err := c.Compact(t.Context(), v, quarter, goal)
		if err != nil {
			t.Fatal(err)
		}
		if got := reads(again.Request.Body); got != whole {
			t.Errorf("%s: the second time %d of %d lines are left, %v", d, got, whole, again.Rungs)
		}
	}
}

// More is left of each result of a task that is done than of one of the task under way: nobody has it before their eyes any more.
func TestResultsOfTasksThatAreDoneAreQuotedMore(t *testing.T) {
	for _, d := range dialects {
		steps := session(60, 1900)
		for i := range 3 {
			steps = append(steps, step{assistant: "Which keys?", call: "read", result: strings.Repeat("nothing new here\n", 60) +
				fmt.Sprintf("key_alpha_%d7f3a is revoked\n", i) + strings.Repeat("nothing new here\n", 60) + fmt.Sprintf("key_beta_%d91bc took its place\n", i) + strings.Repeat("nothing new here\n", 60)})
		}
		steps = append(steps, step{user: "Now the second task."})
		r := parse(t, d, body(d, steps))
		total := quarter(r).Total
		held := func(body []byte) (n int) {
			for i := range 3 {
				for _, name := range []string{"key_alpha_%d7f3a", "key_beta_%d91bc"} {
					if strings.Contains(string(body), fmt.Sprintf(name, i)) {
						n++
					}
				}
			}
			return n
		}
		// So little that masks are all it takes.
		goal := compact.Goal{Target: total / 2, Limit: total, Trigger: total, Since: len(r.Messages) - 1}
		res := run(t, compact.New(compact.Options{}), r, goal)
		if !slices.Contains(res.Rungs, compact.RungMask) || slices.Contains(res.Rungs, compact.RungExtract) {
			t.Errorf("%s: %v made %d of %d", d, res.Rungs, res.After, total)
		}
		if n := held(res.Request.Body); n != 6 {
			t.Errorf("%s: %d of 6 lines are left of the results of a task that is done", d, n)
		}
	}
}

// A summary of a few turns has room for what was done in them.
func TestASummaryOfFewTurnsSaysSomething(t *testing.T) {
	for _, d := range dialects {
		steps := []step{{user: "The task: port the importer."}, {assistant: "First.", call: "edit", result: "The file internal/ledger/first_edit.go has been updated."}}
		steps = append(steps, session(80, 60)[1:]...)
		r := parse(t, d, body(d, steps))
		total := quarter(r).Total
		res := run(t, compact.New(compact.Options{}), r, compact.Goal{Target: total - 40, Limit: total, Trigger: total})
		text := string(res.Request.Body)
		if strings.Contains(text, "[Plimsoll: summary of") && !strings.Contains(text, "## ") {
			t.Errorf("%s: an empty summary took the place of %d messages", d, res.Messages)
		}
	}
}
