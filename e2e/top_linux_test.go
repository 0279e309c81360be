package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ticker starts a run that writes a line every 20 ms. ticks says whether it does now.
func (w *world) ticker(tool string) (run *exec.Cmd, ticks func() bool) {
	w.t.Helper()
	file := filepath.Join(w.home, tool+".ticks")
	run = w.command("run", "--quiet", "--tool", tool, "--memory-max", "300M", "--", "sh", "-c", `while :; do echo >>"$1"; sleep 0.02; done`, "sh", file)
	if err := run.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = run.Process.Kill(); _ = run.Wait() })
	size := func() int64 {
		info, err := os.Stat(file)
		if err != nil {
			return 0
		}
		return info.Size()
	}
	ticks = func() bool {
		before := size()
		time.Sleep(500 * time.Millisecond)
		return size() != before
	}
	w.until(tool+" runs", ticks)
	return run, ticks
}

// In a real terminal: runs come and go on the screen, keys pause, continue and end them, and the terminal is as it was afterwards.
func TestTopInARealTerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run, ticks := w.ticker("napper")
	c := w.open(nil, plimsoll, "top")
	c.expect("host")
	c.expect("napper")
	c.press("p")
	w.until("the run is paused", func() bool { return !ticks() })
	c.expect("pause")
	c.press("c")
	w.until("the run goes on", ticks)
	c.press("t")
	c.expect("sleep") // in the tree
	late, _ := w.ticker("second")
	c.expect("second")
	c.press("/napper" + enter)
	c.press(enter)
	c.expect("napper in work, run")
	c.resize(60, 15)
	c.press("\x1b") // back
	c.expect("STATE")
	c.press("e")
	c.expect("End napper in work")
	c.press("y")
	if err := run.Wait(); err == nil {
		t.Error("the run ended by itself")
	}
	w.until("its command has ended", func() bool { return !ticks() })
	_ = late.Process.Signal(syscall.SIGTERM)
	_ = late.Wait()
	c.press("q")
	if status := c.wait(); status != 0 {
		t.Errorf("top ends with %d", status)
	}
	c.restored()
	w.nothingLeft()
}

// A terminal without colour and cursor, and none at all, get one frame.
func TestTopWithoutAScreen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ticker("napper")
	c := w.open([]string{"TERM=dumb"}, plimsoll, "top")
	c.expect("napper")
	if status := c.wait(); status != 0 || strings.Contains(string(c.output), "\x1b[") {
		t.Errorf("status %d: %q", status, c.output)
	}
	c = w.open([]string{"NO_COLOR=1"}, plimsoll, "top")
	c.expect("napper")
	c.press(ctrlC)
	c.wait()
	c.restored()
	for part := range strings.SplitSeq(string(c.output), "\x1b[") {
		if i := strings.IndexAny(part, "mABCDHJKhlnqtu"); i > 0 && part[i] == 'm' && part[0] != '>' && strings.Trim(part[:i], "0127;") != "" {
			t.Errorf("a colour is set although NO_COLOR is: %q", part[:i+1])
		}
	}
}
