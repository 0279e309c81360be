package sysfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	for _, size := range []int{0, 1, 4095, 4096, 4097, 100_000} {
		name := filepath.Join(dir, "file")
		want := bytes.Repeat([]byte("0123456789"), size/10+1)[:size]
		if err := os.WriteFile(name, want, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, maxBytes := range []int{1, 4096, 5000, 1 << 20} {
			got, err := Read(name, maxBytes)
			if err != nil || !bytes.Equal(got, want[:min(size, maxBytes)]) {
				t.Errorf("%d bytes, at most %d: %d bytes, %v", size, maxBytes, len(got), err)
			}
		}
	}
	_, err := Read(filepath.Join(dir, "none"), 10)
	if p, ok := errors.AsType[*fs.PathError](err); !ok || !errors.Is(err, fs.ErrNotExist) || p.Path == "" {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := Read(dir, 10); err == nil {
		t.Error("a directory was read")
	}
}

func TestReadProc(t *testing.T) {
	want, err := os.ReadFile("/proc/self/limits")
	if err != nil {
		t.Skipf("no /proc: %v", err)
	}
	if got, err := Read("/proc/self/limits", 64<<10); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestLeaf(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "inner"), 0o700); err != nil {
		t.Fatal(err)
	}
	if IsLeaf(dir) || IsLeaf(filepath.Join(dir, "none")) {
		t.Error("a directory with one in it, or none at all, is a leaf")
	}
}

// Of a directory with many files only the directories are named, whatever their number.
func TestSubdirectories(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for i := range 300 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("memory.file-%d", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if name := fmt.Sprintf("group-%03d", i); i%2 == 0 {
			want = append(want, name)
			if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got, err := Subdirectories(dir); err != nil || !slices.Equal(got, want) {
		t.Errorf("%d directories, %v; want %d", len(got), err, len(want))
	}
	if got, err := Subdirectories(filepath.Join(dir, "group-000")); err != nil || len(got) != 0 {
		t.Errorf("an empty directory: %q, %v", got, err)
	}
	for _, name := range []string{"memory.file-1", "gone"} {
		if got, err := Subdirectories(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s: %q without an error", name, got)
		}
	}
}
