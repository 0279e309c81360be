package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

func TestHostAndPath(t *testing.T) {
	for address, want := range map[string]string{
		"git@github.com:org/web.git":                 "github.com/org/web",
		"https://github.com/org/web":                 "github.com/org/web",
		"https://me:hunter2@GitHub.com/org/web.git/": "github.com/org/web",
		"ssh://git@github.com:22/org/web.git":        "github.com/org/web",
		"git://example.org/a/b/c":                    "example.org/a/b/c",
		"/srv/git/web.git":                           "",
		"../web":                                     "",
		"file:///srv/git/web.git":                    "",
		`C:\git\web`:                                 "",
		"https://":                                   "",
		"":                                           "",
		"https://%zz/":                               "",
		"host:":                                      "",
	} {
		if got := hostAndPath(address); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}

// Two clones of one repository are one project, wherever they are and however they were cloned, and so are their work trees.
func TestShared(t *testing.T) {
	clone := func(name, config string) Project {
		dir := filepath.Join(t.TempDir(), name)
		testfile.Write(t, filepath.Join(dir, ".git", "config"), config)
		return ProjectOf(dir)
	}
	const remotes = "[core]\n\tbare = false\n[remote \"fork\"]\n\turl = git@github.com:me/web\n[remote \"origin\"]\n\turl = %\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
	one := clone("web", strings.Replace(remotes, "%", "git@github.com:org/web.git", 1))
	two := clone("checkout", strings.Replace(remotes, "%", "https://token@github.com/org/web", 1))
	other := clone("web", strings.Replace(remotes, "%", "https://github.com/org/api", 1))
	if one.Shared() != two.Shared() || one.Shared() == other.Shared() || one.Key == two.Key {
		t.Error(one.Shared(), two.Shared(), other.Shared())
	}
	if fork := clone("web", strings.Split(remotes, "[remote \"origin\"]")[0]); fork.Shared() == one.Shared() || fork.remote() != "github.com/me/web" {
		t.Error(fork.remote())
	}
	tree := filepath.Join(t.TempDir(), "tree")
	private := filepath.Join(one.Root, ".git", "worktrees", "tree")
	if err := os.MkdirAll(private, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(tree, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{filepath.Join(tree, ".git"): "gitdir: " + private + "\n", filepath.Join(private, "commondir"): "../..\n"} {
		testfile.Write(t, name, text)
	}
	if got := ProjectOf(tree); got.Shared() != one.Shared() {
		t.Error("a work tree is another project: ", got.remote())
	}
	// Without a remote it is the directory's name.
	a, b, c := clone("app", ""), clone("app", "[remote \"origin\"]\n\turl = /srv/git/x\n"), clone("app2", "")
	if a.Shared() != b.Shared() || a.Shared() == c.Shared() || strings.Contains(a.Shared(), "app") {
		t.Error(a.Shared(), b.Shared(), c.Shared())
	}
}

func FuzzRemoteIn(f *testing.F) {
	f.Add("[remote \"origin\"]\n\turl = git@github.com:org/web.git\n")
	f.Add("[remote \"x\"]\nURL=\"https://u:p@h:1/p.git/\"")
	f.Fuzz(func(t *testing.T, text string) {
		got := remoteIn(text)
		if host, _, ok := strings.Cut(got, "/"); got != "" && (!ok || host == "" || host != strings.ToLower(host) || strings.Contains(host, "@")) {
			t.Errorf("%q from %q", got, text)
		}
	})
}
