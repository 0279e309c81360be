package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestAFullDiskOfTheStateDirectory: everything goes on or fails with one line, nothing is written by
// half, and with room again everything is as before.
func TestAFullDiskOfTheStateDirectory(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("mounting a small file system needs root")
	}
	s, _ := usedSite(t)
	disk := t.TempDir()
	if err := syscall.Mount("plimsoll-test", disk, "tmpfs", 0, "size=8m"); err != nil {
		t.Skip("no tmpfs can be mounted here:", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	if err := os.CopyFS(filepath.Join(disk, "state"), os.DirFS(s.state)); err != nil {
		t.Fatal(err)
	}
	s.env = append(s.env, "PLIMSOLL_STATE_DIR="+filepath.Join(disk, "state"), "PLIMSOLL_CACHE_DIR="+filepath.Join(disk, "state", "cache"), "PLIMSOLL_CONFIG="+filepath.Join(disk, "state", "config.toml"))
	before := s.summary("true").Recorded
	filler, err := os.Create(filepath.Join(disk, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = filler.Write(make([]byte, 4096))
	}
	filler.Close()

	ask := []string{"ask", "--quiet", "--agent", "helper", "--model", "standin", "--session", "one", "hello"}
	for _, c := range [][]string{ask, {"serve"}, {"mcp", "--", "toolserver"}, {"stats"}, {"top", "--once"}, {"gc"}, {"runs", "--cuts"}, {"agent", "list"}, {"doctor"}} {
		o := s.patience(c)
		t.Logf("%v: %d\n%.1500s", c, o.code, o.stderr)
		if strings.Contains(o.stderr, "panic") || o.code != 0 && !strings.Contains(o.stderr, "no space left") {
			t.Errorf("%v: status %d: %s", c, o.code, o.stderr)
		}
		if n := strings.Count(o.stderr, "no space left"); n > 5 { // one for each thing that could not be kept
			t.Errorf("%v says %d times that there is no room: %s", c, n, o.stderr)
		}
	}
	report, o := s.report("--", "echo", "ran") // the report is elsewhere
	if o.code != 0 || o.stdout != "ran\n" || report.Outcome != "ok" || !strings.Contains(o.stderr, "space") {
		t.Errorf("%+v, %+v", report, o)
	}
	if o := s.plimsoll("run", "--quiet", "--report", filepath.Join(disk, "report.json"), "--", "true"); strings.Count(o.stderr, "no space left") == 0 || strings.Count(o.stderr, "\n") > 3 {
		t.Errorf("a report that finds no room: %+v", o)
	}
	_ = filepath.WalkDir(disk, func(path string, e fs.DirEntry, _ error) error {
		if name := e.Name(); strings.Contains(name, ".tmp") || name == "report.json" || strings.Contains(name, "corrupt") || strings.Contains(name, "damaged") {
			t.Errorf("%s is left", path)
		}
		return nil
	})

	if err := os.Remove(filler.Name()); err != nil {
		t.Fatal(err)
	}
	if n := s.summary("true").Recorded; n != before {
		t.Errorf("%d runs are recorded, before there were %d", n, before)
	}
	for _, c := range [][]string{ask, {"serve"}, {"mcp", "--", "toolserver"}, {"run", "--quiet", "--", "true"}} {
		if o := s.patience(c); o.code != 0 || strings.Contains(o.stderr, "damaged") || strings.Contains(o.stderr, "corrupt") || strings.Contains(o.stderr, "space") {
			t.Errorf("with room again, %v: status %d: %s", c, o.code, o.stderr)
		}
	}
}
