package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"

	"github.com/creack/pty"

	"github.com/plimsoll/plimsoll/internal/testing/night"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// TestManyProcessesAtOnce: eight shells that each run a command fifty times, with three
// slots between them. Lock files that the command takes, and nothing of ours, tell that no
// more than three ever ran.
func TestManyProcessesAtOnce(t *testing.T) {
	t.Parallel()
	const shells, slots = 8, 3
	runs := night.Else(50, 25) // of all of them more are run than are kept
	if testing.Short() {
		runs = 10
	}
	s := newSite(t)
	e := s.enclose()
	s.configure(fmt.Sprintf("[tools.codex]\nmax_concurrent = %d\n", slots))
	locks := t.TempDir()
	var wg sync.WaitGroup
	for shell := range shells {
		wg.Go(func() {
			for run := range runs {
				line := []string{"run", "--quiet", "--wait", "--tool", "codex", "--"}
				if (shell+run)%10 == 0 { // the inner run takes no slot of its own, whatever it counts as
					line = append(line, "plimsoll", "run", "--quiet", "--tool", "codex", "--")
				}
				o := s.plimsoll(append(line, "agent", "slot", locks, fmt.Sprint(slots))...)
				if o.code != 0 || o.stdout+o.stderr != "" {
					t.Errorf("shell %d, run %d: %+v", shell, run, o)
					return
				}
			}
		})
	}
	wg.Wait()
	nested := 0
	for shell := range shells {
		for run := range runs {
			if (shell+run)%10 == 0 {
				nested++
			}
		}
	}
	sum := s.summary("codex")
	if want := int64(shells*runs + nested); sum.Recorded != want {
		t.Errorf("recorded %d, want %d", sum.Recorded, want)
	}
	if want := min(200, shells*runs+nested); sum.Samples != want {
		t.Errorf("kept %d, want %d", sum.Samples, want)
	}
	assertClean(t, s, e, 0)
}

// An estimate above what the host has is cut to it for the limits of the run, and it still never fits.
func TestWhatCanNeverFitFailsAtOnceHoweverLongItMayWait(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.configure("[tools.codex]\ninitial_estimate = \"400T\"\n")
	for _, wait := range []string{"--wait", "--wait=700h"} {
		o := s.plimsoll("run", wait, "--tool", "codex", "--", "touch", "ran")
		if o.code != 125 || o.stdout != "" {
			t.Errorf("%s: status %d: %q", wait, o.code, o.stdout)
		}
		contains(t, wait, o.stderr, "there will never be more than", "lower initial_estimate (", "which asks for 400 TiB")
	}
	if list := s.live().Runs; len(list) != 0 {
		t.Errorf("it is in the ledger: %+v", list)
	}
}

