//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// TestAProjectFileWithMistakesIsAWarningAndFailsItsCheck: the repository may come from anybody.
func TestAProjectFileWithMistakesIsAWarningAndFailsItsCheck(t *testing.T) {
	t.Parallel()
	text := func(text string) func(string) error {
		return func(file string) error { return os.WriteFile(file, []byte(text), 0o600) }
	}
	for name, c := range map[string]struct {
		put  func(file string) error
		want string // after the file's name
	}{
		"an unknown key":               {text("[resources]\nmemry_max = '1G'\n"), ":2:1: resources.memry_max: unknown key"},
		"bad TOML":                     {text("[resources]\npids_max = = 3\n"), ":2:12: unexpected character"},
		"an absurd estimate":           {text("[resources]\ninitial_estimate = '400000G'\n"), ":2:1: initial_estimate: "},
		"an absurd estimate of a tool": {text("[tools.echo]\ninitial_estimate = '400000G'\n"), ":2:1: initial_estimate: "},
		"a link":                       {func(file string) error { return os.Symlink("/etc/passwd", file) }, ": was not read: it is no regular file"},
		"a pipe":                       {func(file string) error { return syscall.Mkfifo(file, 0o600) }, ": was not read: it is no regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			file := filepath.Join(s.dir, ".plimsoll.toml")
			if err := c.put(file); err != nil {
				t.Fatal(err)
			}
			o := s.plimsoll("config", "check")
			if o.code != 1 || !strings.Contains(o.stderr, file+c.want) || strings.Contains(o.stdout, file+": ok") {
				t.Errorf("config check: %+v", o)
			}
			o = s.plimsoll("run", "--", "echo", "ran")
			if o.code != 0 || o.stdout != "ran\n" || !strings.Contains(o.stderr, file+c.want) {
				t.Errorf("run: %+v", o)
			}
			// What a prediction says goes into somebody's manifest: it is that of a run.
			o = s.plimsoll("stats", "echo", "--format", "k8s")
			if o.code != 0 || strings.Contains(o.stdout, "400000") || strings.HasPrefix(name, "an absurd") && !strings.Contains(o.stderr, file+c.want) {
				t.Errorf("predict: %+v", o)
			}
		})
	}
}

// TestAProjectThatDemandsEnforcementIsNamed where that refuses a run, and the user's own word counts more.
func TestAProjectThatDemandsEnforcementIsNamed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	file := filepath.Join(s.dir, ".plimsoll.toml")
	testfile.Write(t, file, "[resources]\nenforcement = 'required'\n")
	if o := s.plimsoll("config", "check"); o.code != 0 {
		t.Errorf("it is a valid file: %+v", o)
	}
	o := s.plimsoll("run", "--layer", "monitor", "--", "true")
	if o.code != 125 || !strings.Contains(o.stderr, "It is the project that demands this, in "+file+":2:1.") {
		t.Errorf("%+v", o)
	}
	if o := s.plimsoll("run", "--layer", "monitor", "--enforcement", "best-effort", "--", "true"); o.code != 0 {
		t.Errorf("the flag: %+v", o)
	}
	s.env = append(s.env, "PLIMSOLL_RESOURCES_ENFORCEMENT=best-effort")
	if o := s.plimsoll("run", "--layer", "monitor", "--", "true"); o.code != 0 {
		t.Errorf("the variable: %+v", o)
	}
}
