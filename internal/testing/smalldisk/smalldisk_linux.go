package smalldisk

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// New mounts a tmpfs with options as mount(8) has them ("size=256k") until the test ends; files that are open then fail the
// test. Where that cannot be done the test is skipped.
func New(t testing.TB, options string) (dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting a small tmpfs takes root")
	}
	dir = t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("a tmpfs cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}

// Fill writes a file into dir until there is no room for a page more. empty removes it.
func Fill(t testing.TB, dir string) (empty func()) {
	t.Helper()
	filler, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	for page := make([]byte, os.Getpagesize()); err == nil; {
		_, err = filler.Write(page)
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	if err := filler.Close(); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := os.Remove(filler.Name()); err != nil {
			t.Fatal(err)
		}
	}
}
