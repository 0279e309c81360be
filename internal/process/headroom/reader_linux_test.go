package headroom

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/plimsoll/plimsoll/limit"
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

// A limit that is there is read at every look, and one where there was none is found after half a minute.
func TestReaderFindsANewLimit(t *testing.T) {
	dir := t.TempDir()
	bound := func(text string) {
		t.Helper()
		for name, text := range map[string]string{"memory.max": text, "memory.current": "4096\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	r := NewReader()
	defer r.Close()
	if _, err := r.Read(); err != nil {
		t.Fatal(err)
	}
	r.places = places{levels: appendLevels(nil, ownCgroup{version: 2, path: "/", mount: mount{point: dir}, rel: "."})}
	for i, look := range []struct {
		text  string
		later bool
		want  []limit.Bytes
	}{
		{"max\n", false, nil},
		{"1000000\n", false, nil},
		{"1000000\n", true, []limit.Bytes{1000000}},
		{"2000000\n", false, []limit.Bytes{2000000}},
		{"max\n", false, nil},
	} {
		if bound(look.text); look.later {
			r.found = r.found.Add(-placesFor)
		}
		got, err := r.Read()
		if err != nil {
			t.Fatal(err)
		}
		var limits []limit.Bytes
		for _, c := range got.Cgroups {
			limits = append(limits, c.Limit)
		}
		if !slices.Equal(limits, look.want) {
			t.Errorf("look %d: limits %v, want %v", i+1, limits, look.want)
		}
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
