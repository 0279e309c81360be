package sandbox

import (
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/proctree"
	"github.com/plimsoll/plimsoll/journal"
)

// counted is a cage that only counts OOM kills.
type counted struct {
	cage
	kills int
}

func (c counted) oomKills() int { return c.kills }

// TestAKillIsNamedWhenItsProcessHasGone: between the kernel's count and the end of the process may lie many looks.
func TestAKillIsNamedWhenItsProcessHasGone(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	j := journal.New(journal.Options{})
	named := func() (names []string) {
		for rec := range j.Since(0) {
			if e, ok := rec.Event.(journal.ChildKilled); ok {
				names = append(names, e.Name)
			}
		}
		return names
	}
	w := &watcher{run: &Run{pid: 1, cage: counted{kills: 1}, spec: Spec{Journal: j}}, known: map[int]*member{pid: {pid: pid, name: "greedy"}}}
	for range 5 { // it is not reaped yet
		w.reportKills()
	}
	if got := named(); len(got) != 0 {
		t.Errorf("named too early: %q", got)
	}
	_ = cmd.Wait()
	w.recordGone(*w.known[pid])
	delete(w.known, pid)
	w.reportKills()
	if got := named(); !slices.Equal(got, []string{"greedy"}) {
		t.Errorf("named: %q", got)
	}
	// One that ends by itself, long after, was not killed.
	w.run.cage = counted{kills: 2}
	w.reportKills()
	w.reportKills()
	w.recordGone(member{pid: pid, name: "innocent", met: time.Now()})
	w.reportKills()
	if got := named(); !slices.Equal(got, []string{"greedy"}) {
		t.Errorf("named: %q", got)
	}
}

// bounded is a cage inside a container whose kills it counts.
type bounded struct{ counted }

func (bounded) bounded() bool { return true }

// TestAKillThatEndsTheRunIsCounted: between the last look and the end of the command the kernel may kill, and nobody looks again but the end itself.
func TestAKillThatEndsTheRunIsCounted(t *testing.T) {
	for _, onExit := range []OnExit{KillLeftovers, LeaveLeftovers} {
		cmd := exec.Command("sleep", "60")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		tree, err := proctree.New(proctree.Options{Root: cmd.Process.Pid})
		if err != nil {
			t.Fatal(err)
		}
		j := journal.New(journal.Options{})
		w := &watcher{tree: tree, run: &Run{pid: cmd.Process.Pid, cage: bounded{}, spec: Spec{Journal: j, OnExit: onExit, Grace: time.Second}}}
		w.lookAtTree(time.Now())
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		w.run.cage = bounded{counted{kills: 1}}
		if _, err := w.endLeftovers(); err != nil {
			t.Fatal(err)
		}
		if got := w.countKills(); got != 1 {
			t.Errorf("%v: %d kills", onExit, got)
		}
	}
}
