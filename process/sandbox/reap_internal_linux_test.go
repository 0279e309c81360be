package sandbox

import (
	"os/exec"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

func FuzzPidfdNames(f *testing.F) {
	f.Add([]byte("pos:\t0\nflags:\t02000002\nmnt_id:\t16\nino:\t2052\nPid:\t7\nNSpid:\t70\t7\n"), 7)
	f.Add([]byte("Pid:\t-1\n"), 1)
	f.Fuzz(func(t *testing.T, b []byte, pid int) {
		if pidfdNames(nil, pid) || pidfdNames(b, pid) && len(b) == 0 {
			t.Error("nothing names a process")
		}
	})
}

func TestPidfdNames(t *testing.T) {
	outer := []byte("Pid:\t70\nNSpid:\t70\t7\n") // read through the /proc of the namespace around ours
	if !pidfdNames(outer, 7) || !pidfdNames([]byte("Pid:\t7\n"), 7) || pidfdNames([]byte("Pid:\t77\nNSpid:\t77\n"), 7) {
		t.Error("a pidfd is of the wrong process")
	}
}

// TestWhoMayHaveAWaiter: a child that os/exec waits for is not taken, and nothing is remembered of what has gone.
func TestWhoMayHaveAWaiter(t *testing.T) {
	c := exec.Command("/bin/true")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "a child is dead", func() bool { return anyDeadChild() != 0 })
	r := reaper{unsure: map[int]time.Time{}}
	if r.isAdopted(c.Process.Pid, time.Now()) {
		t.Error("a child of os/exec counts as adopted")
	}
	if !r.reap(time.Now()) {
		t.Error("nothing is left for later")
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
	now := time.Now()
	r.unsure[c.Process.Pid] = now
	if r.reap(now); len(r.unsure) != 0 {
		t.Errorf("remembered for ever: %v", r.unsure)
	}
}
