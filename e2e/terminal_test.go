//go:build linux || darwin

package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// shell opens a console with an interactive bash in it, at its first prompt.
func (w *world) shell() *console {
	w.t.Helper()
	// No line editing: readline changes the terminal's modes at every prompt.
	c := w.open([]string{"PS1=prompt> ", "HISTFILE=/dev/null"}, "bash", "--norc", "--noprofile", "--noediting", "-i")
	c.expect("prompt>")
	return c
}

// line is argv as one line for the shell.
func line(argv []string) string {
	quoted := make([]string, len(argv))
	for i, a := range argv {
		quoted[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}

// lastStatus asks the shell for the status of the last command. What is typed does not
// hold what is answered.
func (c *console) lastStatus(want string) {
	c.t.Helper()
	c.press("echo status=$?=" + enter)
	c.expect("status=" + want + "=")
}

func TestTerminalForegroundGroup(t *testing.T) {
	t.Parallel()
	everyMode(t, func(t *testing.T, m mode) {
		w := newWorld(t)
		c := w.shell()
		c.press(line(m.argv(nil, testtool, "group")) + enter)
		c.expect("tty0=true tty1=true tty2=true foreground=true size=80x24")
		c.expect("prompt>")
		c.lastStatus("0")
	})
}

func TestTerminalOneCtrlCIsOneInterruptAndEndsTheLoop(t *testing.T) {
	t.Parallel()
	everyMode(t, func(t *testing.T, m mode) {
		w := newWorld(t)
		counts := filepath.Join(w.home, "counts")
		c := w.shell()
		c.press("for i in 1 2 3; do " + line(m.argv(nil, testtool, "interrupted", counts)) + "; done" + enter)
		c.expect("waiting for Ctrl-C")
		c.press(ctrlC)
		c.expect("prompt>")
		c.lastStatus("130")
		got := testfile.Read(t, counts)
		if string(got) != "1\n" {
			t.Errorf("one Ctrl-C at the first of three runs brought interrupts %q (one line for each run), want \"1\\n\"; the terminal shows\n%s", got, c.shows())
		}
		if n := strings.Count(c.shows(), "waiting for Ctrl-C"); n != 1 {
			t.Errorf("the loop went on: the tool was started %d times", n)
		}
	})
}

func TestTerminalToolThatStopsItself(t *testing.T) {
	t.Parallel()
	everyMode(t, func(t *testing.T, m mode) {
		w := newWorld(t)
		c := w.shell()
		c.press(line(m.argv(nil, testtool, "suspend")) + enter)
		c.expect("stopping myself")
		c.expect("Stopped")
		c.expect("prompt>")
		c.press("fg" + enter)
		c.expect("went on")
		c.expect("prompt>")
		c.lastStatus("0")
	})
}

func TestTerminalCtrlZ(t *testing.T) {
	t.Parallel()
	everyMode(t, func(t *testing.T, m mode) {
		w := newWorld(t)
		c := w.shell()
		c.press(line(m.argv(nil, testtool, "suspended")) + enter)
		c.expect("waiting for Ctrl-Z")
		c.press(ctrlZ)
		c.expect("Stopped")
		c.expect("prompt>")
		c.press("jobs" + enter)
		c.expect("Stopped")
		c.expect("prompt>")
		c.press("fg" + enter)
		c.expect("went on")
		c.expect("prompt>")
		c.lastStatus("0")
	})
}

func TestTerminalResize(t *testing.T) {
	t.Parallel()
	everyMode(t, func(t *testing.T, m mode) {
		w := newWorld(t)
		c := w.shell()
		c.press(line(m.argv(nil, testtool, "resized")) + enter)
		c.expect("waiting for a new size")
		c.resize(100, 30)
		c.expect("now 100x30 after 1")
		c.expect("prompt>")
	})
}

// A full-screen tool that is killed cannot clean up after itself; a shell would, and so
// must plimsoll where it is not started from one.
func TestTerminalRestoredAfterKill(t *testing.T) {
	t.Parallel()
	everyLayer(t, func(t *testing.T, m mode) {
		w := newWorld(t)
		c := w.open(nil, m.argv(nil, testtool, "fullscreen")...)
		if got := c.wait(); got != 137 {
			t.Errorf("status %d, want 137; the terminal shows\n%s", got, c.shows())
		}
		c.expect("full screen")
		c.restored()
		w.nothingLeft()
	})
}

// The same test without plimsoll must find the terminal changed, or it proves nothing.
func TestTerminalIsChangedWithoutPlimsoll(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open(nil, testtool, "fullscreen")
	if got := c.wait(); got != 137 {
		t.Errorf("status %d, want 137", got)
	}
	if before, after := c.before, c.settings(); *before == *after {
		t.Error("a killed full-screen tool leaves no trace in the terminal: TestTerminalRestoredAfterKill proves nothing")
	}
}

func TestTerminalExitStatus(t *testing.T) {
	t.Parallel()
	everyMode(t, func(t *testing.T, m mode) {
		w := newWorld(t)
		c := w.shell()
		for verb, want := range map[string]string{"exit 0": "0", "exit 3": "3", "die 9": "137", "die 15": "143"} {
			c.press(line(m.argv(nil, append([]string{testtool}, strings.Fields(verb)...)...)) + enter)
			c.expect("prompt>")
			c.lastStatus(want)
			c.expect("prompt>")
		}
	})
}
