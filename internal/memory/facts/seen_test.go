package facts_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/plimsoll/plimsoll/internal/memory/facts"
)

// What was read is known to every process, at most so many of it, and a file that is cut anywhere loses one at most.
func TestSeen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := facts.NewReadSet(dir, 50)
	for i := range 220 {
		if err := s.Add(t.Context(), fmt.Sprint("id", i)); err != nil {
			t.Fatal(err)
		}
	}
	has, n, err := facts.NewReadSet(dir, 50).Load()
	if err != nil || n < 50 || n > 100 || !has("id219") || !has("id170") || has("id0") || has("other") {
		t.Errorf("%d, %v", n, err)
	}
	if k, err := s.Len(); k != n || err != nil {
		t.Errorf("%d, %v", k, err)
	}
	path := filepath.Join(dir, "read")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(text) {
		if err := os.WriteFile(path, text[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.Add(t.Context(), "one more"); err != nil {
			t.Fatal(err)
		}
		has, k, err := s.Load()
		if want := cut/16 + 1; err != nil || k != want || !has("one more") {
			t.Fatalf("cut at %d: %d of %d, %v", cut, k, want, err)
		}
	}
}
