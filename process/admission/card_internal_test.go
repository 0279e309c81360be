package admission

import (
	"encoding/json"
	"os"
	"testing"
	"time"
)

// TestCardFollowsItsFile: what is known of a claim file is used while it is the same file, and never when it is another.
func TestCardFollowsItsFile(t *testing.T) {
	l := unopened(t.TempDir())
	if err := os.MkdirAll(l.claimsDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	id := "aaaabbbbcccc"
	write := func(tool, remains string, at time.Time) {
		t.Helper()
		c := claimFile{Entry: &entry{ID: id, State: Holding, Tool: tool, Since: time.Unix(1, 0)}, Remains: json.RawMessage(remains)}
		if err := l.writeClaimFile(c); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(l.claimFilePath(id), at, at); err != nil {
			t.Fatal(err)
		}
	}
	want := func(tool, remains string, kept bool) {
		t.Helper()
		c, err := l.readCard(id)
		if err != nil || c.tool != tool || string(c.remains) != remains {
			t.Errorf("%q, %s, %v; want %q, %s", c.tool, c.remains, err, tool, remains)
		}
		if _, is := l.cards.known[id]; is != kept {
			t.Errorf("%s is kept: %v, want %v", tool, is, kept)
		}
	}
	old := time.Now().Add(-time.Hour)
	write("one", "1", old)
	want("one", "1", true)
	want("one", "1", true)
	write("two", "2", old) // of the same size and time
	want("two", "2", true)
	write("two", "3", time.Now()) // another may take its place within a tick of the clock
	want("two", "3", false)
	write("two", "4", time.Now())
	want("two", "4", false)

	write("six", "6", old)
	want("six", "6", true)
	l.cards.dropExcept([]*entry{{ID: "other"}})
	want("six", "6", true)
	l.cards.dropExcept(nil)
	if len(l.cards.known) != 0 {
		t.Error("what is known of a claim that is gone is kept")
	}
	want("six", "6", true)
	if err := os.WriteFile(l.claimFilePath(id), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := l.readCard(id); err == nil || len(l.cards.known) != 0 {
		t.Errorf("of a damaged file something is known: %v", err)
	}
	if err := os.Remove(l.claimFilePath(id)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.readCard(id); err == nil {
		t.Error("there is a card of a claim that is gone")
	}
}

func BenchmarkCard(b *testing.B) {
	l := unopened(b.TempDir())
	if err := os.MkdirAll(l.claimsDir(), 0o700); err != nil {
		b.Fatal(err)
	}
	c := claimFile{Entry: &entry{ID: "aaaabbbbcccc", State: Holding, Tool: "watched", Since: time.Unix(1, 0)}, Remains: json.RawMessage(`{"groups":["a","b"]}`)}
	if err := l.writeClaimFile(c); err != nil {
		b.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(l.claimFilePath(c.Entry.ID), old, old); err != nil {
		b.Fatal(err)
	}
	b.Run("known", func(b *testing.B) {
		for b.Loop() {
			if _, err := l.readCard(c.Entry.ID); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			if _, err := l.readClaimFile(c.Entry.ID); err != nil {
				b.Fatal(err)
			}
		}
	})
}
