//go:build unix

package jobs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/plimsoll/plimsoll/limit"
)

// A file that a program appends to stays within its bound and has its beginning and its end; the program notices nothing.
func TestBound(t *testing.T) {
	b := Bound{Path: filepath.Join(t.TempDir(), OutName), Max: 1 << 20}
	if err := b.Look(); err != nil {
		t.Fatalf("before it is there: %v", err)
	}
	f, err := os.OpenFile(b.Path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	written := limit.Bytes(0)
	for i := range 200_000 {
		n, err := fmt.Fprintf(f, "line %d of many\n", i)
		if err != nil {
			t.Fatal(err)
		}
		if written += limit.Bytes(n); i%1000 == 0 {
			if err := b.Look(); err != nil {
				t.Fatal(err)
			}
		}
	}
	text, err := os.ReadFile(b.Path)
	if err != nil || len(text) > int(b.Max)+20_000 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	mark := "\nplimsoll: " + b.Cut.Human() + " of the output were left out here\nline "
	if s := string(text); !strings.HasPrefix(s, "line 0 of many\n") || !strings.HasSuffix(s, "\nline 199999 of many\n") || strings.Count(s, mark) != 1 || strings.Count(s, "plimsoll") != 1 {
		t.Errorf("%.30q … %q: %d times %q", s, s[len(s)-30:], strings.Count(s, mark), mark)
	}
	if kept := written - b.Cut; kept > limit.Bytes(len(text)) || kept < limit.Bytes(len(text))-10_000 { // what it says of earlier cuts is cut too
		t.Errorf("%d of %d bytes were cut, and %d are there", b.Cut, written, len(text))
	}
	if err := errors.Join(os.Remove(b.Path), syscall.Mkfifo(b.Path, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := b.Look(); err != nil {
		t.Errorf("a pipe: %v", err)
	}
}

// Whoever can write into the state directory keeps nobody waiting.
func TestPipesInTheStoreAreNoRecords(t *testing.T) {
	s := StoreIn(t.TempDir())
	create(t, s, "good")
	create(t, s, "piped")
	for _, path := range []string{filepath.Join(s.Folder("piped"), RecordName), filepath.Join(s.Folder("good"), ReportName)} {
		_ = os.Remove(path)
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(s.Folder("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := s.List()
	if err != nil || len(list) != 1 || list[0].ID != "good" {
		t.Errorf("%+v, %v", list, err)
	}
	if s.Report("good") != nil {
		t.Error("a pipe was read as a report")
	}
}
