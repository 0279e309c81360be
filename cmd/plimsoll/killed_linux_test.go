package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// assertClean fails when anything of a run is left: claims, slots, groups, the agent.
func assertClean(t *testing.T, s *site, e *enclosure, agent int) {
	t.Helper()
	if files := s.claims(); len(files) != 0 {
		t.Errorf("claims are left: %v", files)
	}
	if slots := s.live().Runs; len(slots) != 0 {
		t.Errorf("slots are left: %+v", slots)
	}
	if groups := e.groups(); len(groups) != 0 {
		t.Errorf("groups are left: %v", groups)
	}
	if agent != 0 && lives(agent) {
		t.Errorf("the agent, pid %d, is left", agent)
		_ = syscall.Kill(agent, syscall.SIGKILL)
	}
}

// nextCommand runs the command that must clean up. A child that the supervisor had forked
// and that has not executed its command yet has a copy of the claim's lock. The next command
// waits a while for such a child; where the host is too busy even for that, the run counts as
// alive for that moment, and the command after that is the next one.
func (s *site) nextCommand(after string) {
	s.t.Helper()
	for i := 1; ; i++ {
		if o := s.plimsoll("run", "--quiet", "--enforcement", "off", "--", "true"); o.code != 0 || o.stdout+o.stderr != "" {
			s.t.Errorf("%s: the next command: %+v", after, o)
		}
		if len(s.claims()) == 0 || i == 20 {
			if i > 1 {
				s.t.Logf("%s: it took %d commands", after, i)
			}
			return
		}
	}
}

// TestASupervisorKilledAtAnyMomentLeavesNothingForGood kills plimsoll after random times;
// the next command must find and remove whatever there was.
func TestASupervisorKilledAtAnyMomentLeavesNothingForGood(t *testing.T) {
	t.Parallel()
	rounds := 30
	if testing.Short() {
		rounds = 5
	}
	for _, layer := range layersHere() {
		s := newSite(t)
		e := s.enclose()
		for i := range rounds {
			ready := filepath.Join(s.dir, fmt.Sprintf("ready-%d", i))
			cmd := s.command("run", "--layer", layer, "--memory-max", "200M", "--", "agent", "ready", ready)
			startUnattended(t, cmd)
			after := rand.N(60 * time.Millisecond)
			time.Sleep(after) // the moment is what is tested
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			s.nextCommand(fmt.Sprint(layer, ", killed after ", after))
			assertClean(t, s, e, pidIn(t, ready))
			if t.Failed() {
				t.Fatalf("%s, round %d, killed after %v", layer, i, after)
			}
		}
	}
}

// TestASupervisorKilledAtAChosenMoment kills plimsoll as soon as something is to be seen.
func TestASupervisorKilledAtAChosenMoment(t *testing.T) {
	t.Parallel()
	for _, layer := range layersHere() {
		for moment, seen := range map[string]func(s *site, e *enclosure, ready string) bool{
			"claimed": func(s *site, _ *enclosure, _ string) bool { return len(s.claims()) > 0 },
			"grouped": func(_ *site, e *enclosure, _ string) bool { return len(e.groups()) > 0 },
			"running": func(s *site, _ *enclosure, ready string) bool { return pidIn(t, ready) != 0 },
		} {
			s := newSite(t)
			e := s.enclose()
			if moment == "grouped" && (layer != "cgroup1" || len(e.dirs) == 0) {
				continue
			}
			ready := filepath.Join(s.dir, "ready")
			cmd := s.command("run", "--layer", layer, "--memory-max", "200M", "--", "agent", "ready", ready)
			startUnattended(t, cmd)
			wait.Until(t, moment, func() bool { return seen(s, e, ready) })
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			s.nextCommand(layer + ", killed when " + moment)
			assertClean(t, s, e, pidIn(t, ready))
			if t.Failed() {
				t.Fatalf("%s, killed when %s", layer, moment)
			}
		}
	}
}

// TestKilledWhileItEndsLeftovers: a run whose command has ended and whose leftovers get
// their grace is cleaned up too.
func TestKilledWhileItEndsLeftovers(t *testing.T) {
	t.Parallel()
	for _, layer := range layersHere() {
		s := newSite(t)
		e := s.enclose()
		pidFile := filepath.Join(s.dir, "pid")
		cmd := s.command("run", "--layer", layer, "--memory-max", "200M", "--", "sh", "-c",
			`(trap "" TERM; echo ready > `+pidFile+`.ready; exec agent daemon `+pidFile+`) && test -s `+pidFile)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		wait.Until(t, "the daemon runs", func() bool { body, err := os.ReadFile(pidFile); return err == nil && len(body) > 0 })
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		s.nextCommand(layer)
		body, _ := os.ReadFile(pidFile)
		var daemon int
		_, _ = fmt.Sscan(string(body), &daemon)
		assertClean(t, s, e, daemon)
	}
}

