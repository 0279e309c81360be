package main

import (
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/watch"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
)

// A run that went on although a build in it was killed says so in its line, and is found by --killed.
func TestTheListShowsKills(t *testing.T) {
	now := time.Now()
	entry := func(id, outcome string, killed int) watch.Entry {
		e := runs.Entry{ID: id, Started: now, Tool: "claude", Project: "shop"}
		e.Outcome, e.KilledChildren = outcome, killed
		return e
	}
	list := []watch.Entry{entry("quiet", "ok", 0), entry("lucky", "ok", 2), entry("dead", string(journal.OutcomeOOM), 1)}
	var out strings.Builder
	if err := printRuns(&out, list, 50, now); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ok, 2 killed", "oom  "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "WINDOW") {
		t.Errorf("a column without anything in it:\n%s", out.String())
	}
	var found []string
	for i := range list {
		if (watch.Filter{Killed: true}).Takes(&list[i]) {
			found = append(found, list[i].ID)
		}
	}
	if strings.Join(found, " ") != "lucky dead" {
		t.Errorf("killed: %q", found)
	}
}

func TestSinceADay(t *testing.T) {
	now := time.Date(2026, 3, 1, 15, 4, 5, 0, time.Local)
	for text, want := range map[string]time.Time{
		"today": time.Date(2026, 3, 1, 0, 0, 0, 0, time.Local), "yesterday": time.Date(2026, 2, 28, 0, 0, 0, 0, time.Local),
		"2026-02-27": time.Date(2026, 2, 27, 0, 0, 0, 0, time.Local), "90m": now.Add(-90 * time.Minute), "2d": now.Add(-48 * time.Hour),
	} {
		if got, err := parseSince(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	if _, err := parseSince("tomorrow", now); err == nil {
		t.Error("tomorrow")
	}
}
