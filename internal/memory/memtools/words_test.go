package memtools_test

import (
	"context"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/memory/memtools"
)

// silent is a store whose service for embeddings does not answer.
type silent struct{ *memory.Store }

func (s silent) Search(ctx context.Context, q memory.Query) (memory.Results, error) {
	found, err := s.Store.Search(ctx, q)
	found.WordsOnly = "found by words only: the service for embeddings at http://127.0.0.1:1: no answer"
	return found, err
}

// TestWordsOnly: an agent is told that other words may be worth a try, and nothing of where the service is.
func TestWordsOnly(t *testing.T) {
	t.Parallel()
	_, store := open(t, memtools.Options{})
	add(t, store, memory.Record{Text: "the port is 8080"})
	set, err := memtools.New(memtools.Options{Store: silent{store}, Namespace: project})
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"which port", "which harbour"} {
		text, err := set.Search(t.Context(), memtools.SearchArguments{Query: query}, 0)
		if err != nil || !strings.Contains(text, "by words only") || strings.Contains(text, "127.0.0.1") {
			t.Errorf("%q, %v", text, err)
		}
	}
}
