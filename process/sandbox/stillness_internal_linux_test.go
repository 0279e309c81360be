package sandbox

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/sysfile"
	"github.com/plimsoll/plimsoll/limit"
)

func TestStillness(t *testing.T) {
	dir := t.TempDir()
	says := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	says("meminfo", "MemTotal:       65842876 kB\nMemAvailable:   41943040 kB\nBuffers: 1 kB\n")
	says("loadavg", "0.10 0.20 0.30 1/345 4242\n")
	begin := func() *stillness {
		s := &stillness{}
		for _, f := range []struct {
			to   **sysfile.File
			name string
		}{{&s.signs.meminfo, "meminfo"}, {&s.signs.loadavg, "loadavg"}} {
			file, err := sysfile.Keep(filepath.Join(dir, f.name))
			if err != nil {
				t.Fatal(err)
			}
			*f.to = file
		}
		t.Cleanup(s.signs.close)
		return s
	}
	now := time.Now()
	found := Sample{Working: 100 * limit.MiB, Processes: 9}
	look := func(s *stillness, found Sample) bool {
		if s.lasts(now, limit.GiB) {
			return false
		}
		s.note(now, found)
		return true
	}
	settled := func() *stillness {
		s := begin()
		for range 3 {
			if !look(s, found) {
				t.Fatal("a tree that was seen less than three times is taken as still")
			}
		}
		return s
	}
	if look(settled(), found) {
		t.Error("a tree that waits is looked at")
	}
	for name, c := range map[string]struct {
		change func()
		looks  bool
	}{
		"a new process":               {change: func() { says("loadavg", "0.10 0.20 0.30 1/345 4243\n") }, looks: true},
		"a sixteenth of the limit":    {change: func() { says("meminfo", "MemAvailable:   41877504 kB\n") }, looks: true},
		"less than that":              {change: func() { says("meminfo", "MemAvailable:   41900000 kB\n") }, looks: false},
		"memory that is given back":   {change: func() { says("meminfo", "MemAvailable:   51900000 kB\n") }, looks: false},
		"ten seconds":                 {change: func() { now = now.Add(stillTreeEvery) }, looks: true},
		"one second":                  {change: func() { now = now.Add(time.Second) }, looks: false},
		"a machine that says nothing": {change: func() { says("meminfo", "MemTotal: 1 kB\n") }, looks: true},
		"a machine that says rubbish": {change: func() { says("loadavg", "x\n") }, looks: true},
		"a machine that says no name": {change: func() { says("loadavg", "") }, looks: true},
	} {
		says("meminfo", "MemTotal:       65842876 kB\nMemAvailable:   41943040 kB\nBuffers: 1 kB\n")
		says("loadavg", "0.10 0.20 0.30 1/345 4242\n")
		s := settled()
		c.change()
		if got := look(s, found); got != c.looks {
			t.Errorf("%s: looked at %v, want %v", name, got, c.looks)
		}
	}
	s := settled()
	now = now.Add(stillTreeEvery)
	says("meminfo", "MemAvailable:   41943040 kB\n")
	says("loadavg", "0.10 0.20 0.30 1/345 4242\n")
	if !look(s, Sample{Working: 101 * limit.MiB, Processes: 9}) || !look(s, found) {
		t.Error("a tree that has changed is taken as still")
	}
}
