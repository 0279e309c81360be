package checkpoint_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/window/compact/checkpoint"
)

// TestFreeze: what is frozen for single messages comes back for every longer conversation, in another process too, stays as it was
// first, and leaves no entry among the cuts.
func TestFreeze(t *testing.T) {
	dir := t.TempDir()
	open := func() *checkpoint.Store {
		t.Helper()
		s, err := checkpoint.Open(checkpoint.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	scope := s.Scope([]byte("somebody"))
	chain := make([]checkpoint.Digest, 9)
	for i := range chain {
		chain[i] = checkpoint.Digest{byte(i + 1)}
	}
	freeze := func(s *checkpoint.Store, at int, text string) string {
		t.Helper()
		c, err := s.Freeze(scope, &checkpoint.Checkpoint{
			Chain: chain[at], Covers: at + 1, Generation: 1, Patches: []checkpoint.Patch{{From: at, To: at, With: [][]byte{[]byte(text)}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return string(c.Patches[0].With[0])
	}
	for _, at := range []int{0, 4, 8} {
		freeze(s, at, "first")
	}
	other := open()
	if got := freeze(other, 4, "second"); got != "first" {
		t.Errorf("the second one got %q", got)
	}
	for _, s := range []*checkpoint.Store{s, other, open()} {
		got := checkpoint.Each(s, scope, chain[:8])
		if len(got) != 2 || got[0].Covers != 1 || got[1].Covers != 5 || string(got[1].Patches[0].With[0]) != "first" {
			t.Errorf("found %+v", got)
		}
		if len(checkpoint.Each(s, s.Scope([]byte("another")), chain)) > 0 {
			t.Error("another credential finds it")
		}
		if list, err := s.List(); err != nil || len(list) > 0 {
			t.Errorf("%d entries, %v", len(list), err)
		}
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
	for _, f := range files {
		if info, err := os.Stat(f); err != nil || info.Mode().Perm() != 0o600 || !strings.HasSuffix(f, ".ck") {
			t.Errorf("%s: %v", f, err)
		}
	}
	var none *checkpoint.Store
	if c, err := none.Freeze(scope, &checkpoint.Checkpoint{}); c == nil || err != nil || checkpoint.Each(none, scope, chain) != nil {
		t.Error("a store that keeps nothing")
	}
}

// TestForget: what holds the words goes, with its checkpoint and its cuts, and the rest stays.
func TestForget(t *testing.T) {
	dir := t.TempDir()
	s, err := checkpoint.Open(checkpoint.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	scope := s.Scope([]byte("somebody"))
	put := func(n byte, patch, cut string) {
		t.Helper()
		c := &checkpoint.Checkpoint{Chain: checkpoint.Digest{n}, Covers: 1, Generation: 1, Patches: []checkpoint.Patch{{From: 0, To: 1, With: [][]byte{[]byte(patch)}}}}
		if cut == "" {
			_, err = s.Freeze(scope, c)
		} else {
			_, err = s.Put(scope, c, checkpoint.Cut{Text: []byte(cut), Entry: checkpoint.Entry{Conversation: "c"}})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put(1, "a summary", "the harbour opens at six")
	put(2, "it said that the harbour opens at six", "something else")
	put(3, "[the harbour opens at six]", "")
	put(4, "a summary", "nothing of it")
	holds := func(text []byte) bool { return strings.Contains(string(text), "harbour opens") }
	would, err := s.Forget(holds, true)
	if all, _ := filepath.Glob(filepath.Join(dir, "*", "*")); err != nil || len(would) != 5 || len(all) != 7 {
		t.Errorf("%q of %q would go, %v", would, all, err)
	}
	gone, err := s.Forget(holds, false)
	if err != nil || !slices.Equal(gone, would) {
		t.Errorf("%q, %v", gone, err)
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
	if len(left) != 2 {
		t.Errorf("left: %q", left)
	}
	if got := checkpoint.Each(s, scope, []checkpoint.Digest{{4}}); len(got) != 1 {
		t.Errorf("%d checkpoints are found", len(got))
	}
	if got := checkpoint.Each(s, scope, []checkpoint.Digest{{3}}); len(got) != 0 {
		t.Error("one is found that was forgotten")
	}
}
