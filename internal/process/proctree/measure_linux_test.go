package proctree

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/limit"
)

func TestMemoryOfABigProcessIsMeasured(t *testing.T) {
	tree, c := start(t, "big 96", Options{})
	scan(t, tree)
	u := tree.Measure()
	if u.Processes != 1 || u.Anon < 95*limit.MiB || u.Anon > 130*limit.MiB {
		t.Errorf("measured %+v, want one process of about 96 MiB", u)
	}
	if u.HighWater < 96*limit.MiB {
		t.Errorf("high water %s, want at least 96 MiB", u.HighWater.Human())
	}
	if p, held, ok := tree.Largest(false); !ok || p.PID != c.Process.Pid || held != u.LargestBytes {
		t.Errorf("largest is %v with %d, %v; want the root with %d", p, held, ok, u.LargestBytes)
	}
	if p, _, ok := tree.Largest(true); ok {
		t.Errorf("largest descendant is %v, but there is none", p)
	}
	exact := tree.Precise()
	if !exact.Precise || exact.Estimated != 0 || exact.Anon < 95*limit.MiB || exact.Anon > 130*limit.MiB {
		t.Errorf("precise %+v, want about 96 MiB", exact)
	}
}

func TestASpikeBetweenSamplesLeavesAHighWaterMark(t *testing.T) {
	tree, _ := start(t, "spike 80", Options{})
	scan(t, tree)
	var u Usage
	for range hwmTurns {
		u = tree.Measure()
	}
	if u.Anon > 60*limit.MiB {
		t.Fatalf("the process holds %s now, the spike is meant to be over", u.Anon.Human())
	}
	if u.HighWater < 80*limit.MiB {
		t.Errorf("high water %s, want at least the 80 MiB that were held before the first sample", u.HighWater.Human())
	}
}

func TestSharedMemoryIsSeenPrecisely(t *testing.T) {
	tree, _ := start(t, "shmem 64", Options{})
	scan(t, tree)
	if u := tree.Measure(); u.Anon > 50*limit.MiB || u.RSS < 64*limit.MiB || u.Shared < 64*limit.MiB {
		t.Errorf("measured %+v, want 64 MiB in RSS and Shared, not in Anon", u)
	}
	if u := tree.Precise(); u.Shmem < 63*limit.MiB || u.Working() < 64*limit.MiB {
		t.Errorf("precise %+v, want 64 MiB of shared memory", u)
	}
}

func TestAProcessWithoutItsFirstThreadIsMeasuredAndAlive(t *testing.T) {
	tree, c := start(t, "leaderless 48", Options{})
	scan(t, tree)
	p, err := Lookup(c.Process.Pid)
	if err != nil || p.State != 'Z' || p.Zombie() {
		t.Fatalf("%+v, %v: want state Z and not a zombie", p, err)
	}
	if !Alive(p.PID, p.Start) {
		t.Error("it is not alive")
	}
	if u := tree.Measure(); u.Processes != 1 || u.Anon < 47*limit.MiB {
		t.Errorf("measured %+v, want 48 MiB in the other threads", u)
	}
}

func TestOpenFilesStayWithinTheBound(t *testing.T) {
	for name, c := range map[string]struct{ bound, open int }{"few": {5, 5}, "none": {-1, 0}} {
		t.Run(name, func(t *testing.T) {
			tree, _ := start(t, "wide 20", Options{MaxOpenFiles: c.bound})
			scan(t, tree)
			for range 3 {
				if u := tree.Measure(); u.Processes != 21 || u.Unreadable != 0 {
					t.Errorf("measured %+v, want 21 processes", u)
				}
			}
			if got := tree.Counters(); got.OpenFiles != c.open || got.Reopened != uint64(3*(21-c.open)) {
				t.Errorf("%+v, want %d files open and the others reopened", got, c.open)
			}
		})
	}
}

