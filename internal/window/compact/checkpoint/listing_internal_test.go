package checkpoint

import (
	"crypto/sha256"
	"encoding/binary"
	"testing"
	"time"
)

func TestTrusted(t *testing.T) {
	t.Parallel()
	fine, whole := time.Unix(100, 1), time.Unix(100, 0)
	for _, c := range []struct {
		modified time.Time
		after    time.Duration
		want     bool
	}{
		{fine, 0, false}, {fine, 10 * time.Millisecond, false}, {fine, racy + 1, true}, {fine, -time.Hour, false}, // a clock that was set back
		{whole, racy + 1, false}, {whole, 1999 * time.Millisecond, false}, {whole, racyCoarse + 1, true},
	} {
		l := listing{modified: c.modified, read: c.modified.Add(c.after)}
		if l.trusted() != c.want {
			t.Errorf("a directory of %s that was read %s later: trusted is %v", c.modified.UTC(), c.after, !c.want)
		}
	}
	now := time.Now()
	for age, want := range map[time.Duration]bool{0: true, oursFor - time.Second: true, oursFor + 1: false, -2 * oursFor: false} {
		if l := (listing{modified: now, read: now.Add(-age), ours: true}); l.trusted() != want {
			t.Errorf("with writes of our own, read %s ago: trusted is %v", age, !want)
		}
	}
}

func digestOf(n int) (d Digest) {
	var in [8]byte
	binary.LittleEndian.PutUint64(in[:], uint64(n))
	sum := sha256.Sum256(in[:])
	copy(d[:], sum[:])
	return d
}

// TestOwnWritesAreNotReadAgain: a store adds what it writes to what it knows of a directory, and reads it again when somebody else wrote.
func TestOwnWritesAreNotReadAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var stores [2]*Store
	for i := range stores {
		s, err := Open(Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		stores[i] = s
	}
	a, b := stores[0], stores[1]
	freeze := func(s *Store, n int) {
		t.Helper()
		if _, err := s.Freeze(Scope{}, &Checkpoint{Chain: digestOf(n), Covers: 1, Patches: []Patch{{To: 1}}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	freeze(a, 0)
	time.Sleep(2 * racy)
	first := a.diskListing(Scope{}.decisions())
	for n := 1; n < 20; n++ {
		freeze(a, n)
		if a.diskListing(Scope{}.decisions()) != first {
			t.Fatalf("after its own write %d the directory is read again", n)
		}
	}
	time.Sleep(2 * racy) // another tick
	freeze(b, 100)
	if found := Log(a, Scope{}, []Digest{digestOf(100)}, 0); len(found) != 1 {
		t.Error("what another store wrote is not found")
	}
	for n := range 20 {
		if len(Log(b, Scope{}, []Digest{digestOf(n)}, 0)) != 1 {
			t.Errorf("the other store does not find %d", n)
		}
	}
	freeze(b, 101)
	freeze(a, 102) // somebody else wrote before: not only ours came
	if len(Log(a, Scope{}, []Digest{digestOf(101)}, 0)) != 1 {
		t.Error("what another store wrote before our own write is not found")
	}
}

// BenchmarkFreeze is a prompt to which the memory adds, in a scope that has thousands: what the conversation has is looked for, and one is kept.
func BenchmarkFreeze(b *testing.B) {
	const kept = 8000
	s, err := Open(Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	freeze := func(n int) {
		if _, err := s.Freeze(Scope{}, &Checkpoint{Chain: digestOf(n), Covers: 1, Patches: []Patch{{To: 1}}}, nil); err != nil {
			b.Fatal(err)
		}
	}
	for n := range kept {
		freeze(n)
	}
	chain := make([]Digest, 200)
	for n := range chain {
		chain[n] = digestOf(1_000_000 + n)
	}
	n := kept
	for b.Loop() {
		_ = Log(s, Scope{}, chain, 0)
		if n++; n < DefaultMaxFiles {
			freeze(n)
		}
	}
}
