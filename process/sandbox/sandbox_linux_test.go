package sandbox_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// The test binary plays the tools: it runs itself with toolVar set.
const toolVar = "SANDBOX_TEST_TOOL"

func TestMain(m *testing.M) {
	if tool := os.Getenv(toolVar); tool != "" {
		os.Exit(playTool(tool, os.Args[1:]))
	}
	// What runs beside other tests here waits for most of its time.
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil { // -parallel is read later
		panic(err)
	}
	os.Exit(m.Run())
}

// runs numbers the runs of this test binary.
var runs atomic.Int64

// available asks once which layers work on this host.
var available = func() map[sandbox.Layer]sandbox.Capability {
	found := map[sandbox.Layer]sandbox.Capability{}
	for _, c := range sandbox.Probe(contextBackground(), os.Getenv(sandbox.CookieName) != "") {
		found[c.Name] = c
	}
	return found
}

// wanted says whether a layer is to be tested: where each start is slow, PLIMSOLL_SANDBOX_LAYERS names those that
// are tested nowhere else.
func wanted(layer sandbox.Layer) bool {
	only := strings.Fields(os.Getenv("PLIMSOLL_SANDBOX_LAYERS"))
	return len(only) == 0 || slices.Contains(only, string(layer))
}

// eachLayer runs the test in every layer that works here and is wanted, and says which do not.
func eachLayer(t *testing.T, kernelOnly bool, test func(t *testing.T, layer sandbox.Layer)) {
	t.Helper()
	layers := probed()
	var any atomic.Bool
	for _, layer := range sandbox.Layers() {
		c, ok := layers[layer]
		if !ok || !wanted(layer) || kernelOnly && (layer == sandbox.Rlimit || layer == sandbox.Monitor) {
			continue
		}
		t.Run(string(layer), func(t *testing.T) {
			if !c.Available {
				t.Skipf("layer %s is not available here: %s", layer, c.Why)
			}
			any.Store(true)
			test(t, layer)
		})
	}
	if want := os.Getenv("PLIMSOLL_TEST_LAYERS"); want != "" {
		for name := range strings.SplitSeq(want, ",") {
			if !layers[sandbox.Layer(name)].Available {
				t.Errorf("this host was said to have layer %s, but: %s", name, layers[sandbox.Layer(name)].Why)
			}
		}
	}
	t.Cleanup(func() { // when layers that are tested at once have been
		if !any.Load() && !kernelOnly {
			t.Error("no layer is available here")
		}
	})
}

// inEachLayer is eachLayer for a test that waits for most of its time and measures nothing that others move: it runs beside others of its
// kind, in all layers at once. It may leave no orphan: where no kernel layer tells whose it is, each run of this process takes it for its own.
//
// The layers of cgroup v2 move this process, each to another place, and divide its group, in which no child of another test may be then: beside
// one of them runs no other.
func inEachLayer(t *testing.T, test func(t *testing.T, layer sandbox.Layer)) {
	t.Helper()
	t.Parallel()
	eachLayer(t, false, func(t *testing.T, layer sandbox.Layer) {
		t.Parallel()
		if layer == sandbox.Systemd || layer == sandbox.Cgroup2 {
			group.Lock()
			defer group.Unlock()
		} else {
			group.RLock()
			defer group.RUnlock()
		}
		test(t, layer)
	})
}

// group is locked by a test that moves this process from one group of cgroup v2 to another, and read-locked by one that does not.
var group sync.RWMutex

// spec describes a run of a tool that this binary plays.
func spec(t *testing.T, layer sandbox.Layer, tool string, args ...string) sandbox.Spec {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { null.Close() })
	return sandbox.Spec{
		ID:     fmt.Sprintf("t%d-%d", os.Getpid(), runs.Add(1)),
		Path:   self,
		Args:   append([]string{tool}, args...),
		Env:    append(os.Environ(), toolVar+"="+tool, "GOGC=off"),
		Files:  []*os.File{null, null, os.Stderr},
		Layers: []sandbox.Layer{layer},
		Detach: true, Subreaper: true,
		Limits: sandbox.Limits{Memory: 1 * limit.GiB, Pids: 400},
	}
}

