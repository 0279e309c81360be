package run

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/internal/process/holder"
	"github.com/plimsoll/plimsoll/internal/process/pressure"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/admission"
)

func TestAPeerThawsTheRunOfAStoppedSupervisor(t *testing.T) {
	dir := t.TempDir()
	supervisor := pressureChild("supervisor", dir)
	supervisor.Stderr = os.Stderr
	in, err := supervisor.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := supervisor.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := supervisor.Start(); err != nil {
		t.Fatal(err)
	}
	over := sync.OnceFunc(func() {
		_ = supervisor.Process.Kill()
		_ = supervisor.Wait()
	})
	t.Cleanup(over)
	line, err := bufio.NewReader(out).ReadString('\n')
	agent := 0
	if _, scanErr := fmt.Sscan(line, &agent); err != nil || scanErr != nil {
		t.Fatalf("%q: %v, %v", line, err, scanErr)
	}
	// Not while it writes into the ledger: nobody else could then until it goes on.
	wait.Until(t, "the supervisor is stopped outside the ledger", func() bool {
		if err := supervisor.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		wait.Until(t, "the supervisor is stopped", func() bool { return stateOfProcess(supervisor.Process.Pid) == 'T' })
		if ledgerIsFree(t, dir) {
			return true
		}
		if err := supervisor.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		return false
	})

	peer := &process{report: &report{journal: journal.New(journal.Options{}), say: newSpeaker(&Options{Stderr: io.Discard}, nil)}}
	if peer.ledger, err = admission.Open(admission.Options{Dir: dir, Current: holder.Current, Reap: holder.Reap}); err != nil {
		t.Fatal(err)
	}
	held := claimed(t, peer.ledger).Remains
	// Whatever happens, what the supervisor leaves is taken away.
	defer func() {
		over()
		if swept, err := peer.ledger.Sweep(context.Background(), holder.Reap); err != nil || len(swept.Stale) > 0 {
			t.Errorf("left behind: %+v, %v", swept.Stale, err)
		}
	}()
	wait.Until(t, "the run is frozen", func() bool { return isFrozen(held, agent) })
	peer.claim, err = peer.ledger.Acquire(t.Context(), admission.Request{
		ID: admission.NewID(), Tool: "peer", Project: "p", MinFree: -1, Force: true,
		Headroom: func() (headroom.Reading, error) { return headroom.Read(headroom.Source{}) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer peer.releaseClaim()
	pace := quick // an impatient peer: the supervisor itself would hold for a minute
	pace.Hold, pace.PeerGrace = 100*time.Millisecond, 100*time.Millisecond
	s := &supervised{process: peer}
	s.available.Store(int64(8 * limit.GiB))
	s.run = startSupervised(t).run // some run of its own, of another ledger
	defer s.watch(pressure.Warn, pace)()
	wait.Until(t, "a peer has thawed it", func() bool { return !isFrozen(held, agent) && stateOfProcess(agent) != 'T' })
	for _, c := range held.Stopped {
		wait.Until(t, "its child goes on", func() bool { return stateOfProcess(c.PID) != 'T' })
	}
	wait.Until(t, "it is in the journal", func() bool { return slices.Contains(s.actions(), "thaw-peer") })

	// The supervisor comes back to a run that goes on, and ends it in good order.
	if err := supervisor.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	in.Close()
	wait.Until(t, "the agent has ended", func() bool { st := stateOfProcess(agent); return st == 0 || st == 'Z' })
	if err := supervisor.Wait(); err != nil {
		t.Errorf("the supervisor: %v", err)
	}
}

func TestOnPressureFollowsTheTerminal(t *testing.T) {
	for _, c := range []struct {
		set               config.OnPressure
		without, terminal pressure.Mode
	}{
		{config.OnPressureAuto, pressure.Freeze, pressure.Warn},
		{config.OnPressureFreeze, pressure.Freeze, pressure.Freeze},
		{config.OnPressureKill, pressure.Kill, pressure.Kill},
		{config.OnPressureWarn, pressure.Warn, pressure.Warn},
		{config.OnPressureOff, pressure.Off, pressure.Off},
	} {
		if a, b := pressureMode(c.set, false), pressureMode(c.set, true); a != c.without || b != c.terminal {
			t.Errorf("%s: %s without a terminal and %s with one", c.set, a, b)
		}
	}
}

func BenchmarkReadingUnderPressure(b *testing.B) {
	read := readingFor(headroom.NewReader(), pressure.Lines{Soft: 1 << 60, Hard: 1 << 59}, true) // stalls are read too
	for b.Loop() {
		if _, err := read(); err != nil {
			b.Fatal(err)
		}
	}
}
