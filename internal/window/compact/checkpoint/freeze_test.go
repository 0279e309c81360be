package checkpoint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
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
			Chain: chain[at], Covers: at + 1, Patches: []checkpoint.Patch{{From: at, To: at + 1, With: [][]byte{[]byte(text)}}}, Recalled: []string{text},
		}, nil)
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
		got := checkpoint.Log(s, scope, chain[:8], 0)
		if len(got) != 2 || got[0].Covers != 1 || got[1].Covers != 5 || string(got[1].Patches[0].With[0]) != "first" || got[1].Recalled[0] != "first" {
			t.Errorf("found %+v", got)
		}
		if len(checkpoint.Log(s, s.Scope([]byte("another")), chain, 0)) > 0 {
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
	if c, err := none.Freeze(scope, &checkpoint.Checkpoint{}, nil); c == nil || err != nil || checkpoint.Log(none, scope, chain, 0) != nil {
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
			_, err = s.Freeze(scope, c, nil)
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
	if got := checkpoint.Log(s, scope, []checkpoint.Digest{{4}}, 0); len(got) != 1 {
		t.Errorf("%d checkpoints are found", len(got))
	}
	if got := checkpoint.Log(s, scope, []checkpoint.Digest{{3}}, 0); len(got) != 0 {
		t.Error("one is found that was forgotten")
	}
}

// TestLog: a log is the newest cut and the decisions about what it does not cover; what is known to be untouched is not looked for.
func TestLog(t *testing.T) {
	t.Parallel()
	s, err := checkpoint.Open(checkpoint.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	scope := s.Scope([]byte("somebody"))
	chain := make([]checkpoint.Digest, 12)
	for i := range chain {
		chain[i] = checkpoint.Digest{byte(i + 1)}
	}
	at := func(i, covers, generation int) *checkpoint.Checkpoint {
		return &checkpoint.Checkpoint{
			Chain: chain[covers-1], Covers: covers, Generation: generation,
			Patches: []checkpoint.Patch{{From: i, To: i + 1, With: [][]byte{fmt.Appendf(nil, `{"generation":%d,"of":%d}`, generation, covers)}}},
		}
	}
	for _, covers := range []int{2, 6, 7, 10} {
		if _, err := s.Freeze(scope, at(covers-1, covers, 0), nil); err != nil {
			t.Fatal(err)
		}
	}
	for i, covers := range []int{4, 6} {
		if _, err := s.Put(scope, at(0, covers, i+1), checkpoint.Cut{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		messages, untouched int
		want                []int // covers of each entry, negative for a cut
	}{
		{12, 0, []int{-6, 7, 10}}, {12, 7, []int{10}}, {9, 0, []int{-6, 7}}, {6, 0, []int{-6}}, {5, 0, []int{-4}}, {3, 0, []int{2}}, {1, 0, nil}, {12, 12, nil},
	} {
		var got []int
		for _, e := range checkpoint.Log(s, scope, chain[:c.messages], c.untouched) {
			if e.Generation > 0 {
				got = append(got, -e.Covers)
			} else {
				got = append(got, e.Covers)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%d messages, %d of them untouched: %v, want %v", c.messages, c.untouched, got, c.want)
		}
	}
}
