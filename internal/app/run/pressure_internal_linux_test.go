package run

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/internal/process/holder"
	"github.com/plimsoll/plimsoll/internal/process/pressure"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// pressureTool makes this test binary play a process of these tests.
const pressureTool = "APP_PRESSURE_TEST_TOOL"

func init() {
	switch os.Getenv(pressureTool) {
	case "agent": // two children, the second one larger
		for _, size := range []string{"40", "90"} {
			child := pressureChild("child", size)
			if _, err := child.StdinPipe(); err != nil || child.Start() != nil {
				os.Exit(2)
			}
		}
		_, _ = io.ReadAll(os.Stdin)
		os.Exit(0)
	case "growing": // one megabyte more every ten milliseconds
		var size int
		_, _ = fmt.Sscan(os.Args[1], &size)
		memory, err := syscall.Mmap(-1, 0, size<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			os.Exit(3)
		}
		for i := 0; i < len(memory); i += 4096 {
			if i%(1<<20) == 0 {
				time.Sleep(10 * time.Millisecond)
			}
			memory[i] = 1
		}
		os.Exit(0)
	case "child":
		var size int
		_, _ = fmt.Sscan(os.Args[1], &size)
		memory, err := syscall.Mmap(-1, 0, size<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			os.Exit(3)
		}
		for i := 0; i < len(memory); i += 4096 {
			memory[i] = 1
		}
		_, _ = io.ReadAll(os.Stdin)
		os.Exit(0)
	case "supervisor":
		os.Exit(superviseFrozen(os.Args[1]))
	}
}

func pressureChild(tool string, args ...string) *exec.Cmd {
	self, _ := os.Executable()
	c := exec.Command(self, args...)
	// One entry only: of two the first counts.
	c.Env = slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, pressureTool+"=") })
	c.Env = append(c.Env, pressureTool+"="+tool)
	return c
}

// quick are the times of these tests: nothing is held for long, and looks are frequent.
var quick = pressure.Pace{
	Fast: 20 * time.Millisecond, Normal: 20 * time.Millisecond, Slow: 20 * time.Millisecond,
	Ledger: 20 * time.Millisecond, Peers: 50 * time.Millisecond, Pause: 200 * time.Millisecond,
	Easy: 50 * time.Millisecond, Calm: time.Second,
}

// supervised is a run in the sandbox with a claim of 32 MiB, which its children exceed.
type supervised struct {
	*process
	run       *sandbox.Run
	end       io.Closer // closing it ends the agent
	available atomic.Int64
	words     bytes.Buffer
}

func supervise(dir string) (*supervised, error) {
	ledger, err := admission.Open(admission.Options{Dir: dir, Current: holder.Current, Reap: holder.Reap})
	if err != nil {
		return nil, err
	}
	claim, err := ledger.Acquire(context.Background(), admission.Request{
		ID: admission.NewID(), Tool: "agent", Project: "p", Reservation: 32 * limit.MiB, MinFree: -1, Force: true,
		Headroom: func() (headroom.Reading, error) { return headroom.Read(headroom.Source{}) },
	})
	if err != nil {
		return nil, err
	}
	s := &supervised{process: &process{ledger: ledger, claim: claim, report: &report{journal: journal.New(journal.Options{})}}}
	s.report.say = newSpeaker(&Options{Stderr: &s.words}, nil)
	s.available.Store(int64(8 * limit.GiB))
	agent := pressureChild("agent")
	in, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.end = inW
	spec := sandbox.Spec{
		ID: claim.ID(), Path: agent.Path, Args: agent.Args, Env: agent.Env, Files: []*os.File{in, os.Stderr, os.Stderr},
		Limits: sandbox.Limits{Memory: limit.GiB, Pids: 200}, Detach: true, Journal: s.report.journal,
		Remember: func(r sandbox.Remains) error { return s.notes.remember(claim, r) },
		Observe:  func(sample sandbox.Sample) { _ = claim.Observe(sample.Working) },
	}
	s.run, err = sandbox.Start(context.Background(), spec)
	in.Close()
	return s, err
}

// watch starts the pressure watch on what s.available says.
func (s *supervised) watch(mode pressure.Mode, pace pressure.Pace) (stop func()) {
	s.notes.watchedAs(mode)
	return s.watchPressure(s.run, pressure.Options{
		Mode: mode, Pace: pace, Lines: pressure.LinesFor(limit.GiB, 16*limit.GiB),
		Read: func() (pressure.Reading, error) {
			n := limit.Bytes(s.available.Load())
			return pressure.Reading{Total: n, Physical: n, BoundBy: headroom.Host}, nil
		},
	})
}

// actions are the kinds of the pressure events so far.
func (s *supervised) actions() (list []string) {
	for rec := range s.report.journal.Since(0) {
		if e, ok := rec.Event.(journal.Pressure); ok {
			list = append(list, e.Action)
		}
	}
	return list
}

// events are all that the journal holds, for a failure.
func (s *supervised) events() string {
	var b strings.Builder
	for rec := range s.report.journal.Since(0) {
		fmt.Fprintf(&b, "%s %+v\n", rec.Event.Kind(), rec.Event)
	}
	return b.String()
}

func startSupervised(t *testing.T) *supervised {
	t.Helper()
	s, err := supervise(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.end.Close()
		if _, err := s.run.Wait(); err != nil {
			t.Error(err)
		}
		s.releaseClaim()
	})
	wait.Until(t, "the larger child holds its memory", func() bool {
		c, ok := s.run.LargestChild()
		return ok && c.Bytes >= 90*limit.MiB
	})
	// The watch goes by the ledger. Where no control group counts for it, the ledger knows what the run's samples said, at most once a second.
	wait.Until(t, "the ledger knows what the run holds", func() bool {
		holders, err := s.ledger.Holders(t.Context())
		return err == nil && len(holders) == 1 && holders[0].Current >= 90*limit.MiB
	})
	return s
}

