//go:build unix

package main

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// terminalQuery matches what makes a terminal write something back: enquiries of its colours, its kind,
// its cursor, its modes and its size (xterm's ctlseqs, and what kitty adds).
var terminalQuery = regexp.MustCompile("\x05|\x1b\\](?:\\d+;)+\\?|\x1b\\[[>=?]?[0-9;]*[cnq]|\x1b\\[\\?u|\x1b\\[\\??[0-9;]*\\$p|\x1b\\[1[1-9]t|\x1b\\[2[01]t|\x1bP[+$]q|\x1b_G|\x1bZ")

// TestATerminalThatDoesNotAnswerIsAskedNothing: many do not (a serial line, a recorder, an editor's
// pane), and whoever waits for an answer waits in vain.
func TestATerminalThatDoesNotAnswerIsAskedNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.env = append(s.env, "PLIMSOLL_MCP_ARGOCD_SIMULATOR=on")
	broken := filepath.Join(t.TempDir(), "broken.toml")
	testfile.Write(t, broken, "unknown = 1\n")
	for _, c := range []struct {
		code int
		args []string
	}{
		{0, []string{"--help"}},
		{0, []string{"run", "--help"}},
		{0, []string{"help", "mcp"}},
		{0, []string{"doctor"}},
		{0, []string{"stats"}},
		{0, []string{"top", "--once"}},
		{0, []string{"config", "show"}},
		{0, []string{"run", "--", "true"}},
		{125, []string{"no-such-command"}},
		{125, []string{"run", "--no-such-flag"}},
		{1, []string{"config", "check", broken}},
		{0, []string{"ask", "--model", "standin", "how many clusters are there?"}},
	} {
		screen, code := s.terminal(c.args...)
		if code != c.code || screen == "" {
			t.Errorf("%v: status %d, want %d: %q", c.args, code, c.code, screen)
		}
		if asked := terminalQuery.FindString(screen); asked != "" {
			t.Errorf("%v asks the terminal %q", c.args, asked)
		}
	}
	for _, asked := range []string{"\x1b]11;?\x1b\\", "\x1b]10;?\x07", "\x1b]4;1;?\x07", "\x1b[c", "\x1b[>0c", "\x1b[6n", "\x1b[?6n", "\x1b[>0q", "\x1b[?u", "\x1b[?2026$p", "\x1b[14t", "\x1bP+q544e\x1b\\"} {
		if !terminalQuery.MatchString(asked) {
			t.Errorf("%q is not known for a query", asked)
		}
	}
	if told := terminalQuery.FindString("\x1b]0;title\x07\x1b[1;31mred\x1b[0m\x1b[2K\x1b[?25l"); told != "" {
		t.Errorf("%q is taken for a query", told)
	}
}