// collect is `plimsoll gc --json`.
func (s *site) collect(args ...string) app.Collection {
	s.t.Helper()
	o := s.plimsoll(append([]string{"gc", "--json"}, args...)...)
	var c app.Collection
	if err := json.Unmarshal([]byte(o.stdout), &c); err != nil || o.code != 0 {
		s.t.Fatalf("gc: %v, %+v", err, o)
	}
	return c
}

// startUnattended starts a command with a standard input that never ends and that nobody but the command and its children holds: no editor
// talks to it, so nothing of it ends or is cleaned up with this process.
func startUnattended(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "input")
	if err := unix.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	cmd.Stdin = in
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
}

func killedRun(t *testing.T, s *site, args ...string) (agent int) {
	t.Helper()
	ready := filepath.Join(t.TempDir(), "ready")
	cmd := s.command(append(append([]string{"run", "--quiet"}, args...), "agent", "ready", ready)...)
	startUnattended(t, cmd)
	wait.Until(t, "the agent is ready", func() bool { return pidIn(t, ready) != 0 })
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return pidIn(t, ready)
}

func TestGCRemovesWhatAKilledRunLeft(t *testing.T) {
	t.Parallel()
	for _, layer := range layersHere() {
		s := newSite(t)
		e := s.enclose()
		agent := killedRun(t, s, "--layer", layer)
		had := e.groups()
		c := s.collect("--dry-run")
		if i := slices.IndexFunc(c.Removed, func(g app.Garbage) bool { return g.Kind == "claim" }); i < 0 || !c.DryRun {
			t.Errorf("%s: a dry run does not see the claim: %+v", layer, c)
		}
		if !lives(agent) || len(s.claims()) == 0 || !slices.Equal(had, e.groups()) {
			t.Errorf("%s: a dry run changed something", layer)
		}
		c = s.collect()
		if i := slices.IndexFunc(c.Removed, func(g app.Garbage) bool { return g.Kind == "claim" }); i < 0 {
			t.Errorf("%s: gc: %+v", layer, c)
		}
		assertClean(t, s, e, agent)
		if c := s.collect("--dry-run"); slices.ContainsFunc(c.Removed, func(g app.Garbage) bool { return g.Kind == "claim" }) {
			t.Errorf("%s: a second time: %+v", layer, c)
		}
	}
}

// mine are the entries about groups of this enclosure.
func mine(list []app.Garbage, e *enclosure) []app.Garbage {
	return slices.DeleteFunc(slices.Clone(list), func(g app.Garbage) bool {
		return !slices.ContainsFunc(e.dirs, func(dir string) bool { return strings.Contains(g.Name, dir+"/") })
	})
}

func TestGCAndALostStateDirectory(t *testing.T) { // not beside other tests' gc, which sees this group too
	if chosenLayer().name != "cgroup1" {
		t.Skip("the enclosure of this test needs cgroup v1")
	}
	s := newSite(t)
	e := s.enclose()
	agent := killedRun(t, s)
	if err := os.RemoveAll(filepath.Join(s.state, "run")); err != nil {
		t.Fatal(err)
	}
	// The run is young: its supervisor may only use another state directory.
	if c := s.collect(); len(mine(c.Kept, e)) != 1 || len(mine(c.Removed, e)) != 0 {
		t.Errorf("a young group: %+v", c)
	}
	if !lives(agent) {
		t.Error("gc ended a run that it knows nothing about")
	}
	_ = syscall.Kill(agent, syscall.SIGKILL)
	wait.Until(t, "the group counts as lost when it is empty", func() bool { return len(mine(s.collect("--dry-run").Removed, e)) == 1 })
	if len(e.groups()) == 0 {
		t.Error("a dry run removed it")
	}
	if c := s.collect(); len(mine(c.Removed, e)) != 1 {
		t.Errorf("an empty group: %+v", c)
	}
	assertClean(t, s, e, agent)
}

