package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

func TestARefusedCloneIsNotTheCommandsFault(t *testing.T) {
	dir, err := os.Open(t.TempDir()) // no control group: clone3 refuses it
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for _, path := range []string{"/bin/true", "/nonexistent"} {
		c := &command{path: path, args: []string{path}}
		_, err = c.forkInto(dir)
		if _, ok := errors.AsType[*cloneError](err); !ok {
			t.Errorf("%s: got %v, want a refused clone", path, err)
		}
		if _, ok := errors.AsType[*ExecError](err); ok {
			t.Errorf("%s: %v would end the search for a layer", path, err)
		}
	}
}

func TestOtherSupervisorsAreNoStrangers(t *testing.T) {
	start := func(path string, env ...string) int {
		t.Helper()
		c := exec.Command(path, "60000")
		c.Env = append(os.Environ(), env...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
		return c.Process.Pid
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	sibling := start(self, "SANDBOX_TEST_TOOL=sleep")
	foreign := start("/bin/sleep")
	got := findStrangers([]int{os.Getpid(), os.Getppid(), sibling, foreign})
	if len(got) != 1 || got[0].PID != foreign {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", foreign))
		t.Errorf("strangers are %v, want pid %d alone; the kernel says of it: %s (%v)", got, foreign, stat, err)
	}
}

func TestASignalEndsTheWaitForLeftovers(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	run, err := Start(context.Background(), Spec{
		ID: fmt.Sprintf("hurry-%d", os.Getpid()), Path: "/bin/sh", Args: []string{"sh", "-c", "sleep 60 & exit 3"},
		Files: []*os.File{null, null, null}, OnExit: WaitForLeftovers, Detach: true, Attended: true,
		Limits: Limits{Memory: 256 << 20, Pids: 64},
	})
	if err != nil {
		t.Fatal(err)
	}
	stop := run.Attend(true, time.Minute)
	defer stop()
	<-run.Exited()
	ask := time.NewTicker(tick)
	defer ask.Stop()
	for !run.waiting.Load() {
		<-ask.C
	}
	// One, and the run is not over before it was heard: a second one might come when nobody attends
	// any more, and end this test.
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-run.Done()
	result, err := run.Wait()
	if err != nil || result.ExitCode != 3 || len(result.Leftovers) != 1 || result.Leftovers[0].Fate != "terminated" {
		t.Errorf("got exit %d, leftovers %+v, %v; want 3 and the sleep terminated", result.ExitCode, result.Leftovers, err)
	}
}
