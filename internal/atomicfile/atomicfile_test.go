package atomicfile_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
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
	if err := atomicfile.Write(path, old, 0o600, atomicfile.Durable); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 10 {
				if err := atomicfile.Write(path, [][]byte{old, fresh}[i%2], 0o600, atomicfile.Durable); err != nil {
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
	if err := atomicfile.Write(target, []byte("x"), 0o600, atomicfile.Durable); err == nil {
		t.Error("a directory that is not empty was replaced")
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("left behind: %v", got)
	}
	err := atomicfile.Write(filepath.Join(dir, "missing", "f"), []byte("x"), 0o600, atomicfile.Durable)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("write into a missing directory: %v, want fs.ErrNotExist", err)
	}
}

func TestWithinARoot(t *testing.T) {
	dir := t.TempDir()
	testfile.Write(t, filepath.Join(dir, "outside"), "precious")
	if err := os.Mkdir(filepath.Join(dir, "in"), 0o700); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(filepath.Join(dir, "in"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, kept := range []atomicfile.Durability{atomicfile.Durable, atomicfile.DurableContent, atomicfile.Volatile} {
		before := false
		r := atomicfile.Replacement{Root: root, Name: "f", Perm: 0o600, Kept: kept, Before: func() { before = true }}
		if err := r.Write([]byte{byte('a' + kept)}); err != nil || !before {
			t.Errorf("%v: %v, before %v", kept, err, before)
		}
		if got, err := root.ReadFile("f"); string(got) != string(byte('a'+kept)) {
			t.Errorf("%v: %q, %v", kept, got, err)
		}
	}
	if err := (atomicfile.Replacement{Root: root, Name: "../outside", Perm: 0o600}).Write(nil); err == nil {
		t.Error("a file outside of the root was replaced")
	}
	failed := errors.New("out of words")
	if err := (atomicfile.Replacement{Root: root, Name: "f", Perm: 0o600}).Stream(func(w io.Writer) error {
		_, _ = w.Write([]byte("half"))
		return failed
	}); !errors.Is(err, failed) {
		t.Errorf("a writer that failed: %v", err)
	}
	if got := names(t, filepath.Join(dir, "in")); len(got) != 1 {
		t.Errorf("left behind: %v", got)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "outside")); string(text) != "precious" {
		t.Errorf("the file outside became %q, %v", text, err)
	}
}

// What a killed writer left under a fixed name is written over; what only has the name is not followed.
func TestTemporaryWithAFixedName(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	testfile.Write(t, path+".new", "left by a dead writer, and longer")
	r := atomicfile.Replacement{Name: path, Perm: 0o600, Kept: atomicfile.Volatile, Temporary: path + ".new"}
	if err := r.Write([]byte("new")); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); string(got) != "new" {
		t.Errorf("%q, %v", got, err)
	}
	if err := os.Symlink("f", path+".new"); err != nil {
		t.Skip(err)
	}
	if err := r.Write([]byte("other")); !errors.Is(err, statefile.ErrNotRegular) {
		t.Errorf("through a link: %v", err)
	}
	if got, err := os.ReadFile(path); string(got) != "new" {
		t.Errorf("%q, %v", got, err)
	}
	if err := r.Write([]byte("other")); err != nil {
		t.Errorf("the link is in the way for ever: %v", err)
	}
}

func TestOfManyThatCreateOneIsFirst(t *testing.T) {
	dir := t.TempDir()
	r := atomicfile.Replacement{Name: filepath.Join(dir, "f"), Perm: 0o600}
	var wg sync.WaitGroup
	firsts := make(chan string, 16)
	for i := range 16 {
		wg.Go(func() {
			body := string(rune('a' + i))
			first, err := r.Create([]byte(body))
			if err != nil {
				t.Error(err)
			}
			if first {
				firsts <- body
			}
		})
	}
	wg.Wait()
	close(firsts)
	got, err := os.ReadFile(r.Name)
	if err != nil || len(firsts) != 1 || <-firsts != string(got) {
		t.Errorf("%d were first; %q, %v", len(firsts), got, err)
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("left behind: %v", got)
	}
}
