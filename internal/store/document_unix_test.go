//go:build unix

package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/internal/store"
)

// A pipe, a link or a directory in the place of a document or of its lock is an error at once, and nothing behind it is touched.
func TestADocumentIsARegularFile(t *testing.T) {
	dir := t.TempDir()
	elsewhere := filepath.Join(dir, "elsewhere")
	testfile.Write(t, elsewhere, "theirs")
	for what, put := range map[string]func(path string) error{
		"pipe":      func(path string) error { return unix.Mkfifo(path, 0o600) },
		"link":      func(path string) error { return os.Symlink(elsewhere, path) },
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		for _, end := range []string{"", ".lock"} {
			d := documentIn(filepath.Join(dir, what+end))
			d.Aside = func(path string, why error) { t.Errorf("%s%s: set aside: %v", what, end, why) }
			if err := errors.Join(os.MkdirAll(filepath.Dir(d.Path), 0o700), put(d.Path+end)); err != nil {
				t.Fatal(err)
			}
			if _, err := d.Read(); end == "" && !errors.Is(err, statefile.ErrNotRegular) {
				t.Errorf("%s: %v", what, err)
			}
			if err := d.Change(t.Context(), count("grep")); !errors.Is(err, statefile.ErrNotRegular) {
				t.Errorf("%s%s: %v", what, end, err)
			}
		}
	}
	if text, err := os.ReadFile(elsewhere); err != nil || string(text) != "theirs" {
		t.Errorf("%s, %v", text, err)
	}
}

// What can be begun anew is, beside what stood there: not where the lock is at fault.
func TestADocumentIsBegunAnew(t *testing.T) {
	dir := t.TempDir()
	for _, end := range []string{"", ".lock"} {
		d := documentIn(filepath.Join(dir, "pipe"+end))
		aside := ""
		d.Aside = func(path string, _ error) { aside = path }
		if err := errors.Join(os.MkdirAll(filepath.Dir(d.Path), 0o700), unix.Mkfifo(d.Path+end, 0o600)); err != nil {
			t.Fatal(err)
		}
		err := d.ChangeAnew(t.Context(), count("grep"))
		if end != "" {
			if !errors.Is(err, statefile.ErrNotRegular) || aside != "" {
				t.Errorf("a lock that is none: %v, set aside %q", err, aside)
			}
			continue
		}
		if _, readErr := d.Read(); err != nil || readErr != nil || !store.IsDamaged(aside) {
			t.Errorf("%v, %v, set aside %q", err, readErr, aside)
		}
	}
}