func TestTheSteadyStateAllocatesAndAsksNothing(t *testing.T) {
	tree, _ := start(t, "wide 20", Options{Cookie: "cookie"})
	for range 4 {
		scan(t, tree)
		tree.Measure()
	}
	before := tree.Counters()
	allocs := testing.AllocsPerRun(20, func() {
		scan(t, tree)
		tree.RaiseOOMScore(MaxOOMScore)
	})
	after := tree.Counters()
	// Other processes of the machine come and go; each costs a few allocations.
	if asked := after.StatReads - before.StatReads; asked == 0 && allocs != 0 {
		t.Errorf("%v allocations in a scan that met nobody new", allocs)
	}
	if allocs := testing.AllocsPerRun(hwmTurns*2, func() { tree.Measure() }); allocs != 0 {
		t.Errorf("%v allocations in a measurement of 21 processes", allocs)
	}
}

func TestOOMScoresAreRaisedOnceAndNeverLowered(t *testing.T) {
	tree, c := start(t, "wide 3", Options{})
	scan(t, tree)
	score := func(pid int) string {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/oom_score_adj")
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(b))
	}
	own := score(c.Process.Pid)
	if n, err := tree.RaiseOOMScore(700); n != 3 || err != nil {
		t.Errorf("raised %d, %v; want the 3 children", n, err)
	}
	if n, err := tree.RaiseOOMScore(700); n != 0 || err != nil {
		t.Errorf("raised %d again, %v", n, err)
	}
	if got := score(c.Process.Pid); got != own {
		t.Errorf("the root's score went from %s to %s", own, got)
	}
	child := tree.Members()[1].PID
	if got := score(child); got != "700" {
		t.Errorf("the child's score is %s, want 700", got)
	}
	if changed, err := OOMScoreAdj(child, 300); changed || err != nil || score(child) != "700" {
		t.Errorf("lowering: changed %v, %v, now %s", changed, err, score(child))
	}
	if changed, err := OOMScoreAdj(child, 1000); !changed || err != nil || score(child) != "1000" {
		t.Errorf("raising: changed %v, %v, now %s", changed, err, score(child))
	}
	if _, err := OOMScoreAdj(child, 1001); err == nil {
		t.Error("1001 was accepted")
	}
	if _, err := OOMScoreAdj(1<<22+5, 1000); !errors.Is(err, ErrGone) {
		t.Errorf("a process that does not exist: %v, want ErrGone", err)
	}
}

func TestSignalNeverHitsAReusedNumber(t *testing.T) {
	_, c := start(t, "idle", Options{})
	p, err := Lookup(c.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	stale := p
	stale.Start--
	if err := Signal(stale, syscall.SIGKILL); !errors.Is(err, ErrGone) {
		t.Errorf("signal to an older process of that number: %v, want ErrGone", err)
	}
	if err := Signal(p, 0); err != nil {
		t.Errorf("the process does not answer: %v", err)
	}
	for _, refused := range []Process{{PID: 1}, {PID: 0}, {PID: -1}, {PID: os.Getpid()}} {
		if err := Signal(refused, 0); err == nil || errors.Is(err, ErrGone) {
			t.Errorf("signal to %d: %v, want a refusal", refused.PID, err)
		}
	}
	if err := Signal(p, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	var info unix.Siginfo
	if err := unix.Waitid(unix.P_PID, p.PID, &info, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	if Alive(p.PID, p.Start) {
		t.Error("a zombie counts as alive")
	}
	c.Wait()
	if _, err := Lookup(p.PID); !errors.Is(err, ErrGone) || StartTime(p.PID) != 0 {
		t.Errorf("a process that ended: %v, want ErrGone; started at %d, want 0", err, StartTime(p.PID))
	}
	if err := Signal(p, 0); !errors.Is(err, ErrGone) {
		t.Errorf("signal to a process that ended: %v, want ErrGone", err)
	}
	if name := Name(p.PID); name != "" {
		t.Errorf("a process that ended is named %q", name)
	}
}

func BenchmarkScan200(b *testing.B) {
	tree, _ := start(b, "wide 199", Options{Cookie: "cookie"})
	for range 3 {
		scan(b, tree)
		tree.Measure()
	}
	b.Run("scan", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			scan(b, tree)
		}
	})
	b.Run("measure", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			tree.Measure()
		}
	})
	b.Run("precise", func(b *testing.B) {
		for b.Loop() {
			tree.Precise()
		}
	})
}
