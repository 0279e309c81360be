//go:build !windows

package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// A link of a project is followed within the project and never out of it, whether its path is relative or absolute; a link of the user's
// own is followed.
func TestDestination(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", filepath.Join(top, "home"))
	for _, dir := range []string{"home/work", "outside", "repository/.git", "repository/sub", "unpacked/sub"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"repository/out": "../outside", "repository/absolute": filepath.Join(top, "outside"), "repository/inner": "sub", "repository/chain": "out",
		"repository/sub/up": "..", "repository/file": "../outside/file", "unpacked/out": "../outside", "mine": "outside", "entry": "repository",
		"home/elsewhere": "../outside", "outside/back": "../repository/sub", "repository/dangling": "nowhere",
	} {
		if err := os.Symlink(to, filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}
	testfile.Write(t, filepath.Join(top, "outside", "file"), "")
	for _, c := range []struct{ dir, path, want, link string }{
		{"repository", "out/x", "", "repository/out"},
		{"repository", "absolute/new/x", "", "repository/absolute"},
		{"repository", "chain/x", "", "repository/chain"},
		{"repository", "file", "", "repository/file"},
		{"repository/sub", "../out/x", "", "repository/out"},
		{"repository/sub", "up/out/x", "", "repository/out"},
		{"outside", "/repository/out/x", "", "repository/out"},
		{"outside", "/entry/out/x", "", "repository/out"},
		{"outside", "back/../out/x", "outside/out/x", ""}, // as filepath.Clean reads it, and as it is opened
		{"unpacked", "out/x", "", "unpacked/out"},
		{"unpacked/sub", "../out/x", "outside/x", ""}, // nothing says that this is a project
		{"repository", "inner/x", "repository/sub/x", ""},
		{"repository", "sub/up/x", "repository/x", ""},
		{"repository", "new/x", "repository/new/x", ""},
		{"repository", "/mine/x", "outside/x", ""},
		{"repository", "/entry/sub/x", "repository/sub/x", ""},
		{"home", "elsewhere/x", "outside/x", ""},
		{"home/work", "../elsewhere/x", "outside/x", ""},
	} {
		t.Chdir(filepath.Join(top, c.dir))
		path := c.path
		if filepath.IsAbs(path) {
			path = filepath.Join(top, path)
		}
		got, err := config.Destination(path)
		wrong, refused := errors.AsType[*config.LinkError](err)
		switch {
		case c.link == "" && (err != nil || got != filepath.Join(top, c.want)):
			t.Errorf("in %s, %s is %s, %v; want %s", c.dir, c.path, got, err, c.want)
		case c.link != "" && (!refused || wrong.Link != filepath.Join(top, c.link) || !strings.HasPrefix(wrong.Instead, filepath.Join(top, "outside"))):
			t.Errorf("in %s, %s is %s, %v; want an error that names %s", c.dir, c.path, got, err, c.link)
		}
	}
	t.Chdir(filepath.Join(top, "repository"))
	if _, err := config.Destination("dangling/x"); err == nil || !strings.Contains(err.Error(), "leads nowhere") {
		t.Errorf("a link to nothing: %v", err)
	}
	if _, _, err := config.OpenFolder("out/x"); err == nil {
		t.Error("a folder outside was opened")
	}
	root, name, err := config.OpenFolder("inner/x")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := root.WriteFile(name, nil, 0o600); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat("sub/x"); err != nil {
		t.Error(err)
	}
}
