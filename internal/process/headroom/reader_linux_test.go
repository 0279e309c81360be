package headroom

import (
	"os"
	"testing"
)

// A reader tells what a reading of its own tells, look after look, and keeps no more open after many looks than after one.
func TestReader(t *testing.T) {
	r := NewReader()
	defer r.Close()
	open := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(entries)
	}
	before, after := open(), 0
	for look := range 50 {
		if look == 25 {
			r.Close() // as after half a minute
		}
		got, err := r.Read()
		if err != nil {
			t.Fatal(err)
		}
		want, err := Read(Source{})
		if err != nil {
			t.Fatal(err)
		}
		if got.MemTotal != want.MemTotal || got.SwapTotal != want.SwapTotal || len(got.Cgroups) != len(want.Cgroups) || len(got.Approximate) != len(want.Approximate) {
			t.Fatalf("look %d: %+v, want %+v", look, got, want)
		}
		for i, c := range got.Cgroups {
			if w := want.Cgroups[i]; c.Dir != w.Dir || c.Limit != w.Limit || c.SwapLimit != w.SwapLimit || c.BothLimit != w.BothLimit {
				t.Fatalf("look %d: %+v, want %+v", look, c, w)
			}
		}
		if after == 0 {
			after = open()
		}
	}
	if now := open(); now != after || after-before > maxKept {
		t.Errorf("%d files are open before, %d after one look, %d after 50", before, after, now)
	}
	r.Close()
	if now := open(); now != before {
		t.Errorf("%d files are open before, %d when it is closed", before, now)
	}
}

// A supervisor reads all day: a reading makes no garbage, and to look where we are costs a few names at most.
func TestReaderMakesNoGarbage(t *testing.T) {
	r := NewReader()
	defer r.Close()
	first, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	most := float64(len(first.Cgroups) + len(first.Approximate)) // the lists that are handed out
	if n := testing.AllocsPerRun(100, func() { _, _ = r.Read() }); n > most {
		t.Errorf("%v allocations a reading, at most %v", n, most)
	}
	again := testing.AllocsPerRun(100, func() {
		r.found = r.found.Add(-placesFor)
		_, _ = r.Read()
	})
	if again > most+12 {
		t.Errorf("%v allocations to look where we are, at most %v", again, most+12)
	}
}
