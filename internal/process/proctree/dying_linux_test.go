package proctree

import (
	"os"
	"os/exec"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

func TestDying(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if Dying(os.Getpid()) || Dying(cmd.Process.Pid) {
		t.Error("a process that goes on is dying")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "a process that was killed is dying", func() bool { return Dying(cmd.Process.Pid) })
	_ = cmd.Wait()
	if Dying(cmd.Process.Pid) {
		t.Error("a process that has gone is dying")
	}
}

func TestKillPending(t *testing.T) {
	for text, want := range map[string]bool{
		"": false,
		"Name:\tx\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000000000\nSigBlk:\tffffffffffffffff\n": false,
		"SigPnd:\t0000000000000100\n":  true,
		"ShdPnd:\t0000000000004100\n":  true,
		"ShdPnd:\t0000000000004000\n":  false,
		"ShdPnd:\tffffffffffffffff1\n": false,
		"ShdPnd":                       false,
	} {
		if got := killPending([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
