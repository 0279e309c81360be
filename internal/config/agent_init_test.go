package config_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

func TestAddAgent(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sub", "config.toml")
	if err := config.AddAgent(file, "reviewer"); err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(file)
	if err != nil || fi.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		t.Fatalf("the new file: %v %v", fi, err)
	}
	if err := os.WriteFile(file, []byte("# mine\n[mcp]\nmax_items = 7"), 0o640); err != nil { // no line end
		t.Fatal(err)
	}
	for _, name := range []string{"reviewer", "with.dot"} {
		if err := config.AddAgent(file, name); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil || !strings.HasPrefix(string(text), "# mine\n[mcp]\nmax_items = 7\n") {
		t.Fatalf("%v: what was there is not as it was:\n%s", err, text)
	}
	l, err := config.Load(config.Options{Environ: []string{"PLIMSOLL_CONFIG=" + file}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	agents, err := l.Agents()
	if err != nil || len(agents) != 2 || agents[0].Name != "reviewer" || agents[1].Name != "with.dot" || agents[0].Intro == "" {
		t.Fatalf("%v: %+v", err, agents)
	}
	if err := config.AddAgent(file, "Reviewer"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("twice: %v", err)
	}
	if err := config.AddAgent(file, "no/name"); err == nil || !strings.Contains(err.Error(), "letters, digits") {
		t.Errorf("a bad name: %v", err)
	}
	broken := filepath.Join(t.TempDir(), "broken.toml")
	testfile.Write(t, broken, "[agents.a]\nnosuch = 1\n")
	if err := config.AddAgent(broken, "b"); err == nil || !strings.Contains(err.Error(), "nosuch") {
		t.Errorf("a file with a mistake: %v", err)
	}
	if now, _ := os.ReadFile(broken); string(now) != "[agents.a]\nnosuch = 1\n" {
		t.Errorf("it was changed: %s", now)
	}
}

func TestEveryLineOfANewAgentIsValid(t *testing.T) {
	var b strings.Builder
	if err := config.WriteAgentInit(&b, "a"); err != nil {
		t.Fatal(err)
	}
	var with []string
	for line := range strings.Lines(b.String()) {
		key, _, is := strings.Cut(strings.TrimPrefix(line, "# "), " = ")
		if is && strings.HasPrefix(line, "# ") && !strings.Contains(key, " ") && key != "prompt_file" { // which goes not with prompt
			line = strings.TrimPrefix(line, "# ")
		}
		with = append(with, line)
	}
	file := filepath.Join(t.TempDir(), "all.toml")
	testfile.Write(t, file, strings.Join(with, ""))
	if err := config.Check(file); err != nil {
		t.Error(err)
	}
}

func TestTheBuiltInAgentWithAnotherModelIsStillItself(t *testing.T) {
	for text, want := range map[string]string{
		"[agents.argocd]\nmodel = \"gpt-5\"\n":                                "argocd",
		"[agents.argocd]\nbuiltin = \"none\"\n":                               "",
		"[agents.argocd]\nprompt = \"something else\"\n":                      "",
		"[agents.other]\nmodel = \"gpt-5\"\n[agents.argocd]\nmax_steps = 5\n": "argocd",
	} {
		file := filepath.Join(t.TempDir(), "config.toml")
		testfile.Write(t, file, text)
		l, err := config.Load(config.Options{Environ: []string{"PLIMSOLL_CONFIG=" + file}, Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if a, _, err := l.Agent("argocd"); err != nil || a.Builtin != want {
			t.Errorf("%q: %v: builtin is %q, want %q", text, err, a.Builtin, want)
		}
	}
}
