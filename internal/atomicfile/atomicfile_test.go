package atomicfile_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
)

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestReadersSeeWholeFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	old, fresh := bytes.Repeat([]byte("a"), 1<<16), bytes.Repeat([]byte("b"), 1<<16)
	if err := atomicfile.Write(path, old, 0o600); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 10 {
				if err := atomicfile.Write(path, [][]byte{old, fresh}[i%2], 0o600); err != nil {
					t.Errorf("write: %v", err)
				}
			}
		})
		wg.Go(func() {
			for range 50 {
				got, err := os.ReadFile(path)
				if err != nil || !bytes.Equal(got, old) && !bytes.Equal(got, fresh) {
					t.Errorf("read %d bytes, %v: want one of the two contents", len(got), err)
				}
			}
		})
	}
	wg.Wait()
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("left behind: %v", got)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v: want 0600", info.Mode(), err)
	}
}

func TestFailureChangesNothing(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(target, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(target, []byte("x"), 0o600); err == nil {
		t.Error("a directory that is not empty was replaced")
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("left behind: %v", got)
	}
	err := atomicfile.Write(filepath.Join(dir, "missing", "f"), []byte("x"), 0o600)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("write into a missing directory: %v, want fs.ErrNotExist", err)
	}
}

func TestRenameIsTriedAgainOnWindowsOnly(t *testing.T) {
	calls, busy := 0, errors.New("in use")
	err := atomicfile.Rename(func() error {
		if calls++; calls < 3 {
			return busy
		}
		return nil
	})
	wantCalls, want := 1, busy
	if runtime.GOOS == "windows" {
		wantCalls, want = 3, nil
	}
	if calls != wantCalls || !errors.Is(err, want) {
		t.Errorf("%d calls, %v; want %d, %v", calls, err, wantCalls, want)
	}
}
