package sandbox_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/process/proctree"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// orphansOfInit is how many processes the run of [superviseAsInit] hands over.
const orphansOfInit = 40

// TestTheFirstProcessOfAContainerReaps: what loses its parent there becomes our child, and stays a zombie in every table and limit of processes until we
// take its status. A child of our own is left to who waits for it, however late.
func TestTheFirstProcessOfAContainerReaps(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a PID namespace takes root")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	inEachLayer(t, func(t *testing.T, layer sandbox.Layer) {
		if layer == sandbox.Systemd {
			t.Skip("the service manager knows our process by another number")
		}
		c := exec.Command(self, string(layer))
		c.Env = append(os.Environ(), toolVar+"=supervise-as-init")
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS}
		said, err := c.CombinedOutput()
		if bytes.Contains(said, []byte("no layer works here")) {
			t.Skipf("not in a PID namespace of its own: %s", said)
		}
		if err != nil || !bytes.HasPrefix(said, []byte("reaped")) {
			t.Errorf("%v: %s", err, said)
		}
	})
}

// superviseAsInit is the first process of a PID namespace, with a run that is refused new processes when its dead are not taken.
func superviseAsInit(layer sandbox.Layer) error {
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return err
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	late := exec.Command("/bin/sh", "-c", "exit 7")
	if err := late.Start(); err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	script := fmt.Sprintf("i=0; while [ $i -lt %d ]; do ( setsid sleep 0.01 & ); sleep 0.01; i=$((i+1)); done; sleep 0.5", orphansOfInit)
	r, err := sandbox.Start(context.Background(), sandbox.Spec{
		ID: fmt.Sprintf("init-%s-%d", layer, time.Now().UnixNano()), Path: "/bin/sh", Args: []string{"sh", "-c", script},
		Files: []*os.File{null, null, null}, Layers: []sandbox.Layer{layer}, Detach: true, Subreaper: true,
		Limits: sandbox.Limits{Memory: 1 << 30, Pids: orphansOfInit / 2},
	})
	if err != nil {
		return err
	}
	<-r.Exited()
	for pid := 2; pid < 1000; pid++ {
		if p, err := proctree.Lookup(pid); err == nil && p.Zombie() && p.PPID == 1 && pid != late.Process.Pid {
			return fmt.Errorf("%v is a zombie of ours", p)
		}
	}
	if res, err := r.Wait(); err != nil || res.ExitCode != 0 || res.ForksRefused+res.PidsKills > 0 {
		return fmt.Errorf("the run: %+v, %w", res, err)
	}
	if err := late.Wait(); err == nil || err.Error() != "exit status 7" {
		return fmt.Errorf("a child of our own: %w", err)
	}
	fmt.Println("reaped")
	return nil
}

// A subreaper meets the children of the program that it is a part of: none is taken from who waits for it, and none is ended with the run.
func TestOurOwnChildrenAreNotTheRuns(t *testing.T) {
	late := exec.Command("/bin/sh", "-c", "exit 7")
	long := exec.Command("sleep", "60")
	byHand := 0
	s := spec(t, sandbox.Monitor, "sleep", "1200")
	r, err := sandbox.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := late.Start(); err != nil {
		t.Fatal(err)
	}
	if err := long.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = long.Process.Kill(); _ = long.Wait() }()
	ended, err := sandbox.Beside(func() (pid int, err error) {
		byHand, err = syscall.ForkExec("/bin/sh", []string{"sh", "-c", "exit 3"}, &syscall.ProcAttr{})
		return byHand, err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer ended()
	res, err := r.Wait()
	if err != nil || len(res.Leftovers) > 0 {
		t.Errorf("the run: %+v, %v", res.Leftovers, err)
	}
	if err := late.Wait(); err == nil || !strings.Contains(err.Error(), "exit status 7") {
		t.Errorf("a child that os/exec waits for: %v", err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(byHand, &status, 0, nil); err != nil || status.ExitStatus() != 3 {
		t.Errorf("a child beside the run: %v, %v", status, err)
	}
	if err := long.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("a child of ours was ended with the run: %v", err)
	}
}
