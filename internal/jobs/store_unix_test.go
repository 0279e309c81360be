//go:build unix

package jobs

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Whoever can write into the state directory keeps nobody waiting.
func TestPipesInTheStoreAreNoRecords(t *testing.T) {
	s := NewStore(t.TempDir())
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
