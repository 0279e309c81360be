package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAMemoryBombTeaches: it ends with 137, and the next estimate is above the limit.
func TestAMemoryBombTeaches(t *testing.T) {
	t.Parallel()
	needsKernel(t)
	s := newSite(t)
	r, o := s.report("--memory-max", "64M", "--", "agent", "bomb")
	if o.code != 137 || r.ExitCode != 137 || r.Outcome != "oom" || r.Signal != "SIGKILL" || r.OOMKills < 1 || len(r.KilledChildren) != 0 {
		t.Errorf("status %d, %+v", o.code, r)
	}
	// The kernel charges in batches: its high-water mark may be some pages over the limit.
	if r.PeakBytes < 60<<20 || r.PeakBytes > 65<<20 {
		t.Errorf("peak %d under a limit of 64 MiB", r.PeakBytes)
	}
	contains(t, "the advice", o.stderr, "out of memory", "--memory-max")
	d := s.decision("--", "agent", "bomb")
	if d.Estimate.Bytes <= 64<<20 || d.Estimate.Source != "history:project" {
		t.Errorf("the next estimate is %+v, want more than the limit it died under", d.Estimate)
	}
	if sum := s.summary("agent"); sum.OOMKills < 1 {
		t.Errorf("the history forgets the kill: %+v", sum)
	}
}

// TestAMemoryBombWithoutTheKernel is ended by watching, the tree last.
func TestAMemoryBombWithoutTheKernel(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r, o := s.report("--quiet", "--layer", "monitor", "--memory-max", "64M", "--", "agent", "bomb")
	if o.code != 137 || r.Outcome != "oom" || r.PeakBytes <= 0 || r.PeakExact {
		t.Errorf("status %d, %+v", o.code, r)
	}
	if d := s.decision("--quiet", "--", "agent", "bomb"); d.Estimate.Bytes <= 64<<20 {
		t.Errorf("the next estimate is %+v", d.Estimate)
	}
}

// TestALimitBelowTheStartUp says so after the first failure.
func TestALimitBelowTheStartUp(t *testing.T) {
	t.Parallel()
	needsKernel(t)
	s := newSite(t)
	o := s.plimsoll("run", "--memory-max", "8M", "--no-proxy", "--tool", "codex", "--", "agent", "hold", "40")
	if o.code != 137 {
		t.Errorf("status %d", o.code)
	}
	contains(t, "the advice", o.stderr, "while starting", "8 MiB is less than codex needs", "--memory-max 1G")
	// What a command that nobody knows was at is not known either.
	if o := s.plimsoll("run", "--memory-max", "8M", "--", "agent", "hold", "40"); o.code != 137 || strings.Contains(o.stderr, "starting") {
		t.Errorf("%+v", o)
	}
}

func TestAForkBombIsHeld(t *testing.T) {
	t.Parallel()
	for _, layer := range layersHere() {
		s := newSite(t)
		_, o := s.report("--quiet", "--layer", layer, "--pids-max", "40", "--", "agent", "forks", "200")
		if layer == "rlimit" || layer == "monitor" {
			// Watched: the youngest are ended after the fact.
			if o.code != 0 {
				t.Errorf("%s: the command itself must survive: %+v", layer, o)
			}
			continue
		}
		n, err := strconv.Atoi(strings.TrimSpace(o.stdout))
		if err != nil || n >= 40 || n < 1 {
			t.Errorf("%s: %d children under a limit of 40: %+v", layer, n, o)
		}
	}
}

// TestReadingABigFileTeachesNothing: it fills the page cache to the limit, and needs nothing.
func TestReadingABigFileTeachesNothing(t *testing.T) {
	t.Parallel()
	needsKernel(t)
	s := newSite(t)
	big := filepath.Join(s.dir, "big")
	f, err := os.Create(big)
	if err != nil {
		t.Fatal(err)
	}
	block := make([]byte, 1<<20)
	for i := range 320 {
		block[0] = byte(i)
		if _, err := f.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	// What is in the page cache already stays charged to us, who wrote it.
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
	f.Close()
	before := s.decision("--tool", "reader", "--", "agent", "read", big)
	r, o := s.report("--tool", "reader", "--memory-max", "32M", "--", "agent", "read", big)
	if o.code != 0 || r.Outcome != "ok" || r.OOMKills != 0 {
		t.Errorf("status %d, %+v", o.code, r)
	}
	if r.PeakBytes < 31<<20 {
		t.Errorf("a peak of %d: the page cache was not charged, so this shows nothing", r.PeakBytes)
	}
	if r.PeakAnonBytes > 24<<20 {
		t.Errorf("a working set of %d for a reader with a buffer of 1 MiB", r.PeakAnonBytes)
	}
	after := s.decision("--tool", "reader", "--", "agent", "read", big)
	if after.Estimate.Bytes > before.Estimate.Bytes {
		t.Errorf("the estimate went from %+v to %+v", before.Estimate, after.Estimate)
	}
}

// TestAKilledChildIsCounted and the outcome stays the command's.
func TestAKilledChildIsCounted(t *testing.T) {
	t.Parallel()
	needsKernel(t)
	s := newSite(t)
	r, o := s.report("--memory-max", "120M", "--", "agent", "outlive")
	if o.code != 0 || r.Outcome != "ok" || r.OOMKills < 1 || len(r.KilledChildren) > 1 {
		// A child that came and went between two looks is counted and has no name.
		t.Errorf("status %d, %q, %d kills, %v, %+v", o.code, o.stderr, r.OOMKills, r.KilledChildren, r)
	}
	contains(t, "the agent", o.stdout, "child: signal: killed")
	if len(r.KilledChildren) == 1 && (r.KilledChildren[0].Name != "agent" || r.KilledChildren[0].By != "kernel" || r.KilledChildren[0].PID == 0) {
		t.Errorf("the child: %+v", r.KilledChildren[0])
	}
	if d := s.decision("--", "agent", "outlive"); d.Estimate.Bytes <= 120<<20 {
		t.Errorf("the next estimate is %+v: the run did not get what it wanted", d.Estimate)
	}
}

func TestNoRunPeaksAtNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	// Who starts plimsoll may be larger than all that it runs, and leaves its size in plimsoll's ru_maxrss.
	own, err := unix.Mmap(-1, 0, 300<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_POPULATE)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Munmap(own); err != nil {
		t.Fatal(err)
	}
	for _, layer := range layersHere() {
		r, _ := s.report("--quiet", "--layer", layer, "--", "true")
		if r.PeakBytes <= 0 || r.PeakMethod == "" || r.PeakAnonBytes < 0 || r.PeakAnonBytes > r.PeakBytes {
			t.Errorf("%s: %+v", layer, r)
		}
		r, _ = s.report("--quiet", "--layer", layer, "--", "agent", "hold", "200")
		if r.PeakBytes < 150<<20 {
			t.Errorf("%s: a peak of %d by %s for 200 MiB", layer, r.PeakBytes, r.PeakMethod)
		}
		if kernel := layer != "rlimit" && layer != "monitor"; kernel && (!r.PeakExact || r.PeakBytes < 194<<20) {
			t.Errorf("%s: %d by %s, exact %t", layer, r.PeakBytes, r.PeakMethod, r.PeakExact)
		}
	}
}
