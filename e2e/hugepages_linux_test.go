package e2e

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Where the machine gives everybody huge pages, a run does without them, and what it runs does not: neither in its memory nor in its environment.
func TestRunTakesNoHugePages(t *testing.T) {
	mode, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil || !strings.Contains(string(mode), "[always]") {
		t.Skipf("huge pages are not always on here: %s", mode)
	}
	w := newWorld(t)
	const script = `awk '/^AnonHugePages:/ {n += $2} END {print "supervisor", n}' /proc/$PPID/smaps
grep THP_enabled: /proc/self/status
env | grep -E '^(GODEBUG|PLIMSOLL_SMALL_PAGES)='
cat /proc/$PPID/comm`
	got := w.run(func(c *exec.Cmd) { c.Env = append(c.Env, "GODEBUG=madvdontneed=1") }, plimsoll, "run", "--quiet", "--", "/bin/sh", "-c", script)
	if want := "supervisor 0\nTHP_enabled:\t1\nGODEBUG=madvdontneed=1\nplimsoll\n"; got.status != 0 || got.stdout != want {
		t.Errorf("status %d, want %q, got %q\n%s", got.status, want, got.stdout, got.stderr)
	}
}
