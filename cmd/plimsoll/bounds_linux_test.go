package main

import (
	"slices"
	"testing"

	"github.com/plimsoll/plimsoll/journal"
)

// limitNamed finds a limit in a report or a decision.
func limitNamed(t *testing.T, rows []journal.Limit, name string) journal.Limit {
	t.Helper()
	i := slices.IndexFunc(rows, func(l journal.Limit) bool { return l.Name == name })
	if i < 0 {
		t.Fatalf("no limit %s in %+v", name, rows)
	}
	return rows[i]
}

// TestARunThatNobodyUses ends at its limit, in every layer; one that works goes on, also where it is a run inside that does.
func TestARunThatNobodyUses(t *testing.T) {
	t.Parallel()
	for _, layer := range layersHere() {
		t.Run(layer, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			r, o := s.report("--layer", layer, "--idle-max", "3s", "--grace", "500ms", "--", "sh", "-c", "sleep 600")
			if o.code != -1 || r.Outcome != journal.OutcomeLimit || r.LimitReached != "idle_max" || r.Signal != "SIGTERM" {
				t.Errorf("%s: status %d, %+v", layer, o.code, r)
			}
			if l := limitNamed(t, r.Limits, "idle_max"); l.Hard != 3000 || l.Soft != 2700 || l.Used < 3000 ||
				l.Reached != "hard" || l.Did != "ended the run" || l.EnforcedBy != "watched" {
				t.Errorf("%s: %+v", layer, l)
			}
			contains(t, layer, o.stderr, "nobody has used it for ", "and it is ended; for longer: --idle-max 6s",
				"nobody used it: --idle-max 6s, or idle_max in [tools.")
		})
	}
	// Processes that live for a moment, several at once and no nicer than others: a machine with more to do than processors must let some run.
	busy := "end=$(($(date +%s)+5)); while [ $(date +%s) -lt $end ]; do :; done"
	for what, command := range map[string][]string{
		"itself": {"sh", "-c", "n=0; while [ $n -lt 3000000 ]; do n=$((n+1)); done"}, "a child": {"sh", "-c", "for n in 1 2 3 4; do sh -c '" + busy + "' & done; wait; true"},
	} {
		t.Run(what+" works", func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			r, o := s.report(append([]string{"--layer", "monitor", "--cpu-weight", "100", "--idle-max", "3s", "--"}, command...)...)
			if o.code != 0 || r.Outcome != journal.OutcomeOK || limitNamed(t, r.Limits, "idle_max").Reached != "" {
				t.Errorf("%s works: status %d, %+v", what, o.code, r)
			}
		})
	}
	d := newSite(t).decision("--idle-max", "4h", "--", "true")
	if l := limitNamed(t, d.Limits, "idle_max"); l.Hard != 4*60*60*1000 || l.Soft != 4*54*60*1000 || l.Unit != "ms" {
		t.Errorf("the dry run has %+v", l)
	}
}

// TestARunLeftOverNight ends when its time is up, in every layer: asked first, then killed with
// what it started. The status stays the command's own.
func TestARunLeftOverNight(t *testing.T) {
	t.Parallel()
	for _, layer := range layersHere() {
		t.Run(layer, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			for _, c := range []struct {
				script string
				code   int // -1: it dies of the signal, and so do we
				signal string
			}{
				{"sleep 600", -1, "SIGTERM"},
				{"trap 'exit 9' TERM; sleep 600 & wait", 9, ""},
				{"trap '' TERM; while :; do sleep 1; done", 137, "SIGKILL"},
			} {
				r, o := s.report("--layer", layer, "--time-max", "1s", "--grace", "500ms", "--", "sh", "-c", c.script)
				if o.code != c.code || r.Outcome != journal.OutcomeLimit || r.LimitReached != "time_max" || r.Signal != c.signal {
					t.Errorf("%s %q: status %d, %+v", layer, c.script, o.code, r)
				}
				if l := limitNamed(t, r.Limits, "time_max"); l.Hard != 1000 || l.Used < 1000 ||
					l.Reached != "hard" || l.Did != "ended the run" || l.EnforcedBy != "watched" {
					t.Errorf("%s %q: %+v", layer, c.script, l)
				}
				contains(t, layer, o.stderr, "it has taken the 1.0 s that it may", "--time-max 2s")
			}
		})
	}
	d := newSite(t).decision("--time-max", "90m", "--", "true")
	if l := limitNamed(t, d.Limits, "time_max"); l.Hard != 90*60*1000 || l.Soft != 81*60*1000 || l.Unit != "ms" {
		t.Errorf("the dry run has %+v", l)
	}
}
