package checkpoint_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/journal"
)

// digests are those of a conversation of n messages.
func digests(name string, n int) [][16]byte {
	var chain [][16]byte
	for i := range n {
		h := sha256.Sum256(fmt.Appendf(nil, "%s/%d", name, i))
		chain = append(chain, [16]byte(h[:16]))
	}
	return chain
}

func made(chain [][16]byte, covers, generation int) *checkpoint.Checkpoint {
	return &checkpoint.Checkpoint{
		Chain: chain[covers-1], Covers: covers, Generation: generation,
		Patches: []checkpoint.Patch{
			{From: 1, To: covers - 1, With: [][]byte{fmt.Appendf(nil, `{"role":"user","content":"summary %d of %d"}`, generation, covers)}},
			{From: covers, To: covers},
		},
	}
}

func cutOf(conversation, text string) checkpoint.Cut {
	return checkpoint.Cut{
		Entry: checkpoint.Entry{Conversation: conversation, Time: time.Date(2026, 11, 20, 1, 2, 3, 0, time.UTC), Model: "m", Dialect: "chat", Rungs: []string{"mask"}, Before: 900, After: 400, Messages: 3, CutBytes: int64(len(text))},
		Text:  []byte(text),
	}
}

func open(t *testing.T, o checkpoint.Options) *checkpoint.Store {
	t.Helper()
	s, err := checkpoint.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func files(t *testing.T, dir, end string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, end) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestTheLongestKnownChainIsFound(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		s := open(t, checkpoint.Options{Dir: dir})
		scope, chain := s.Scope([]byte("sk-1")), digests("a", 30)
		for _, c := range []*checkpoint.Checkpoint{made(chain, 5, 1), made(chain, 20, 2)} {
			if got, err := s.Put(scope, c, checkpoint.Cut{}); got != c || err != nil {
				t.Fatalf("%v, %v", got, err)
			}
		}
		for n, want := range map[int]int{4: 0, 5: 5, 19: 5, 20: 20, 30: 20} {
			got := 0
			if c := checkpoint.Lookup(s, scope, chain[:n]); c != nil {
				got = c.Covers
			}
			if got != want {
				t.Errorf("dir %q: of %d messages %d are covered, want %d", dir, n, got, want)
			}
		}
		if c := checkpoint.Lookup(s, s.Scope([]byte("sk-2")), chain); c != nil {
			t.Error("another credential got a checkpoint")
		}
		if c := checkpoint.Lookup(s, scope, digests("b", 30)); c != nil {
			t.Error("another conversation got a checkpoint")
		}
	}
}

func TestASecondStoreSendsTheSameBytes(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, checkpoint.Options{Dir: dir}), open(t, checkpoint.Options{Dir: dir})
	scope, chain := a.Scope([]byte("key")), digests("a", 50)
	if b.Scope([]byte("key")) != scope {
		t.Fatal("two stores of one directory name a credential differently")
	}
	for covers := 5; covers < 50; covers += 5 { // b sees each of a's, though it has read the directory before
		want, err := a.Put(scope, made(chain, covers, covers/5), cutOf("c", "x"))
		if err != nil {
			t.Fatal(err)
		}
		if got := checkpoint.Lookup(b, scope, chain); !reflect.DeepEqual(got, want) {
			t.Fatalf("covers %d: got %+v", covers, got)
		}
	}
	// The first one to make a checkpoint wins, a later generation replaces it.
	mine, theirs := made(chain, 48, 11), made(chain, 48, 11)
	mine.Patches[0].With = [][]byte{[]byte(`{"mine":1}`)}
	if _, err := a.Put(scope, theirs, cutOf("c", "x")); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Put(scope, mine, cutOf("c", "x")); err != nil || !reflect.DeepEqual(got, theirs) {
		t.Errorf("the second writer goes on with %+v, %v", got, err)
	}
	theirs.Tokens, mine.Tokens = 1000, 950
	if got, err := b.Put(scope, mine, cutOf("c", "x")); err != nil || got == mine {
		t.Errorf("a little smaller: %+v, %v", got, err)
	}
	mine.Generation = 12
	if got, err := b.Put(scope, mine, cutOf("c", "x")); err != nil || got != mine {
		t.Errorf("a later generation: %+v, %v", got, err)
	}
	if got := checkpoint.Lookup(a, scope, chain); !reflect.DeepEqual(got, mine) {
		t.Errorf("the first store still has %+v", got)
	}
	// What a provider refused, and was made smaller for, is not sent again.
	small := made(chain, 48, 12)
	small.Tokens = 500
	if got, err := a.Put(scope, small, cutOf("c", "x")); err != nil || got != small {
		t.Errorf("a much smaller one: %+v, %v", got, err)
	}
	if got := checkpoint.Lookup(b, scope, chain); !reflect.DeepEqual(got, small) {
		t.Errorf("the second store still has %+v", got)
	}
	mine = small
	again := open(t, checkpoint.Options{Dir: dir}) // a restart
	if got := checkpoint.Lookup(again, scope, chain); !reflect.DeepEqual(got, mine) {
		t.Errorf("after a restart %+v", got)
	}
}

func TestFilesArePrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no mode bits")
	}
	dir := filepath.Join(t.TempDir(), "conversations")
	s := open(t, checkpoint.Options{Dir: dir})
	if _, err := s.Put(s.Scope([]byte("sk-secret")), made(digests("a", 9), 9, 1), cutOf("c", "text")); err != nil {
		t.Fatal(err)
	}
	n := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		want := os.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		} else {
			n++
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s is %v, want %v", path, info.Mode().Perm(), want)
		}
		if strings.Contains(path, "secret") {
			t.Errorf("the credential is in a name: %s", path)
		}
		return err
	})
	if err != nil || n != 3 {
		t.Errorf("%d files, %v: want the key, a checkpoint and a cut", n, err)
	}
}

// A writer may die after any byte: what it leaves is either whole or known to be damaged.
func TestTruncatedFilesAreSetAside(t *testing.T) {
	dir := t.TempDir()
	s := open(t, checkpoint.Options{Dir: dir})
	scope, chain := s.Scope(nil), digests("a", 9)
	want, err := s.Put(scope, made(chain, 9, 1), cutOf("c", "the text that was cut"))
	if err != nil {
		t.Fatal(err)
	}
	ck, cut := files(t, dir, ".ck")[0], files(t, dir, ".cut")[0]
	for _, path := range []string{ck, cut} {
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for n := range len(whole) {
			if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
				t.Fatal(err)
			}
			j := journal.New(journal.Options{})
			one := open(t, checkpoint.Options{Dir: dir, Journal: j})
			got := checkpoint.Lookup(one, scope, chain)
			read, err := one.Read(checkpoint.EntryID(want))
			damaged, _ := filepath.Glob(path + ".damaged-*")
			if path == ck && (got != nil || err != nil) || path == cut && (got == nil || err == nil || len(read.Text) > 0) {
				t.Fatalf("%s cut at byte %d: %v, %v", filepath.Ext(path), n, got, err)
			}
			if len(damaged) != 1 || one.Stats().Damaged != 1 {
				t.Fatalf("byte %d: not set aside, or not counted: %q, %+v", n, damaged, one.Stats())
			}
			if r := slices.Collect(j.Since(0)); len(r) != 1 || r[0].Event.(journal.WindowStore).Reason != "damaged" {
				t.Fatalf("journalled: %v", r)
			}
			if err := os.Remove(damaged[0]); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := checkpoint.Lookup(open(t, checkpoint.Options{Dir: dir}), scope, chain); !reflect.DeepEqual(got, want) {
		t.Errorf("the whole file is %+v", got)
	}
}

func TestEntries(t *testing.T) {
	dir := t.TempDir()
	s := open(t, checkpoint.Options{Dir: dir})
	a, b := digests("a", 20), digests("b", 20)
	text := strings.Repeat(`{"role":"tool","content":"long ago"}`+"\n", 1000)
	for i, c := range []*checkpoint.Checkpoint{made(a, 5, 1), made(a, 9, 2), made(b, 7, 1)} {
		cut := cutOf([]string{"aaaa", "aaaa", "bbbb"}[i], text)
		cut.Time = cut.Time.Add(time.Duration(i) * time.Hour)
		if _, err := s.Put(s.Scope(nil), c, cut); err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.List()
	if err != nil || len(list) != 3 || list[0].Conversation != "bbbb" || list[2].ID != checkpoint.EntryID(made(a, 5, 1)) {
		t.Fatalf("%+v, %v", list, err)
	}
	if list[0].StoredBytes <= 0 || list[0].StoredBytes > int64(len(text))/10 {
		t.Errorf("%d bytes for %d bytes of repetition", list[0].StoredBytes, len(text))
	}
	cut, err := s.Read(list[1].ID)
	if err != nil || string(cut.Text) != text || !reflect.DeepEqual(cut.Entry, list[1]) {
		t.Errorf("%v\n%+v\n%+v", err, cut.Entry, list[1])
	}
	for _, id := range []string{"", "x", "-", "000000000000-1", "../../etc-1", list[0].ID + "9"} {
		if _, err := s.Read(id); !errors.Is(err, checkpoint.ErrUnknown) {
			t.Errorf("Read(%q): %v", id, err)
		}
	}
	if n, _, err := s.Remove(checkpoint.Which{}); n != 0 || err != nil {
		t.Errorf("the zero Which removed %d, %v", n, err)
	}
	if n, _, err := s.Remove(checkpoint.Which{Conversation: "aaaa", OlderThan: time.Hour}); n != 0 || err != nil {
		t.Errorf("something young was removed: %d, %v", n, err)
	}
	if n, size, err := s.Remove(checkpoint.Which{Conversation: "aaaa"}); n != 4 || size == 0 || err != nil {
		t.Errorf("removed %d, %d bytes, %v", n, size, err)
	}
	if checkpoint.Lookup(s, s.Scope(nil), a) != nil || checkpoint.Lookup(s, s.Scope(nil), b) == nil {
		t.Error("the wrong one is gone")
	}
	if n, _, err := s.Remove(checkpoint.Which{All: true}); n != 2 || err != nil {
		t.Errorf("removed %d, %v", n, err)
	}
}

func TestANilStoreKeepsNothing(t *testing.T) {
	var s *checkpoint.Store
	chain := digests("a", 5)
	c := made(chain, 5, 1)
	if got, err := s.Put(s.Scope([]byte("k")), c, cutOf("c", "x")); got != c || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	if checkpoint.Lookup(s, checkpoint.Scope{}, chain) != nil {
		t.Error("found")
	}
	if list, err := s.List(); len(list) > 0 || err != nil {
		t.Errorf("%v, %v", list, err)
	}
	unlock, err := s.Lock(t.Context(), checkpoint.Scope{}, "c")
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}