func stateOfProcess(pid int) byte {
	body, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if i := bytes.LastIndexByte(body, ')'); err == nil && i >= 0 && i+2 < len(body) {
		return body[i+2]
	}
	return 0
}

// isFrozen asks the kernel whether a run is frozen, by its claim.
func isFrozen(remains sandbox.Remains, pid int) bool {
	for _, dir := range remains.Groups {
		for _, below := range []string{"", "run"} {
			events, _ := os.ReadFile(filepath.Join(dir, below, "cgroup.events"))
			state, _ := os.ReadFile(filepath.Join(dir, below, "freezer.state"))
			if strings.Contains(string(events), "frozen 1") || strings.HasPrefix(string(state), "FROZEN") {
				return true
			}
		}
	}
	return stateOfProcess(pid) == 'T'
}

// claimed is what the ledger says about the only run in it.
func claimed(t *testing.T, ledger *admission.Ledger) (record claimRecord) {
	t.Helper()
	holders, err := ledger.Holders(t.Context())
	if err != nil || len(holders) == 0 {
		t.Fatalf("%d holders, %v", len(holders), err)
	}
	if err := json.Unmarshal(holders[0].Remains, &record); err != nil {
		t.Fatal(err)
	}
	return record
}

func TestUnderPressureAChildAndThenTheRunIsHeld(t *testing.T) {
	s := startSupervised(t)
	defer s.watch(pressure.Freeze, quick)()
	largest, _ := s.run.LargestChild()
	s.available.Store(int64(100 * limit.MiB))
	wait.Until(t, "the largest child is stopped", func() bool { return stateOfProcess(largest.PID) == 'T' })
	if stateOfProcess(s.run.PID()) == 'T' {
		t.Error("the agent is stopped before its child is given a chance to help")
	}
	wait.Until(t, "the run is frozen", func() bool { return s.run.Frozen() && isFrozen(claimed(t, s.ledger).Remains, s.run.PID()) })
	record := claimed(t, s.ledger)
	if record.Frozen.IsZero() || len(record.Stopped) != 1 || record.Stopped[0].PID != largest.PID || record.Pressure.Mode != pressure.Freeze {
		t.Errorf("others cannot see what is held: %+v", record)
	}
	s.available.Store(int64(8 * limit.GiB))
	wait.Until(t, "the run goes on", func() bool { return !s.run.Frozen() && !isFrozen(record.Remains, s.run.PID()) })
	wait.Until(t, "the child goes on", func() bool { return stateOfProcess(largest.PID) != 'T' })
	wait.Until(t, "the claim is clean", func() bool { r := claimed(t, s.ledger); return r.Frozen.IsZero() && len(r.Stopped) == 0 && r.ID != "" })
	wait.Until(t, "all is in the journal", func() bool {
		return slices.Equal(s.actions(), []string{"stop", "freeze", "thaw", "continue"})
	}, s.events)
	if n := strings.Count(s.words.String(), "plimsoll:"); n != 1 {
		t.Errorf("one line an episode, got %d:\n%s", n, s.words.String())
	}
}

func TestUnderPressureTheLargestChildIsKilledAndTheAgentLives(t *testing.T) {
	s := startSupervised(t)
	defer s.watch(pressure.Kill, quick)()
	largest, _ := s.run.LargestChild()
	s.available.Store(int64(100 * limit.MiB))
	wait.Until(t, "the largest child has gone", func() bool { return stateOfProcess(largest.PID) == 0 || stateOfProcess(largest.PID) == 'Z' })
	s.available.Store(int64(8 * limit.GiB))
	if st := stateOfProcess(s.run.PID()); st == 0 || st == 'Z' {
		t.Error("the agent has gone too")
	}
	wait.Until(t, "the report will name it", func() bool { // the event follows the signal
		for rec := range s.report.journal.Since(0) {
			if e, ok := rec.Event.(journal.ChildKilled); ok && e.PID == largest.PID && e.By == "plimsoll" {
				return len(s.actions()) > 0 && s.actions()[0] == "kill"
			}
		}
		return false
	}, s.events)
}

// superviseFrozen is a supervisor whose run is soon frozen for a minute. It prints the
// agent's pid then.
func superviseFrozen(dir string) int {
	s, err := supervise(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	s.available.Store(int64(100 * limit.MiB))
	pace := quick
	pace.Pause = 50 * time.Millisecond
	stop := s.watch(pressure.Freeze, pace)
	if !wait.Reached(wait.Bound, s.run.Frozen) {
		_ = s.run.Kill()
		fmt.Fprintln(os.Stderr, "it was never frozen:", s.actions())
		return 1
	}
	fmt.Println(s.run.PID())
	_, _ = io.ReadAll(os.Stdin)
	stop()
	s.end.Close()
	_, _ = s.run.Wait()
	s.releaseClaim()
	return 0
}

// ledgerIsFree reports whether nobody holds the lock of a ledger below dir.
func ledgerIsFree(t *testing.T, dir string) bool {
	t.Helper()
	free, locks := true, 0
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil && !os.IsNotExist(err) {
			return err
		}
		if err != nil || e.Name() != "lock" {
			return nil
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		locks++
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == unix.EWOULDBLOCK {
			free, err = false, nil
		}
		return err
	})
	if err != nil || locks == 0 {
		t.Fatalf("%d locks of ledgers in %s, %v", locks, dir, err)
	}
	return free
}
