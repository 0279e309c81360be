package checkpoint_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/journal"
)

// A directory in the way of the scope's stands for a disk that takes nothing any more.
func TestAFullDiskCostsOnlyThePersistence(t *testing.T) {
	dir := t.TempDir()
	j := journal.New(journal.Options{})
	s := open(t, checkpoint.Options{Dir: dir, Journal: j})
	scope, chain := s.Scope(nil), digests("a", 40)
	block := filepath.Join(dir, scope.String())
	if err := os.WriteFile(block, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for covers := 10; covers < 40; covers += 10 {
		if got, err := s.Put(scope, made(chain, covers, covers/10), cutOf("c", "x")); err == nil || got == nil {
			t.Fatalf("%v, %v", got, err)
		}
		if got := checkpoint.Lookup(s, scope, chain); got == nil || got.Covers != covers {
			t.Fatalf("not in memory either: %+v", got)
		}
	}
	if got := slices.Collect(j.Since(0)); len(got) != 1 || got[0].Event.(journal.WindowStore).Reason != "full" {
		t.Errorf("one event when it begins, got %v", got)
	}
	if err := os.Remove(block); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(scope, made(chain, 35, 4), cutOf("c", "x")); err != nil {
		t.Error(err)
	}
	if got := s.Stats(); got.Failed != 3 || got.Stored != 4 {
		t.Errorf("%+v", got)
	}
}

func TestBoundsOfTheDirectory(t *testing.T) {
	dir := t.TempDir()
	j := journal.New(journal.Options{})
	s := open(t, checkpoint.Options{Dir: dir, MaxFiles: 20, Journal: j})
	chain := digests("a", 90)
	for covers := 2; covers < 82; covers++ {
		if _, err := s.Put(s.Scope(nil), made(chain, covers, covers), cutOf("c", "x")); err != nil {
			t.Fatal(err)
		}
		if n := len(files(t, dir, "")); n > 20+1 {
			t.Fatalf("%d files beside the key, 20 are allowed", n-1)
		}
	}
	if s.Stats().Evicted < 100 || checkpoint.Lookup(s, s.Scope(nil), chain) == nil {
		t.Errorf("%+v; the newest has to stay", s.Stats())
	}
	noise := make([]byte, 20_000)
	for i := range noise {
		noise[i] = byte(i * i >> 3 * (i % 251))
	}
	bytesDir := t.TempDir()
	s = open(t, checkpoint.Options{Dir: bytesDir, MaxBytes: 64 << 10, Journal: j})
	for covers := 2; covers < 42; covers++ {
		if _, err := s.Put(s.Scope(nil), made(chain, covers, covers), cutOf("c", string(noise))); err != nil {
			t.Fatal(err)
		}
	}
	var total int64
	for _, path := range files(t, bytesDir, "") {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if total > 64<<10 {
		t.Errorf("%d bytes on the disk", total)
	}
	if list, err := s.List(); err != nil || len(list) == 0 || !list[0].Incomplete {
		t.Errorf("a text over an eighth of the bound is kept whole, or none: %v, %v", list, err)
	}
	// Age: by last use.
	old := time.Now().Add(-8 * 24 * time.Hour)
	for _, path := range files(t, dir, "") {
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	open(t, checkpoint.Options{Dir: dir, Journal: j})
	if n := len(files(t, dir, "")); n != 1 {
		t.Errorf("%d files are left of those not used for 8 days, want the key", n)
	}
	reasons := map[string]bool{}
	for r := range j.Since(0) {
		reasons[r.Event.(journal.WindowStore).Reason] = true
	}
	for _, want := range []string{"count", "bytes", "age"} {
		if !reasons[want] {
			t.Errorf("nothing journalled about %s: %v", want, reasons)
		}
	}
}

func TestUseKeepsACheckpointYoung(t *testing.T) {
	dir := t.TempDir()
	s := open(t, checkpoint.Options{Dir: dir})
	scope, chain := s.Scope(nil), digests("a", 9)
	if _, err := s.Put(scope, made(chain, 9, 1), checkpoint.Cut{}); err != nil {
		t.Fatal(err)
	}
	path := files(t, dir, ".ck")[0]
	old := time.Now().Add(-6 * 24 * time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	if checkpoint.Lookup(s, scope, chain) == nil {
		t.Fatal("lost")
	}
	if info, err := os.Stat(path); err != nil || time.Since(info.ModTime()) > time.Hour {
		t.Errorf("its time is %v, %v", info.ModTime(), err)
	}
}

func TestBoundOfTheMemory(t *testing.T) {
	j := journal.New(journal.Options{})
	s := open(t, checkpoint.Options{MemoryBytes: 4 << 10, Journal: j})
	chain := digests("a", 200)
	for covers := 2; covers < 200; covers++ {
		if _, err := s.Put(s.Scope(nil), made(chain, covers, covers), checkpoint.Cut{}); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Stats(); got.Evicted < 150 || checkpoint.Lookup(s, s.Scope(nil), chain) == nil {
		t.Errorf("%+v", got)
	}
	huge := made(digests("b", 5), 5, 1)
	huge.Patches[0].With = [][]byte{bytes.Repeat([]byte("x"), 1<<20)}
	if _, err := s.Put(s.Scope(nil), huge, checkpoint.Cut{}); err != nil || checkpoint.Lookup(s, s.Scope(nil), digests("b", 5)) != huge {
		t.Errorf("the newest does not stay: %v", err)
	}
}
