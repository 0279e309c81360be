package memory_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory"
)

// TestUses: a record knows to whom it was given, one entry a conversation and the newest of them, also after its segment was written
// anew, it was edited, and another process asks.
func TestUses(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)
	s, err := memory.Open(memory.Options{Dir: dir, Clock: func() time.Time { now = now.Add(time.Minute); return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	id := add(t, s, memory.Record{Kind: memory.KindNote, Text: "the harbour opens at six"}).IDs[0]
	other := add(t, s, memory.Record{Text: "nobody asks for this"}).IDs[0]
	give := func(use memory.Use) {
		t.Helper()
		got, err := s.Get(t.Context(), id, 0)
		if err == nil {
			err = s.RecordUse(t.Context(), use, got...)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 * memory.MaxUses {
		use := memory.Use{How: memory.UsePrompt, Client: "claude", Run: "run-1", Conversation: fmt.Sprintf("talk-%d", i/2)}
		if i%2 == 1 {
			use.Conversation = "talk-0" // again and again
		}
		if i == 3*memory.MaxUses-2 {
			use.Client = strings.Repeat("é", 1000)
		}
		give(use)
		switch i {
		case 5:
			if _, err := s.GC(t.Context()); err != nil {
				t.Fatal(err)
			}
		case 11:
			if err := s.Update(t.Context(), memory.Record{ID: id, Kind: memory.KindNote, Origin: memory.OriginTool, Namespace: "project/x", Text: "the harbour opens at seven"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	give(memory.Use{How: memory.UseSearch, Client: "mcp"})
	for range 2 {
		uses, err := open(t, dir).Uses(t.Context(), id)
		if err != nil || len(uses) != memory.MaxUses || uses[0].How != memory.UseSearch || uses[0].Client != "mcp" || uses[1].Conversation != "talk-0" || !uses[1].At.Before(uses[0].At) {
			t.Fatalf("%+v, %v", uses, err)
		}
		if n := len(uses[2].Client); n == 0 || n > 256 {
			t.Errorf("a name of %d bytes is kept", n)
		}
		seen := map[string]bool{}
		for _, u := range uses {
			if seen[u.Conversation] {
				t.Errorf("%s stands there twice", u.Conversation)
			}
			seen[u.Conversation] = true
		}
		if _, err := s.GC(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if uses, err := s.Uses(t.Context(), other); err != nil || len(uses) != 0 {
		t.Errorf("%+v, %v", uses, err)
	}
	if _, err := s.Uses(t.Context(), strings.Repeat("0", 26)); !errors.Is(err, memory.ErrNotFound) {
		t.Error(err)
	}
}

// TestGiven: what was given to whom stands there newest first, with the words that it was found by; a forget takes these along.
func TestGiven(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)
	s, err := memory.Open(memory.Options{Dir: dir, Clock: func() time.Time { now = now.Add(time.Minute); return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	harbour := add(t, s, memory.Record{Namespace: "user", Kind: memory.KindNote, Text: "the harbour opens at six"}).IDs[0]
	ships := add(t, s, memory.Record{Text: "ships leave on Fridays"}).IDs[0]
	asked := add(t, s, memory.Record{Text: "zeppelin"}).IDs[0]
	give := func(use memory.Use, ids ...string) {
		t.Helper()
		for _, id := range ids {
			got, err := s.Get(t.Context(), id, 0)
			if err == nil {
				err = s.RecordUse(t.Context(), use, got...)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	give(memory.Use{How: memory.UsePrompt, Client: "claude", Conversation: "one", Run: "run-1", Words: "harbour opens", Score: 1.5}, harbour)
	give(memory.Use{How: memory.UsePrompt, Client: "claude", Conversation: "two", Words: "ships zeppelin", Score: 2}, ships)
	give(memory.Use{How: memory.UseSearch, Client: "mcp", Conversation: "one"}, ships)
	give(memory.Use{How: memory.UsePrompt, Client: "claude", Conversation: "one", Run: "run-1", Words: "harbour six", Score: 3}, harbour)
	for _, c := range []struct {
		to   memory.GivenFilter
		want string
	}{
		{memory.GivenFilter{}, "harbour/harbour six ships/ ships/ships zeppelin"},
		{memory.GivenFilter{Limit: 1}, "harbour/harbour six"},
		{memory.GivenFilter{Run: "run-1"}, "harbour/harbour six"},
		{memory.GivenFilter{Conversation: "one"}, "harbour/harbour six ships/"},
		{memory.GivenFilter{Conversation: "three"}, ""},
	} {
		for _, s := range []*memory.Store{s, open(t, dir)} {
			list, err := s.Given(t.Context(), c.to)
			var got []string
			for _, g := range list {
				got = append(got, map[string]string{harbour: "harbour", ships: "ships"}[g.Record.ID]+"/"+g.Use.Words)
			}
			if err != nil || strings.Join(got, " ") != c.want {
				t.Errorf("%+v: %q, want %q; %v", c.to, got, c.want, err)
			}
		}
	}
	if _, err := s.GC(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Forget(t.Context(), memory.Filter{IDs: []string{harbour, asked}}); err != nil {
		t.Fatal(err)
	}
	list, err := s.Given(t.Context(), memory.GivenFilter{})
	if err != nil || len(list) != 2 || list[0].Record.ID != ships || list[1].Use.Words != "" || list[1].Use.Score != 2 {
		t.Errorf("%+v, %v", list, err)
	}
	for _, words := range []string{"harbour", "zeppelin"} {
		if files := filesWith(t, dir, words); len(files) > 0 {
			t.Errorf("%s stands in %q", words, files)
		}
	}
}
