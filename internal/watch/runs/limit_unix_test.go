//go:build unix

package runs

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// limitFiles is a full disk for this process: a file gets no larger.
func limitFiles(most uint64) {
	signal.Ignore(syscall.SIGXFSZ)
	_ = unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: most, Max: most})
}

func TestAFullDiskLeavesWholeLines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, err := writer(dir, "limited", "limited").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "not all of what happened is kept") {
		t.Fatalf("%s, %v", out, err)
	}
	if err := Adopt(dir, time.Now()); err != nil {
		t.Fatal(err)
	}
	r, err := open(t, dir).Run("limited")
	if err != nil || r.Damaged != 0 || r.Window.Requests == 0 {
		t.Errorf("%v, %d damaged, %+v", err, r.Damaged, r.Entry)
	}
}

func TestAStoppedWriterLives(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := writer(dir, "stopped", "hang")
	startHanging(t, cmd)
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	untilWritten(t, dir)
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := Adopt(dir, time.Now()); err != nil {
		t.Fatal(err)
	}
	if e := open(t, dir).Entries(); len(e) != 1 || e[0].Outcome != Running {
		t.Errorf("%+v", e)
	}
}

// What somebody else put into the store is left alone, and nobody waits for it.
func TestWhatIsNoRunIsLeftAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	day := filepath.Join(dir, Dir, time.Now().UTC().Format(dayForm))
	if err := os.MkdirAll(day, 0o700); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "outside.jsonl")
	for path, text := range map[string]string{
		outside: "{}\n", filepath.Join(day, "UPPER.jsonl"): "", filepath.Join(day, "empty.jsonl"): "", filepath.Join(day, "x.txt"): "a",
		filepath.Join(day, "damaged.jsonl"): "\x00\x00not json\n{\"end\":{}}\n", filepath.Join(dir, Dir, indexName): "\n\x00\n{\"id\":\"../../x\",\"day\":\"2026-01-01\"}\n{}\ntorn",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(day, "link.jsonl")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(day, "pipe.jsonl"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(dir, Dir, "2026-01-01"), 0o600); err != nil {
		t.Fatal(err)
	}
	w, j, reporter := begin(dir, "good")
	play(j, 1)
	if err := w.End(reporter.Report()); err != nil {
		t.Fatal(err)
	}
	if err := Adopt(dir, time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	if e := s.Entries(); len(e) != 1 || e[0].ID != "good" || s.Damaged() == 0 {
		t.Errorf("%+v, %d", e, s.Damaged())
	}
	if _, err := Prune(dir, Keep{}, time.Now(), false); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(outside); err != nil || string(text) != "{}\n" {
		t.Errorf("%s, %v", text, err)
	}
	if os.Geteuid() == 0 {
		foreign := filepath.Join(day, "foreign.jsonl")
		if err := exec.Command("cp", filepath.Join(day, "good.jsonl"), foreign).Run(); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(foreign, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		if err := s.Poll(); err != nil || len(s.Entries()) != 1 {
			t.Errorf("%+v, %v", s.Entries(), err)
		}
	}
}
