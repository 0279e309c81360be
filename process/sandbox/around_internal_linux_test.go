package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/plimsoll/plimsoll/internal/process/proctree"
)

// What the kernel kills in a container's group is counted from the beginning of the run on; a group that says nothing counts nothing.
func TestKillsAround(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "memory.events"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("low 0\nhigh 0\nmax 9\noom 4\noom_kill 3\noom_group_kill 0\n")
	a := outerGroup{dir: dir, file: "memory.events"}
	a.before = a.countKills()
	if a.before != 3 || a.killsSinceStart() != 0 {
		t.Errorf("before %d, kills %d", a.before, a.killsSinceStart())
	}
	write("oom 6\noom_kill 5\n")
	if a.killsSinceStart() != 2 {
		t.Errorf("two more are %d", a.killsSinceStart())
	}
	write("")
	if a.killsSinceStart() != 0 || (outerGroup{}).killsSinceStart() != 0 || (outerGroup{}).exists() {
		t.Error("nothing is counted as something")
	}
}

// A kill is named once, and what this program has ended itself is no kill of the kernel too.
func TestKillsAroundAreNamedOnce(t *testing.T) {
	w := &watcher{largest: member{pid: 7, started: 70, bytes: 1 << 20}}
	if got := w.bytesAtLastLook(proctree.Process{PID: 7, Start: 70}); got != 1<<20 {
		t.Errorf("the largest held %d", got)
	}
	if got := w.bytesAtLastLook(proctree.Process{PID: 7, Start: 71}); got != 0 {
		t.Errorf("another process of that number held %d", got)
	}
}
