package memory_test

import (
	"errors"
	"testing"

	"github.com/plimsoll/plimsoll/internal/memory"
)

// TestWhatIsGoneMayComeAgain: a record that was removed, and words that an update replaced, are no duplicates of anything.
func TestWhatIsGoneMayComeAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func() *memory.Store {
		s, err := memory.Open(memory.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	s, other := open(), open()
	note := func(s *memory.Store, text string) (id string, isNew bool) {
		t.Helper()
		got, err := s.Add(t.Context(), memory.Record{Kind: memory.KindNote, Origin: memory.OriginAgent, Namespace: "user", Text: text, Source: memory.Source{File: "/memories/a"}})
		if err != nil || len(got.IDs) != 1 {
			t.Fatal(got, err)
		}
		return got.IDs[0], got.New == 1
	}
	id, _ := note(s, "first")
	if _, isNew := note(other, "first"); isNew {
		t.Fatal("it is there twice")
	}
	if err := s.Update(t.Context(), memory.Record{ID: id, Kind: memory.KindNote, Origin: memory.OriginAgent, Namespace: "user", Text: "second"}); err != nil {
		t.Fatal(err)
	}
	for _, store := range []*memory.Store{s, other} {
		again, isNew := note(store, "first")
		if !isNew {
			t.Error("the words before an update count as there")
		}
		found, err := store.List(t.Context(), memory.Filter{Namespaces: []string{"user"}, File: "/memories/a"})
		if err != nil || len(found.Records) != 1 || found.Records[0].ID != again {
			t.Errorf("%+v, %v", found, err)
		}
		if err := store.Remove(t.Context(), again); err != nil {
			t.Fatal(err)
		}
		if err := store.Remove(t.Context(), again); !errors.Is(err, memory.ErrNotFound) {
			t.Error(err)
		}
	}
}