func TestWithoutWaitTheErrorNamesWhoHoldsWhat(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.configure("[tools.codex]\nmax_concurrent = 1\n")
	cmd, in, _ := s.heldRun("--tool", "codex")
	r, o := s.report("--tool", "codex", "--", "true")
	if o.code != 125 || r.Outcome != "refused" || o.stdout != "" {
		t.Errorf("status %d, outcome %s, %q", o.code, r.Outcome, o.stdout)
	}
	contains(t, "the refusal", o.stderr, "codex", "web", pidOf(cmd), "--wait")
	if o := s.plimsoll("run", "--quiet", "--wait=50ms", "--tool", "codex", "--", "true"); o.code != 125 {
		t.Errorf("after a wait: %+v", o)
	}
	if o := s.plimsoll("run", "--quiet", "--tool", "claude", "--", "true"); o.code != 0 {
		t.Errorf("another tool has slots of its own: %+v", o)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if o := s.plimsoll("run", "--quiet", "--tool", "codex", "--", "true"); o.code != 0 {
		t.Errorf("the slot is free again: %+v", o)
	}
}

// TestCtrlCLeavesTheQueue, in a terminal and without one.
func TestCtrlCLeavesTheQueue(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.configure("[tools.codex]\nmax_concurrent = 1\n")
	first, in, _ := s.heldRun("--tool", "codex")
	queued := func() bool {
		for _, slot := range s.live().Runs {
			if slot.Position > 0 {
				return true
			}
		}
		return false
	}

	waiter := s.command("run", "--wait", "--tool", "codex", "--", "touch", "ran")
	if err := waiter.Start(); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "it waits", queued)
	_ = waiter.Process.Signal(syscall.SIGINT)
	_ = waiter.Wait()
	// Death by the signal is what a shell shows as 130, and what ends its loop.
	if end := waiter.ProcessState.Sys().(syscall.WaitStatus); !end.Signaled() || end.Signal() != syscall.SIGINT {
		t.Errorf("status %v, want death by SIGINT", waiter.ProcessState)
	}
	if queued() {
		t.Errorf("it is still in the queue: %+v", s.live().Runs)
	}

	typed := s.command("run", "--wait", "--tool", "codex", "--", "touch", "ran")
	typed.Env = append(typed.Env, "TERM=xterm")
	tty, err := pty.Start(typed)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	screen := make([]byte, 0, 4096)
	buf := make([]byte, 4096)
	for !strings.Contains(string(screen), "Ctrl-C") {
		n, err := tty.Read(buf)
		if err != nil {
			t.Fatalf("%v after %q", err, screen)
		}
		screen = append(screen, buf[:n]...)
	}
	contains(t, "the screen", string(screen), "waiting for", "1 of 1")
	if _, err := tty.Write([]byte{3}); err != nil {
		t.Fatal(err)
	}
	_ = typed.Wait()
	if end := typed.ProcessState.Sys().(syscall.WaitStatus); !end.Signaled() || end.Signal() != syscall.SIGINT {
		t.Errorf("in a terminal: status %v, want death by SIGINT", typed.ProcessState)
	}
	if queued() {
		t.Errorf("it is still in the queue: %+v", s.live().Runs)
	}

	report := filepath.Join(s.dir, "report.json")
	shell := s.command("run", "--wait", "--report", report, "--tool", "codex", "--", "touch", "ran")
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "it waits", queued)
	_ = shell.Process.Signal(syscall.SIGTERM)
	_ = shell.Wait()
	body := testfile.Read(t, report)
	contains(t, "the report of one that gave up", string(body), `"exit_code": 143`, `"signal": "SIGTERM"`, `"outcome": "signalled"`)

	// One that is killed in the queue leaves it, too.
	killed := s.command("run", "--wait", "--tool", "codex", "--", "touch", "ran")
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "it waits", queued)
	_ = killed.Process.Kill()
	_ = killed.Wait()
	if o := s.plimsoll("run", "--quiet", "--tool", "claude", "--", "true"); o.code != 0 || queued() {
		t.Errorf("%+v, slots %+v", o, s.live().Runs)
	}
	in.Close()
	if err := first.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "ran")); err == nil {
		t.Error("one that left the queue ran")
	}
	if files := s.claims(); len(files) != 0 {
		t.Errorf("claims are left: %v", files)
	}
}

// TestARunInsideARun: under each layer, the inner run draws on the outer's claim, and its
// group is under the outer's.
func TestARunInsideARun(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	e := s.enclose()
	s.configure("[resources]\nmax_concurrent_total = 1\n")
	for _, outer := range layersHere() {
		for _, inner := range layersHere() {
			o := s.plimsoll("run", "--quiet", "--layer", outer, "--memory-max", "300M", "--",
				"plimsoll", "run", "--quiet", "--layer", inner, "--memory-max", "200M", "--",
				"sh", "-c", "cat /proc/self/cgroup; exit 9")
			if o.code != 9 || o.stderr != "" {
				t.Errorf("%s in %s: %+v", inner, outer, o)
			}
			if outer == "cgroup1" && inner == "cgroup1" && strings.Count(memoryGroup(o.stdout), "plimsoll-") != 2 {
				t.Errorf("the inner group is not under the outer's: %s", memoryGroup(o.stdout))
			}
		}
	}
	o := s.plimsoll("run", "--quiet", "--", "plimsoll", "top", "--once", "--json")
	if list := s.liveIn(o).Runs; o.code != 0 || len(list) != 1 {
		t.Errorf("seen from inside: %+v", list)
	}
	o = s.plimsoll("run", "--quiet", "--", "plimsoll", "run", "--quiet", "--", "plimsoll", "run", "--quiet", "--", "plimsoll", "top", "--once", "--json")
	list := s.liveIn(o).Runs
	if o.code != 0 || len(list) != 3 || list[0].Parent != "" || list[1].Parent != list[0].ID || list[2].Parent != list[1].ID {
		t.Errorf("three deep: %+v", list)
	}
	assertClean(t, s, e, 0)
}

func memoryGroup(groups string) string {
	for line := range strings.Lines(groups) {
		if strings.Contains(line, ":memory:") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}
