package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/journal"
)

// smallDisk mounts a file system of its own.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("a file system of one's own needs root")
	}
	dir := t.TempDir()
	image, point := filepath.Join(dir, "image"), filepath.Join(dir, "disk")
	if err := os.Mkdir(point, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"truncate", "-s", size, image}, {"mkfs.ext4", "-q", "-F", image}, {"mount", "-o", "loop", image, point}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Skipf("no loop device here: %s: %v: %s", args[0], err, out)
		}
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", point).Run() })
	return point
}

// A child that writes without end is ended before the file system is full, and the agent goes on.
func TestARunawayWriterIsEnded(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, "400M")
	s := newSite(t)
	script := fmt.Sprintf("dd if=/dev/zero of=%s/log bs=64k oflag=dsync status=none; echo agent: the writer ended with $?", disk)
	r, o := s.report("--free-min", "150M", "--grace", "1s", "--", "sh", "-c", script)
	if o.code != 0 || r.Outcome != journal.OutcomeOK || !strings.Contains(o.stdout, "agent: the writer ended with 1") {
		t.Errorf("%+v, outcome %s", o, r.Outcome)
	}
	if l := limitNamed(t, r.Limits, "free_min"); l.Reached != "hard" || !strings.HasPrefix(l.Did, "ended dd (pid ") || l.Hard != 150<<20 || l.EnforcedBy != "watched" {
		t.Errorf("the report has %+v", l)
	}
	contains(t, "the warning", o.stderr, "dd (pid ", "is ended", "--free-min")
	if info, err := os.Stat(filepath.Join(disk, "log")); err != nil || info.Size() < 10<<20 || info.Size() > 330<<20 {
		t.Errorf("the file: %v, %v", info, err)
	}
}

// What others write is no reason to end anything of this run.
func TestANeighbourThatFillsTheDiskEndsNothing(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, "400M")
	s := newSite(t)
	done := make(chan error, 1)
	s.plimsoll("run", "--quiet", "--", "true")
	cmd := exec.Command("sh", "-c", fmt.Sprintf("until [ -e %[1]s/mine ]; do sleep 0.2; done; sleep 3; dd if=/dev/zero of=%[1]s/others bs=1M count=200 conv=fsync status=none; touch %[1]s/over", disk))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { done <- cmd.Wait() }()
	script := fmt.Sprintf("exec 3>%[1]s/open; dd if=/dev/zero of=%[1]s/mine bs=1M count=40 conv=fsync status=none; until [ -e %[1]s/over ]; do echo more >&3; sleep 0.2; done; sleep 5; echo whole", disk)
	r, o := s.report("--free-min", "150M", "--", "sh", "-c", script)
	<-done
	if o.code != 0 || r.Outcome != journal.OutcomeOK || !strings.Contains(o.stdout, "whole") {
		t.Errorf("%+v, outcome %s", o, r.Outcome)
	}
	if l := limitNamed(t, r.Limits, "free_min"); l.Reached != "hard" || l.Did != "warned" {
		t.Errorf("the report has %+v", l)
	}
}
