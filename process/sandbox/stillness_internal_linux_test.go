package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/sysfile"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
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
			file, err := sysfile.OpenFile(filepath.Join(dir, f.name))
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
		if s.isStill(now, limit.GiB) && !s.hasNewcomers() {
			return false
		}
		s.recordLook(now, found)
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
	const some = "MemAvailable:   41943040 kB\n"
	s := settled()
	now = now.Add(stillTreeEvery)
	says("meminfo", some)
	says("loadavg", "0.10 0.20 0.30 1/345 4242\n")
	if !look(s, Sample{Working: 102 * limit.MiB, Processes: 9}) || !look(s, found) {
		t.Error("a tree that has changed is taken as still")
	}
	if s = settled(); s.isStill(now, limit.GiB) {
		now = now.Add(stillTreeEvery)
		if look(s, Sample{Working: 101 * limit.MiB, Processes: 9}); look(s, found) {
			t.Error("a tree that has hardly changed is looked at again")
		}
	}
	// What others give back first does not hide what is taken after it.
	s = settled()
	says("meminfo", "MemAvailable:   51943040 kB\n")
	look(s, found)
	says("meminfo", "MemAvailable:   51843040 kB\n")
	if s.isStill(now, limit.GiB) {
		t.Error("a tenth of the limit was taken, and the tree counts as still")
	}
	// A process that is met while it starts is asked once more.
	says("meminfo", some)
	s = settled()
	says("loadavg", "0.10 0.20 0.30 1/345 4243\n")
	for i, want := range []bool{true, true, false} {
		if got := s.isStill(now, limit.GiB) && s.hasNewcomers(); got != want {
			t.Errorf("scan %d after a process was started: due %v, want %v", i+1, got, want)
		}
		s.recordScan()
	}
}

func TestStillPause(t *testing.T) {
	known := machineState{known: true}
	for _, c := range []struct {
		still  stillness
		memory limit.Bytes
		pids   int
		want   time.Duration
	}{
		{stillness{same: 2, now: known}, 0, 0, stillEvery},
		{stillness{same: 2, now: known}, 64 * limit.GiB, 0, stillEvery},
		{stillness{same: 2, now: known, last: Sample{Working: 4 * limit.GiB}}, 24 * limit.GiB, 0, time.Second},
		{stillness{same: 2, now: known}, 4 * limit.GiB, 0, sampleEvery},
		{stillness{same: 2, now: known}, 0, 256, sampleEvery},
		{stillness{same: 1, now: known}, 0, 0, sampleEvery},
		{stillness{same: 2}, 0, 0, sampleEvery},
	} {
		if got := c.still.pause(c.memory, c.pids); got != c.want {
			t.Errorf("%+v, memory %s, %d processes: %s, want %s", c.still, c.memory.Human(), c.pids, got, c.want)
		}
	}
}

// While others on the machine start processes, a tree that waits is listed and not measured; one of its own is met at once.
func TestOthersProcessesAreNoReasonToMeasure(t *testing.T) {
	stdin, line, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	defer line.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	r, err := Start(t.Context(), Spec{
		ID: "others", Path: "/bin/sh", Args: []string{"sh", "-c", "read line; sleep 60 & wait"}, Files: []*os.File{stdin, null, null},
		Layers: []Layer{Monitor},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = r.Kill()
		_, _ = r.Wait()
	}()
	w := r.watch
	measures := func() (measured bool, newest int64) {
		r.cageMu.Lock()
		defer r.cageMu.Unlock()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.still.most, w.sampled = 0, time.Time{} // whatever memory others take
		w.lookAtTree(time.Now())
		return !w.sampled.IsZero(), w.still.before.newest
	}
	wait.Until(t, "the tree is still", func() bool { measured, _ := measures(); return !measured })
	for range 3 {
		_, before := measures()
		if err := exec.CommandContext(t.Context(), "true").Run(); err != nil {
			t.Fatal(err)
		}
		if measured, newest := measures(); measured || newest == before {
			t.Errorf("somebody else started a process: the tree that waits was measured %v, listed %v", measured, newest != before)
		}
	}
	if _, err := line.WriteString("go\n"); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the new member is measured", func() bool { measures(); return r.Sample().Processes == 2 })
}
