package sandbox_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/proctree"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// family starts an agent of 80 MB with children of 40 MB each, behind a shell when
// launched, and waits until a child is found that holds its memory. The agent ends when the test does.
func family(t *testing.T, layer sandbox.Layer, launched bool, children int) (*sandbox.Run, *sandbox.Spec) {
	t.Helper()
	in, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := spec(t, layer, "family", "80", fmt.Sprint(children), "40")
	s.Files[0] = in
	s.Journal = journal.New(journal.Options{})
	if launched {
		s.Launcher = true
		s.Args = []string{"sh", "-c", `"$0" "$@"; exit $?`, s.Path, "80", fmt.Sprint(children), "40"}
		s.Path = "/bin/sh"
	}
	r, err := sandbox.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	in.Close()
	t.Cleanup(func() {
		inW.Close()
		if res, err := r.Wait(); err != nil || res.ExitCode != 0 {
			t.Errorf("the agent should have ended by itself: %+v, %v", res, err)
		}
	})
	wait.Until(t, "a child holds its memory", func() bool {
		c, ok := r.LargestChild()
		return ok && c.Bytes >= 40*limit.MiB && c.Bytes <= 60*limit.MiB // between fork and exec it has the agent's
	})
	return r, &s
}

// until asks again and again, for ten seconds.

// stateOf is the kernel's letter for a process, 0 when it is gone.
func stateOf(pid int) byte {
	body, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if i := bytes.LastIndexByte(body, ')'); err == nil && i >= 0 && i+2 < len(body) {
		return body[i+2]
	}
	return 0
}

func TestTheLargestChildIsStoppedAndContinued(t *testing.T) {
	eachLayer(t, false, func(t *testing.T, layer sandbox.Layer) {
		r, s := family(t, layer, false, 2)
		c, _ := r.LargestChild()
		if c.PID == r.PID() || c.Bytes > 60*limit.MiB {
			t.Fatalf("%+v is the agent (pid %d)", c, r.PID())
		}
		if err := r.StopChild(c); err != nil {
			t.Fatal(err)
		}
		wait.Until(t, "the child is stopped", func() bool { return stateOf(c.PID) == 'T' })
		if s := stateOf(r.PID()); s == 'T' {
			t.Error("the agent is stopped too")
		}
		if err := r.ContinueChild(c); err != nil {
			t.Fatal(err)
		}
		wait.Until(t, "the child goes on", func() bool { return stateOf(c.PID) != 'T' })
		stale := c
		stale.Start++
		if err := r.StopChild(stale); err == nil {
			t.Error("a process that has another's pid was stopped")
		}
		if err := r.KillChild(sandbox.Child{PID: r.PID()}); err == nil {
			t.Error("the command itself passes for a child")
		}
		thawedByAPeer(t, r, s)
		killedWhileFrozen(t, r, s)
		// Left stopped: the end of the run continues it, so that it hears the SIGTERM.
		// The child that was killed may be found for a moment longer.
		wait.Until(t, "the second child is stopped", func() bool {
			last, ok := r.LargestChild()
			return ok && r.StopChild(last) == nil
		})
	})
}

// What holds the memory of a run is told by process, to whoever observes it.
func TestSharesNameEachProcess(t *testing.T) {
	inEachLayer(t, func(t *testing.T, layer sandbox.Layer) {
		var mu sync.Mutex
		held := map[string]limit.Bytes{}
		in, inW, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		s := spec(t, layer, "family", "80", "2", "40")
		s.Files[0] = in
		s.Args = []string{"sh", "-c", `sleep 1; exec "$0" "$@"`, s.Path, "80", "2", "40"} // what is a shell at first
		s.Path = "/bin/sh"
		s.Observe = func(now sandbox.Sample) {
			mu.Lock()
			defer mu.Unlock()
			clear(held)
			for name, bytes := range now.Shares {
				held[name] += bytes
			}
		}
		r, err := sandbox.Start(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		in.Close()
		name := proctree.Name(os.Getpid()) // all of them are this program
		wait.Until(t, "the agent and both children hold their memory", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return held[name] >= 160*limit.MiB && held[name] < 320*limit.MiB
		}, func() string { mu.Lock(); defer mu.Unlock(); return fmt.Sprint(held) })
		inW.Close()
		if res, err := r.Wait(); err != nil || res.ExitCode != 0 {
			t.Errorf("%+v, %v", res, err)
		}
	})
}

