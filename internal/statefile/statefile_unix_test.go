//go:build !windows

package statefile_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/statefile"
)

// impostors are what may stand where a file is expected.
func impostors(t *testing.T, dir string) map[string]func(path string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(filepath.Join(dir, "other"), []byte("precious"), 0o600))
	return map[string]func(string){
		"a named pipe":    func(p string) { must(unix.Mkfifo(p, 0o600)) },
		"a link":          func(p string) { must(os.Symlink("other", p)) },
		"a dangling link": func(p string) { must(os.Symlink("nowhere", p)) },
		"a link to a pipe": func(p string) {
			must(unix.Mkfifo(p+".pipe", 0o600))
			must(os.Symlink(filepath.Base(p)+".pipe", p))
		},
		"a directory": func(p string) { must(os.Mkdir(p, 0o700)) },
		"a socket": func(p string) {
			l, err := new(net.ListenConfig).Listen(context.Background(), "unix", p)
			must(err)
			t.Cleanup(func() { _ = l.Close() })
		},
	}
}

func TestOnlyRegularFilesAreOpened(t *testing.T) {
	dir, err := os.MkdirTemp("", "state") // a socket's path has 108 bytes at most
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	flags := map[string]int{
		"read": os.O_RDONLY, "write": os.O_WRONLY, "both": os.O_RDWR, "make": os.O_RDWR | os.O_CREATE,
		"append": os.O_WRONLY | os.O_CREATE | os.O_APPEND, "cut": os.O_RDWR | os.O_CREATE | os.O_TRUNC,
	}
	n := 0
	for what, put := range impostors(t, dir) {
		n++
		name := string(rune('a' + n))
		path := filepath.Join(dir, name)
		put(path)
		for how, flag := range flags {
			if f, err := statefile.Open(path, flag, 0o600); !errors.Is(err, statefile.ErrNotRegular) {
				t.Errorf("%s, %s: %v, %v", what, how, f, err)
			}
			if f, err := statefile.OpenIn(root, name, flag, 0o600); !errors.Is(err, statefile.ErrNotRegular) {
				t.Errorf("%s, %s in a root: %v, %v", what, how, f, err)
			}
		}
		if _, err := statefile.Open(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s, made anew: %v", what, err)
		}
		if _, err := statefile.Read(path, 100); !errors.Is(err, statefile.ErrNotRegular) {
			t.Errorf("%s, read: %v", what, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "nowhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file was made behind a link: %v", err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "other")); string(text) != "precious" {
		t.Errorf("the file behind a link became %q, %v", text, err)
	}
}

func TestOnlyDirectoriesAreOpenedAsRoots(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600), os.WriteFile(filepath.Join(dir, "file"), nil, 0o600),
		os.Symlink("pipe", filepath.Join(dir, "link")), os.Symlink(".", filepath.Join(dir, "moved"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pipe", "file", "link"} {
		if root, err := statefile.OpenRoot(filepath.Join(dir, name)); !errors.Is(err, statefile.ErrNotDirectory) {
			t.Errorf("%s: %v, %v", name, root, err)
		}
	}
	if root, err := statefile.OpenRoot(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none: %v, %v", root, err)
	}
	root, err := statefile.OpenRoot(filepath.Join(dir, "moved")) // people move their state with a link
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if _, err := root.Stat("file"); err != nil {
		t.Error(err)
	}
}
