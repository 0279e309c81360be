//go:build unix

package filelock_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/statefile"
)

func TestOnlyRegularFilesAreLocked(t *testing.T) {
	dir := t.TempDir()
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	if err := errors.Join(unix.Mkfifo(pipe, 0o600), os.Symlink("elsewhere", link)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, link, dir} {
		if f, err := filelock.Open(t.Context(), path); !errors.Is(err, statefile.ErrNotRegular) {
			t.Errorf("%s: %v, %v", path, f, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "elsewhere")); err == nil {
		t.Error("a file was made behind a link")
	}
	path := filepath.Join(dir, "lock")
	f, err := filelock.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}
