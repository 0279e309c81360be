//go:build linux || darwin

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// setUp opens plimsoll setup in a terminal, in a home with an agent, a file of bash's and one of Cursor's.
func setUp(t *testing.T) (w *world, c *console, rc string) {
	t.Helper()
	w, path := hooked(t, hookShells[1])
	rc = filepath.Join(w.home, ".bashrc")
	write(t, "a=1\n", rc)
	write(t, `{"mcpServers": {"files": {"command": "npx", "args": ["x"]}}}`, w.home, ".cursor", "mcp.json")
	return w, w.open([]string{"PATH=" + path, "SHELL=/bin/bash", "XDG_CONFIG_HOME="}, plimsoll, "setup", "--shell", "bash"), rc
}

// A person is asked what concerns what is installed, may look at a change first, and the next shell runs the agent in its limits.
func TestTerminalSetupAsks(t *testing.T) {
	t.Parallel()
	w, c, rc := setUp(t)
	c.expect("1. When you type claude") // and what else is installed
	c.press("?" + enter)
	c.expect("+# >>> plimsoll setup >>>")
	c.expect("1. ")
	c.press("perhaps" + enter)
	c.expect(`"perhaps" is not among them: claude`)
	c.press(enter)
	c.expect("2. Put Plimsoll in front of the MCP servers in ~/.cursor/mcp.json?")
	c.press("n" + enter)
	c.expect("3. ")
	c.press("y" + enter)
	c.expect("4. Remember what you and agents say")
	c.press(enter)
	c.expect("shell hook")
	c.expect("Next: open a new terminal")
	if status := c.wait(); status != 0 {
		t.Errorf("status %d; the terminal shows\n%s", status, c.shows())
	}
	c.restored()
	if text, err := os.ReadFile(filepath.Join(w.home, ".cursor", "mcp.json")); err != nil || strings.Contains(string(text), "plimsoll") {
		t.Errorf("the second answer was no: %s, %v", text, err)
	}
	s := hookShells[1]
	_, path := w, filepath.Join(w.home, "agents with spaces")+":"+os.Getenv("PATH")
	shell := w.open([]string{"PATH=" + path, "PS1=prompt> ", "HISTFILE=/dev/null", "TERM=dumb"}, "bash", "--rcfile", rc, "--noediting", "-i")
	if got := s.gives(w, shell, "claude env"); !inARun("\x00" + got) {
		t.Errorf("the next shell does not run it in its limits; the terminal shows\n%s", shell.shows())
	}
	if got := w.run(nil, plimsoll, "setup", "--undo"); got.status != 0 || strings.Count(got.stdout, "byte for byte") != 3 {
		t.Errorf("%d %s%s", got.status, got.stdout, got.stderr)
	}
}

// Ctrl-C and Ctrl-D in the middle leave everything as it was.
func TestTerminalSetupLeft(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]int{ctrlC: 130, "\x04": 125} {
		w, c, rc := setUp(t)
		c.expect("1. ")
		c.press(enter)
		c.expect("2. ")
		c.press(key)
		if status := c.wait(); status != want {
			t.Errorf("%q: status %d, want %d; the terminal shows\n%s", key, status, want, c.shows())
		}
		c.restored()
		if text, err := os.ReadFile(rc); err != nil || string(text) != "a=1\n" {
			t.Errorf("%q: %q, %v", key, text, err)
		}
		if _, err := os.Stat(filepath.Join(w.home, ".config")); err == nil {
			t.Errorf("%q: there is a configuration", key)
		}
	}
}
