package app_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/app/watch"
	"github.com/plimsoll/plimsoll/internal/app/window"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/journal"
)

func TestWindowCutsCanBeListedReadAndForgotten(t *testing.T) {
	home := t.TempDir()
	a := newCore(t, home, "PLIMSOLL_STATE_DIR="+home)
	if cuts, err := watch.Cuts(a, ""); err != nil || len(cuts) != 0 {
		t.Fatalf("before anything was kept: %v, %v", cuts, err)
	}
	store, err := checkpoint.Open(checkpoint.Options{Dir: filepath.Join(home, "window", "conversations")})
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{"{\"role\":\"user\"}\n", "{\"role\":\"tool\"}\n"} {
		c := &checkpoint.Checkpoint{Chain: checkpoint.Digest{byte(i + 1)}, Covers: 3, Generation: 1, Patches: []checkpoint.Patch{{From: 1, To: 2, With: [][]byte{[]byte(`{}`)}}}}
		cut := checkpoint.Cut{Entry: checkpoint.Entry{Conversation: []string{"aaaa", "bbbb"}[i], Time: time.Unix(int64(1000+i), 0), Model: "m", Messages: 1}, Text: []byte(text)}
		if _, err := store.Put(store.Scope([]byte("key")), c, cut); err != nil {
			t.Fatal(err)
		}
	}
	cuts, err := watch.Cuts(a, "")
	if err != nil || len(cuts) != 2 || cuts[0].Conversation != "bbbb" {
		t.Fatalf("%+v, %v", cuts, err)
	}
	one, err := watch.Cuts(a, "aa")
	if err != nil || len(one) != 1 {
		t.Fatalf("%+v, %v", one, err)
	}
	if cut, err := window.ReadCut(a, one[0].ID); err != nil || string(cut.Text) != "{\"role\":\"user\"}\n" {
		t.Errorf("%q, %v", cut.Text, err)
	}
	if _, err := watch.Cuts(a, "zz"); err == nil || !strings.Contains(err.Error(), `the ID "zz"; plimsoll runs --cuts lists`) {
		t.Errorf("an unknown ID: %v", err)
	}
	w := runs.Begin(runs.Options{Dir: home}, runs.Header{ID: "rrrr00000001", Kind: runs.KindRun, Report: journal.Report{Tool: "claude", Project: "shop"}})
	j := journal.New(journal.Options{Observers: []journal.Observer{w}})
	j.Append(journal.WindowCompacted{Model: "m", Checkpoint: one[0].ID, Before: 10, After: 5})
	if err := w.End(journal.Report{Tool: "claude", Project: "shop", Outcome: "ok"}); err != nil {
		t.Fatal(err)
	}
	for _, of := range []string{"rrrr00000001", "rrrr", "last"} {
		if cuts, err := watch.Cuts(a, of); err != nil || len(cuts) != 1 || cuts[0].ID != one[0].ID {
			t.Errorf("of the run %s: %+v, %v", of, cuts, err)
		}
	}
	for _, dry := range []bool{true, false} {
		c, err := app.GC(t.Context(), a, app.GCOptions{Conversations: true, DryRun: dry})
		if err != nil || len(c.Removed) != 2 || c.Removed[0].Kind != "conversation" {
			t.Errorf("gc: %+v, %v", c, err)
		}
		left, err := watch.Cuts(a, "")
		if want := map[bool]int{true: 2, false: 0}[dry]; err != nil || len(left) != want {
			t.Errorf("after gc (dry run: %v) %d are left, %v", dry, len(left), err)
		}
	}
}
