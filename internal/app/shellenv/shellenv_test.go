package shellenv

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/shellwords"
)

func TestDetect(t *testing.T) {
	for _, c := range []struct{ parent, login, want string }{
		{"bash", "/usr/bin/fish", Bash},
		{"-zsh", "", Zsh},
		{"fish", "/bin/bash", Fish},
		{"dash", "/bin/bash", SH},
		{"make", "/bin/zsh", Zsh},
		{"", "/usr/local/bin/fish", Fish},
		{"sudo", "/bin/ksh", SH},
		{"node", "/usr/bin/nu", ""},
		{"", "", ""},
	} {
		got, err := detect(c.parent, c.login)
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%q started by %q: %q, %v; want %q", c.login, c.parent, got, err, c.want)
		}
		if err != nil && !strings.Contains(err.Error(), "--shell bash, zsh, fish, sh") {
			t.Errorf("%q: the next step is missing: %v", c.parent, err)
		}
	}
}

// What is no name of a function reaches no shell.
func TestNamesThatNoFunctionHas(t *testing.T) {
	for _, shell := range Shells() {
		for _, name := range []string{"", "plimsoll", "a b", "a;b", "$(id)", "`id`", "a/b", "-x", "1x", "ü", "a\nb", "a'b", `a"b`, "a=b", "my-agent"} {
			text, err := Script(Options{Shell: shell, Tools: []string{name}})
			if ok := name == "my-agent" && shell != SH; (err == nil) != ok {
				t.Errorf("%s: %q: %v, %q", shell, name, err, text)
			}
		}
		if _, err := Script(Options{Shell: shell, Tools: make([]string, MaxTools+1)}); err == nil {
			t.Errorf("%s: there is no bound", shell)
		}
	}
	if _, err := Script(Options{Shell: "tcsh"}); err == nil || !strings.Contains(err.Error(), "bash, zsh, fish, sh") {
		t.Errorf("%v", err)
	}
}

// Only what is installed is defined, and a migration tool that is called like an agent is not taken for it.
func TestOnlyWhatIsInstalled(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"codex", "goose", "own_agent"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	text, err := Script(Options{Shell: Bash})
	if err != nil || strings.Count(text, "function ") != 2 || !strings.Contains(text, "function codex {") || !strings.Contains(text, "# claude is not in PATH\n") {
		t.Errorf("%v\n%s", err, text)
	}
	text, err = Script(Options{Shell: Bash, Tools: []string{"goose", "own_agent", "claude"}})
	if err != nil || !strings.Contains(text, "function goose {") || !strings.Contains(text, "function own_agent {") || strings.Contains(text, "function claude {") {
		t.Errorf("%v\n%s", err, text)
	}
}

// FuzzQuotes: a program's path stays one word of a shell, and comes back.
func FuzzQuotes(f *testing.F) {
	f.Add("/home/it's/plimsoll")
	f.Add("/a b/\\x$(id)\"")
	f.Fuzz(func(t *testing.T, path string) {
		word := shellwords.Quote(path)
		if strings.ReplaceAll(strings.ReplaceAll(word, `'\''`, ""), "'", "") != strings.ReplaceAll(path, "'", "") || !strings.HasPrefix(word, "'") || !strings.HasSuffix(word, "'") {
			t.Errorf("%q became %q", path, word)
		}
		inner := strings.TrimSuffix(strings.TrimPrefix(fishQuoted(path), "'"), "'")
		if path != programName && strings.NewReplacer(`\\`, `\`, `\'`, "'").Replace(inner) != path {
			t.Errorf("%q became %q", path, inner)
		}
	})
}
