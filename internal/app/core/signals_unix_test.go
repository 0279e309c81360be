//go:build unix

package core

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// A phase of the start that does not look at its context does not swallow a signal: the test runs
// itself as a process that is stuck in one.
func TestASignalEndsAStuckStart(t *testing.T) {
	if os.Getenv("PLIMSOLL_TEST_STUCK") != "" {
		_, _ = Interruptible(context.Background(), time.Millisecond)
		fmt.Println("stuck")
		_, _ = io.Copy(io.Discard, os.Stdin) // until the signal ends it
	}
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestASignalEndsAStuckStart$")
		cmd.Env = append(os.Environ(), "PLIMSOLL_TEST_STUCK=1")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "stuck\n" {
			t.Fatalf("%q, %v", line, err)
		}
		_ = cmd.Process.Signal(s)
		_ = cmd.Wait()
		if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != s {
			t.Errorf("after %v it ended with %v", s, cmd.ProcessState)
		}
	}
}