func killedWhileFrozen(t *testing.T, r *sandbox.Run, s *sandbox.Spec) {
	t.Helper()
	c, _ := r.LargestChild()
	if err := r.Freeze(true); err != nil {
		t.Fatal(err)
	}
	if !r.Frozen() {
		t.Error("the run does not know that it is frozen")
	}
	if err := r.KillChild(c); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the child has gone", func() bool { return !processExists(c.PID) })
	if r.Frozen() || !processExists(r.PID()) {
		t.Error("a kill thaws the run and leaves the agent alone")
	}
	noted := false
	for rec := range s.Journal.Since(0) {
		e, ok := rec.Event.(journal.ChildKilled)
		noted = noted || ok && e.PID == c.PID && e.By == "plimsoll" && e.Bytes >= int64(40*limit.MiB)
	}
	if !noted {
		t.Error("the journal does not name it")
	}
}

func TestTheChainToTheAgentIsNoChild(t *testing.T) {
	inEachLayer(t, func(t *testing.T, layer sandbox.Layer) {
		r, _ := family(t, layer, true, 1)
		agent := 0
		wait.Until(t, "the shell has started the agent", func() bool {
			agent = childOf(r.PID())
			return agent != 0
		})
		c, ok := r.LargestChild()
		if !ok || c.PID == agent || c.PID == r.PID() || c.Bytes > 60*limit.MiB {
			t.Errorf("the largest child of shell %d with agent %d is %+v", r.PID(), agent, c)
		}
	})
}

// A shell that puts something into the background before it becomes the agent: that is no agent, and is found when its parent has gone.
func TestWhoLostItsLauncherIsNoAgent(t *testing.T) {
	eachLayer(t, false, func(t *testing.T, layer sandbox.Layer) {
		s := spec(t, layer, "family")
		s.Launcher, s.Path = true, "/bin/sh"
		s.Args = []string{"sh", "-c", "( sleep 300 & sleep 2; true ); exec sleep 300"}
		r, err := sandbox.Start(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = r.Signal(syscall.SIGKILL)
			_, _ = r.Wait()
		})
		wait.Until(t, "the forgotten process is an orphan", func() bool {
			return slices.ContainsFunc(r.Family(), func(m sandbox.Member) bool { return m.Orphan && !m.Command && m.Name == "sleep" })
		})
	})
}

// childOf finds a child of pid.
func childOf(pid int) int {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range files {
		body, _ := os.ReadFile(file)
		child := 0
		if _, err := fmt.Sscan(string(body), &child); err == nil {
			return child
		}
	}
	return 0
}

func thawedByAPeer(t *testing.T, r *sandbox.Run, s *sandbox.Spec) {
	t.Helper()
	remains := remainsOf(t, r, s)
	c, _ := r.LargestChild()
	if err := r.StopChild(c); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the child is stopped", func() bool { return stateOf(c.PID) == 'T' })
	if err := r.Freeze(true); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the run is frozen", func() bool { return frozen(remains, r.PID()) })
	remains.Frozen, remains.Stopped = time.Now(), []sandbox.Child{c}
	for range 2 { // again is no harm
		if err := sandbox.Thaw(remains); err != nil {
			t.Fatal(err)
		}
	}
	wait.Until(t, "all go on", func() bool { return !frozen(remains, r.PID()) && stateOf(c.PID) != 'T' })

	foreign := remains
	foreign.Groups = []string{"/sys/fs/cgroup/unified"}
	if err := sandbox.Thaw(foreign); err == nil {
		t.Error("a group that is not the run's was touched")
	}
	if err := r.Freeze(false); err != nil { // the supervisor comes back and knows nothing of it
		t.Fatal(err)
	}
}

// remainsOf finds the groups of a run of this process by their name.
func remainsOf(t *testing.T, r *sandbox.Run, s *sandbox.Spec) sandbox.Remains {
	t.Helper()
	remains := sandbox.Remains{ID: s.ID, Layer: r.Layer(), PID: r.PID()}
	body, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", r.PID()))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(body)) {
		_, path, _ := strings.Cut(strings.TrimSpace(line), ":/")
		for path != "" && path != "." && path != "/" {
			if base := filepath.Base(path); strings.TrimSuffix(base, ".scope") == "plimsoll-"+s.ID {
				found, _ := filepath.Glob("/sys/fs/cgroup/*/" + path)
				direct, _ := filepath.Glob("/sys/fs/cgroup/" + path)
				remains.Groups = append(remains.Groups, append(found, direct...)...)
				break
			}
			path = filepath.Dir(path)
		}
	}
	slices.Sort(remains.Groups)
	remains.Groups = slices.Compact(remains.Groups)
	return remains
}

// frozen asks the groups; without one, the state of the command.
func frozen(remains sandbox.Remains, pid int) bool {
	for _, dir := range remains.Groups {
		for _, below := range []string{"", "/run"} {
			if body, err := os.ReadFile(dir + below + "/cgroup.events"); err == nil && strings.Contains(string(body), "frozen 1") {
				return true
			}
			if body, err := os.ReadFile(dir + below + "/freezer.state"); err == nil && strings.TrimSpace(string(body)) == "FROZEN" {
				return true
			}
		}
	}
	return stateOf(pid) == 'T'
}
