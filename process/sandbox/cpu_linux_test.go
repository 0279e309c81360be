package sandbox_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// niceOfPid reads field 19 of /proc/PID/stat (proc_pid_stat(5)).
func niceOfPid(t *testing.T, pid int) int {
	t.Helper()
	body, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(body[bytes.LastIndexByte(body, ')')+2:]))
	n, err := strconv.Atoi(fields[16])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// cpuTime is user and system time of a process in clock ticks.
func cpuTime(t *testing.T, pid int) int {
	t.Helper()
	body, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(body[bytes.LastIndexByte(body, ')')+2:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return user + system
}

// TestWeightIsHeld in every layer: by a group, or by nice values from the first instruction; and
// the command's children are nicer than it.
func TestWeightIsHeld(t *testing.T) {
	inEachLayer(t, func(t *testing.T, layer sandbox.Layer) {
		s := spec(t, layer, "sleep", "4000")
		s.Path, s.Args = "/bin/sh", []string{"sh", "-c", "cat /proc/self/stat >&2; sleep 60 & echo $! >&2; wait"}
		out, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		s.Files[2] = w
		s.Limits.CPUWeight = sandbox.BackgroundWeight
		r, err := sandbox.Start(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		_ = w.Close()
		defer r.Kill()
		var first string
		var child int
		if _, err := fmt.Fscanf(out, "%s", &first); err != nil {
			t.Fatal(err)
		}
		text := make([]byte, 4096)
		for deadline := time.Now().Add(10 * time.Second); child == 0 && time.Now().Before(deadline); {
			n, _ := out.Read(text)
			lines := strings.Split(strings.TrimSpace(string(text[:n])), "\n")
			child, _ = strconv.Atoi(lines[len(lines)-1])
		}
		if child == 0 {
			t.Fatal("the child did not say who it is")
		}
		want := niceOfPid(t, os.Getpid())
		switch held := r.Strength().CPU; held {
		case sandbox.ByKernel:
		case sandbox.ByProcess:
			want = min(want+2, 19) // 1.25^-2 is 0.64
		default:
			t.Fatalf("the weight is held by %q", held)
		}
		if got := niceOfPid(t, r.PID()); got != want {
			t.Errorf("the command has nice %d, want %d (weight by %s)", got, want, r.Strength().CPU)
		}
		got := 0
		wait.Until(t, "its child gives way", func() bool { got = niceOfPid(t, child); return got > want || want == 19 })
		if got != min(want+5, 19) {
			t.Errorf("its child has nice %d, want %d", got, min(want+5, 19))
		}
		_ = r.Kill()
		if _, err := r.Wait(); err != nil {
			t.Error(err)
		}
	})
}

// TestWhoeverLooksFirst: who lists the run's processes all the time, as the watches over disks and orphans do, takes
// no child's nice value away.
func TestWhoeverLooksFirst(t *testing.T) {
	inEachLayer(t, func(t *testing.T, layer sandbox.Layer) {
		s := spec(t, layer, "sleep", "4000")
		s.Path, s.Args = "/bin/sh", []string{"sh", "-c", "sleep 0.2; for i in 1 2 3 4; do sleep 60 & sleep 0.01; done; wait"}
		s.Limits.CPUWeight = sandbox.BackgroundWeight
		r, err := sandbox.Start(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		want := min(niceOfPid(t, r.PID())+5, 19)
		nicer, seen := 0, 0
		all := wait.Reached(wait.Bound, func() bool {
			nicer, seen = 0, 0
			for _, m := range r.Family() {
				if m.Command || m.Name != "sleep" || m.Age < time.Second {
					continue
				}
				seen++
				if niceOfPid(t, m.PID) == want {
					nicer++
				}
			}
			return nicer >= 4 && nicer == seen // on a slow machine the first sleep is one of them
		})
		if !all {
			t.Errorf("%d of at least 4 children (%d seen) have nice %d", nicer, seen, want)
		}
		_ = r.Kill()
		_, _ = r.Wait()
	})
}

// TestASessionGivesWayByItsWeightAlone: where sessions are weighed (sched(7), autogroups) a command's session is as nice as its weight says, also
// for a plimsoll that is nice itself: that one's nice value counts in its session, and the new session has lost nothing to it yet.
func TestASessionGivesWayByItsWeightAlone(t *testing.T) {
	own, err := os.ReadFile("/proc/self/autogroup")
	if err != nil {
		t.Skip("this kernel weighs no sessions")
	}
	const nicer = "PLIMSOLL_TEST_NICER"
	if os.Getenv(nicer) == "" {
		cmd := exec.Command("nice", "-n", "10", os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), nicer+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("at nice 10: %v\n%s", err, out)
		}
	}
	s := spec(t, sandbox.Rlimit, "sleep", "4000")
	s.Limits.CPUWeight, s.Detach = sandbox.BackgroundWeight, true
	r, err := sandbox.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Kill(); _, _ = r.Wait() }()
	var word, ours string
	var before int
	_, _ = fmt.Sscanf(string(own), "%s %s %d", &ours, &word, &before)
	var text []byte
	wait.Until(t, fmt.Sprintf("a session of its own with nice %d beside %q", min(before+2, 19), own), func() bool {
		text, _ = os.ReadFile(fmt.Sprintf("/proc/%d/autogroup", r.PID()))
		var name string
		var got int
		n, _ := fmt.Sscanf(string(text), "%s %s %d", &name, &word, &got)
		return n == 3 && name != ours && got == min(before+2, 19)
	}, func() string { return string(text) })
}

// TestNormalWeightChangesNothing: no process is touched.
func TestNormalWeightChangesNothing(t *testing.T) {
	inEachLayer(t, func(t *testing.T, layer sandbox.Layer) {
		s := spec(t, layer, "family", "1", "1", "1")
		in, inW, _ := os.Pipe()
		s.Files[0] = in
		s.Limits.CPUWeight = sandbox.NormalWeight
		r, err := sandbox.Start(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(1500 * time.Millisecond)
		own := niceOfPid(t, os.Getpid())
		if got := niceOfPid(t, r.PID()); got != own {
			t.Errorf("the command has nice %d", got)
		}
		if c, ok := r.LargestChild(); ok && niceOfPid(t, c.PID) != own {
			t.Errorf("a child has nice %d", niceOfPid(t, c.PID))
		}
		_ = inW.Close()
		_, _ = r.Wait()
	})
}

// TestQuota: under a group a burner gets no more than it may; elsewhere it is said that nobody
// holds it.
func TestQuota(t *testing.T) {
	eachLayer(t, false, func(t *testing.T, layer sandbox.Layer) {
		s := spec(t, layer, "sleep", "1")
		s.Path, s.Args = "/bin/sh", []string{"sh", "-c", "while :; do :; done"}
		s.Limits.CPUs = 0.2
		r, err := sandbox.Start(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Wait()
		defer r.Kill()
		held := r.Strength().CPUs
		if layer == sandbox.Rlimit || layer == sandbox.Monitor {
			if held != sandbox.ByNobody {
				t.Errorf("the quota is held by %q", held)
			}
			return
		}
		if held != sandbox.ByKernel {
			t.Skipf("no CPU controller is offered in layer %s here", layer)
		}
		began, before := time.Now(), cpuTime(t, r.PID())
		time.Sleep(3 * time.Second)
		used := float64(cpuTime(t, r.PID())-before) / 100 / time.Since(began).Seconds()
		if used > 0.3 { // a period's worth of slack
			t.Errorf("a quota of 0.2 processors let %.2f through", used)
		}
	})
}

// TestProcessorTimeIsOfTheWholeTree: what the kernel counted for a command, for a child that it waited for and for an orphan is the run's.
func TestProcessorTimeIsOfTheWholeTree(t *testing.T) {
	eachLayer(t, false, func(t *testing.T, layer sandbox.Layer) {
		dir := t.TempDir()
		const burn = `i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done`
		s := spec(t, layer, "sleep", "1")
		s.Limits.CPUWeight = sandbox.NormalWeight - 1 // a group of cgroup v1 counts where it has a weight
		s.Path, s.Dir, s.Subreaper, s.Observe = "/bin/sh", dir, true, func(sandbox.Sample) {}
		s.Args = []string{"sh", "-c", `(setsid sh -c '` + burn + `; times > orphan; sleep 1; : > done' &); sh -c '` + burn + `; times > child'; ` + burn + `; times > own; while ! [ -e done ]; do sleep 0.1; done; sleep 0.6`}
		r, err := sandbox.Start(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		res, err := r.Wait()
		if err != nil || res.ExitCode != 0 {
			t.Fatalf("%+v, %v", res, err)
		}
		var counted time.Duration
		for _, name := range []string{"orphan", "child", "own"} { // the first line of times is the shell's own
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			line, _, _ := strings.Cut(string(text), "\n")
			for field := range strings.FieldsSeq(line) {
				d, err := time.ParseDuration(field)
				if err != nil {
					t.Fatalf("%q: %v", text, err)
				}
				counted += d
			}
		}
		if res.CPU < counted*85/100 || res.CPUExact && res.CPU > counted*2+time.Second {
			t.Errorf("%s says %s (exact: %v), the kernel counted %s", layer, res.CPU, res.CPUExact, counted)
		}
	})
}
