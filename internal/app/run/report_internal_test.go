//go:build unix

package run

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A report replaces a file, also behind a link, and never a device or the system's own link to
// an open file.
func TestPutReport(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(file, body string) {
		t.Helper()
		if err := putReport(file, "", []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	holds := func(file, want string) {
		t.Helper()
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v, want %q", file, got, err, want)
		}
	}
	write(at("new"), "one")
	write(at("new"), "2")
	holds(at("new"), "2")

	if err := os.Symlink("new", at("link")); err != nil {
		t.Fatal(err)
	}
	if err := putReport(at("link"), "", []byte("three")); err == nil {
		t.Error("a link was followed or replaced")
	}
	if _, err := checkReportFile(at("link")); err == nil {
		t.Error("a link is not refused before the run")
	}
	holds(at("new"), "2")
	if info, err := os.Lstat(at("link")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", info, err)
	}
	write("/dev/null", "gone")

	read, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	write("/dev/fd/"+strconv.Itoa(int(pipe.Fd())), "through a pipe")
	pipe.Close()
	if got, err := io.ReadAll(read); err != nil || string(got) != "through a pipe" {
		t.Errorf("the pipe got %q, %v", got, err)
	}

	// As a shell redirects standard output: the file stays the same one.
	file, err := os.Create(at("log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString("line\n"); err != nil {
		t.Fatal(err)
	}
	write("/dev/fd/"+strconv.Itoa(int(file.Fd())), "report\n")
	holds(at("log"), "line\nreport\n")
	before, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(at("log")); err != nil || !os.SameFile(before, after) {
		t.Errorf("the redirected file was replaced: %v", err)
	}
}

// TestAPipeThatNobodyReads: the run's command may make a pipe of the report's file; the exit status does not wait for a reader that never comes, or
// that never reads.
func TestAPipeThatNobodyReads(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "report.json")
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := putReport(file, "", []byte("{}\n")); err == nil || !strings.Contains(err.Error(), "nobody reads") {
		t.Errorf("a pipe without a reader: %v", err)
	}
	reader, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := putReport(file, "", []byte("{}\n")); err != nil {
		t.Errorf("a pipe with a reader: %v", err)
	}
	began := time.Now()
	if err := putReport(file, "", make([]byte, 4<<20)); err == nil || !strings.Contains(err.Error(), "did not take it") || time.Since(began) < reportPatience {
		t.Errorf("a reader that does not read: %v after %s", err, time.Since(began))
	}
}