func TestGCLeavesARunOfAnotherStateDirectoryAlone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	e := s.enclose()
	cmd, in, _ := s.heldRun()
	other := newSite(t)
	c := other.collect()
	if len(mine(c.Removed, e)) != 0 {
		t.Errorf("removed %+v", c.Removed)
	}
	for _, g := range mine(c.Kept, e) {
		if !strings.Contains(g.Why, "may be its supervisor") {
			t.Errorf("kept because %q", g.Why)
		}
	}
	if c := s.collect(); len(mine(c.Removed, e)) != 0 {
		t.Errorf("its own ledger: %+v", c)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("the run ended with %v", err)
	}
	assertClean(t, s, e, 0)
}

func TestGCRemovesOldFiles(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.plimsoll("run", "--quiet", "--", "true")
	long := time.Now().Add(-8 * 24 * time.Hour)
	history := filepath.Join(s.state, "history")
	files := map[string]bool{ // whether it goes
		filepath.Join(history, "web-1.tmp-abc"):                      true,
		filepath.Join(history, "young-1.tmp-abc"):                    false,
		filepath.Join(s.state, "run", "ledger", "unused-boot"):       true,
		filepath.Join(s.state, "run", "ledger", "other-host"):        false,
		filepath.Join(s.state, "run", "ledger", "other-host-in-use"): false,
	}
	for file := range files {
		if strings.Contains(file, ".tmp-") {
			testfile.Write(t, file, "")
		} else if err := os.MkdirAll(filepath.Join(file, "claims"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := os.Create(filepath.Join(s.state, "run", "ledger", "other-host-in-use", "claims", "abc.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	for file := range files {
		if name := filepath.Base(file); !strings.HasPrefix(name, "young") && name != "other-host" {
			if err := os.Chtimes(file, long, long); err != nil {
				t.Fatal(err)
			}
		}
	}
	dry := s.collect("--dry-run")
	wet := s.collect()
	for name, c := range map[string]app.Collection{"dry": dry, "real": wet} {
		for file, goes := range files {
			if listed := slices.ContainsFunc(c.Removed, func(g app.Garbage) bool { return g.Name == file }); listed != goes {
				t.Errorf("%s: %s listed %t, want %t", name, file, listed, goes)
			}
		}
	}
	for file, goes := range files {
		if _, err := os.Stat(file); (err != nil) != goes {
			t.Errorf("%s: gone %t, want %t", file, err != nil, goes)
		}
	}
}

// TestWhatIsLeftOnPurposeStays: --on-exit leave is a promise that later commands keep.
func TestWhatIsLeftOnPurposeStays(t *testing.T) {
	t.Parallel()
	for _, layer := range layersHere() {
		s := newSite(t)
		e := s.enclose()
		pidFile := filepath.Join(s.dir, "pid")
		o := s.plimsoll("run", "--quiet", "--layer", layer, "--on-exit", "leave", "--", "sh", "-c",
			"agent daemon "+pidFile)
		if o.code != 0 {
			t.Fatalf("%s: %+v", layer, o)
		}
		body := testfile.Read(t, pidFile)
		var pid int
		if _, err := fmt.Sscan(string(body), &pid); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
		if o := s.plimsoll("run", "--", "true"); o.code != 0 || strings.Contains(o.stderr, "left") {
			t.Errorf("%s: the next run: %+v", layer, o)
		}
		c := s.collect()
		if len(c.Kept) == 0 || !strings.Contains(c.Kept[0].Why, "left") {
			t.Errorf("%s: gc: %+v", layer, c)
		}
		if !lives(pid) {
			t.Errorf("%s: what was left on purpose was ended", layer)
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
		wait.Until(t, "it is gone", func() bool { // for the kernel too: a process of many threads dies in steps
			return !lives(pid) && !slices.ContainsFunc(s.collect().Kept, func(g app.Garbage) bool { return g.Kind == "claim" })
		})
		assertClean(t, s, e, pid)
	}
}

// TestAStoppedSupervisorKeepsItsClaim: Ctrl-Z is not death.
func TestAStoppedSupervisorKeepsItsClaim(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	cmd, in, agent := s.heldRun()
	if err := exec.Command("kill", "-STOP", pidOf(cmd)).Run(); err != nil {
		t.Fatal(err)
	}
	if c := s.collect(); slices.ContainsFunc(c.Removed, func(g app.Garbage) bool { return g.Kind == "claim" }) || len(s.live().Runs) != 1 {
		t.Errorf("gc: %+v, slots %+v", c, s.live().Runs)
	}
	if !lives(agent) {
		t.Error("the agent was ended")
	}
	_ = cmd.Process.Signal(syscall.SIGCONT)
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}