func run(t *testing.T, s sandbox.Spec) sandbox.Result {
	t.Helper()
	r, err := sandbox.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	res, err := r.Wait()
	if err != nil {
		t.Errorf("after the run: %v", err)
	}
	return res
}

func TestExitStatusPassesThrough(t *testing.T) {
	eachLayer(t, false, func(t *testing.T, layer sandbox.Layer) {
		s := spec(t, layer, "exit", "7")
		if res := run(t, s); res.ExitCode != 7 || res.Signal != 0 || res.Peak.Bytes <= 0 {
			t.Errorf("got %+v", res)
		}
		s = spec(t, layer, "die", "15")
		if res := run(t, s); res.ExitCode != 143 || res.Signal != 15 {
			t.Errorf("got %+v", res)
		}
	})
}

func TestStreamsAndDescriptorsPass(t *testing.T) {
	eachLayer(t, false, func(t *testing.T, layer sandbox.Layer) {
		in, inW, _ := os.Pipe()
		outR, out, _ := os.Pipe()
		s := spec(t, layer, "cat")
		s.Files = []*os.File{in, out, os.Stderr}
		payload := bytes.Repeat([]byte{0, 1, 0xff, '\n', 'x'}, 200_000)
		go func() { _, _ = inW.Write(payload); inW.Close() }()
		r, err := sandbox.Start(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		out.Close()
		in.Close()
		got, _ := io.ReadAll(outR)
		if res, _ := r.Wait(); res.ExitCode != 0 || !bytes.Equal(got, payload) {
			t.Errorf("exit %d, %d bytes of %d came back", res.ExitCode, len(got), len(payload))
		}
	})
}

func TestCommandThatCannotRun(t *testing.T) {
	dir := t.TempDir()
	plain := dir + "/plain"
	if err := os.WriteFile(plain, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	script := dir + "/script"
	if err := os.WriteFile(script, []byte("exit 9\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	orphan := dir + "/orphan"
	if err := os.WriteFile(orphan, []byte("#!/no/such/interpreter\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	eachLayer(t, false, func(t *testing.T, layer sandbox.Layer) {
		for path, want := range map[string]int{dir + "/missing": 127, plain: 126, dir: 126, orphan: 126} {
			s := spec(t, layer, "x")
			s.Path = path
			_, err := sandbox.Start(t.Context(), s)
			var exec *sandbox.ExecError
			if !asExec(err, &exec) || exec.Status != want {
				t.Errorf("%s: got %v, want status %d", path, err, want)
			}
		}
		s := spec(t, layer, "x")
		s.Path = script
		if res := run(t, s); res.ExitCode != 9 {
			t.Errorf("a script without an interpreter line runs under sh: exit %d", res.ExitCode)
		}
	})
}

func TestPeakOfAShortSpikeIsTheKernels(t *testing.T) {
	eachLayer(t, true, func(t *testing.T, layer sandbox.Layer) {
		for name, c := range map[string]struct {
			args []string
			want limit.Bytes
		}{
			"one process, 200 MB for 50 ms": {[]string{"1", "200", "50"}, 200 * limit.MiB},
			"four children, 150 MB each":    {[]string{"4", "150", "300"}, 600 * limit.MiB},
		} {
			s := spec(t, layer, "spike", c.args...)
			s.Limits.Memory = 3 * limit.GiB / 2
			res := run(t, s)
			if res.ExitCode != 0 {
				t.Fatalf("%s: %+v", name, res)
			}
			if !res.Peak.Exact {
				t.Skipf("this kernel keeps no peak: %+v", res.Peak)
			}
			// Each process has a few MB of its own; what it takes is touched to the last page.
			n, _ := strconv.Atoi(c.args[0])
			if low, high := c.want, c.want*103/100+limit.Bytes(n+1)*16*limit.MiB; res.Peak.Bytes < low || res.Peak.Bytes > high {
				t.Errorf("%s: peak %d, want within [%d, %d]", name, res.Peak.Bytes, low, high)
			}
			if res.Peak.Working < c.want*95/100 {
				t.Errorf("%s: working set %s of %s", name, res.Peak.Working.Human(), c.want.Human())
			}
		}
	})
}

func TestWatchedPeakIsALowerBoundAndNeverZero(t *testing.T) {
	for _, layer := range []sandbox.Layer{sandbox.Rlimit, sandbox.Monitor} {
		if !wanted(layer) {
			t.Skipf("PLIMSOLL_SANDBOX_LAYERS leaves %s out", layer)
		}
		res := run(t, spec(t, layer, "exit", "0"))
		if res.Peak.Exact || res.Peak.Bytes <= 0 {
			t.Errorf("%s: %+v", layer, res.Peak)
		}
		res = run(t, spec(t, layer, "spike", "1", "300", "1200"))
		if res.Peak.Exact || res.Peak.Bytes < 290*limit.MiB || res.Peak.Bytes > 340*limit.MiB {
			t.Errorf("%s: 300 MB for more than a second: %+v", layer, res.Peak)
		}
	}
}

func TestAMemoryBombEndsWith137(t *testing.T) {
	eachLayer(t, false, func(t *testing.T, layer sandbox.Layer) {
		s := spec(t, layer, "spike", "1", "600", "3000")
		s.Limits.Memory = 200 * limit.MiB
		if layer == sandbox.Rlimit {
			s.Args = []string{"spike", "1", "2300", "10"} // above the floor of 2 GiB: the process itself is refused
		}
		res := run(t, s)
		if layer == sandbox.Rlimit {
			if res.ExitCode == 0 {
				t.Errorf("got %+v", res)
			}
			return
		}
		if res.ExitCode != 137 || !res.CommandOOM {
			t.Errorf("got %+v", res)
		}
		if c := res.Strength.Memory; c == sandbox.ByKernel && res.OOMKills == 0 {
			t.Errorf("no OOM kill counted: %+v", res)
		}
	})
}

func TestAForkBombIsHeld(t *testing.T) {
	eachLayer(t, false, func(t *testing.T, layer sandbox.Layer) {
		s := spec(t, layer, "forkbomb", "120")
		s.Limits.Pids = 40
		began := time.Now()
		res := run(t, s)
		if layer == sandbox.Rlimit || layer == sandbox.Monitor {
			if res.LimitKills == 0 {
				t.Errorf("nothing was ended over 40 processes: %+v", res)
			}
			return
		}
		if res.ExitCode != 11 { // 11: fork was refused
			t.Errorf("after %s: %+v", time.Since(began), res)
		}
	})
}

func TestTheAgentSurvivesItsChildren(t *testing.T) {
	times, spare := 1, 2 // on a busy machine the agent may be lost now and then; the gate asks for twenty, with nobody beside it
	if n, err := strconv.Atoi(os.Getenv("PLIMSOLL_TEST_SURVIVALS")); err == nil {
		times, spare = n, 0
	}
	eachLayer(t, true, func(t *testing.T, layer sandbox.Layer) {
		for survived, lost := 0, 0; survived < times; {
			s := spec(t, layer, "agent", "250", "8", "60")
			s.Limits.Memory = 400 * limit.MiB
			res := run(t, s)
			if res.CommandOOM && res.ExitCode == 0 {
				t.Errorf("time %d: a killed child is no OOM of the command", survived+1)
			}
			if res.ExitCode == 0 && res.OOMKills > 0 {
				survived++
				continue
			}
			t.Logf("the agent of 250 MB ended with %d after %d OOM kills, having survived %d times", res.ExitCode, res.OOMKills, survived)
			if lost++; lost > spare {
				t.Fatalf("the agent was lost %d times", lost)
			}
		}
	})
}

func TestReadingABigFileIsNoDemand(t *testing.T) {
	file := t.TempDir() + "/big"
	if out, err := exec.Command("dd", "if=/dev/zero", "of="+file, "bs=1M", "count=384").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	eachLayer(t, true, func(t *testing.T, layer sandbox.Layer) {
		s := spec(t, layer, "read", file)
		s.Limits.Memory = 64 * limit.MiB
		res := run(t, s)
		if res.ExitCode != 0 || res.OOMKills != 0 {
			t.Fatalf("reading six times the limit failed: %+v", res)
		}
		if res.Peak.Working > 40*limit.MiB {
			t.Errorf("page cache counted as working set: %+v", res.Peak)
		}
	})
}
