package sandbox_test

import (
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// TestTimeEndsARun in every layer: the command is asked first, and what does not listen is
// killed with all it started.
func TestTimeEndsARun(t *testing.T) {
	inEachLayer(t, func(t *testing.T, layer sandbox.Layer) {
		for tool, want := range map[string]int{"sleep": 15, "stubborn": 9} {
			s := spec(t, layer, tool, "60000")
			s.Limits.Time, s.Grace = 700*time.Millisecond, 300*time.Millisecond
			var told atomic.Int64
			s.OnTime = func(used time.Duration, ended bool) {
				if ended {
					told.Add(1)
				}
			}
			res := run(t, s)
			if res.Signal != want || res.Reached != sandbox.LimitTime || res.Outcome() != journal.OutcomeLimit || res.CommandOOM {
				t.Errorf("%s: %+v, outcome %s", tool, res, res.Outcome())
			}
			if res.TimeUsed < s.Limits.Time || told.Load() != 1 {
				t.Errorf("%s: %s used, told %d times", tool, res.TimeUsed, told.Load())
			}
		}
	})
}

// TestTimeAndTheEndOfTheCommand: a command that ends by itself before its time is no case of
// the limit, and one that waits for leftovers is held to it.
func TestTimeAndTheEndOfTheCommand(t *testing.T) {
	eachLayer(t, false, func(t *testing.T, layer sandbox.Layer) {
		s := spec(t, layer, "exit", "3")
		s.Limits.Time = time.Minute
		if res := run(t, s); res.ExitCode != 3 || res.Reached != "" || res.Outcome() != journal.OutcomeFailed {
			t.Errorf("it ended by itself: %+v", res)
		}
		s = spec(t, layer, "daemons", "1")
		// The command itself has to end within the time, also where the machine is busy with other tests.
		s.OnExit, s.Limits.Time, s.Grace = sandbox.WaitForLeftovers, 3*time.Second, 300*time.Millisecond
		res := run(t, s)
		if res.ExitCode != 0 || res.Reached != sandbox.LimitTime || len(res.Leftovers) == 0 {
			t.Errorf("a leftover that was waited for: %+v", res)
		}
	})
}

// TestTimeStandsStillWhileStopped: a run that was stopped for longer than its time goes on.
func TestTimeStandsStillWhileStopped(t *testing.T) {
	inEachLayer(t, func(t *testing.T, layer sandbox.Layer) {
		s := spec(t, layer, "sleep", "10")
		s.Path, s.Args = "/bin/sh", []string{"sh", "-c", "kill -STOP $$; exit 5"}
		s.Limits.Time = 2500 * time.Millisecond
		stopped := make(chan struct{}, 1)
		s.OnStop = func(int) { stopped <- struct{}{} }
		r, err := sandbox.Start(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		<-stopped
		time.Sleep(4 * time.Second)
		if err := r.Signal(syscall.SIGCONT); err != nil {
			t.Error(err)
		}
		if res, _ := r.Wait(); res.ExitCode != 5 || res.Reached != "" {
			t.Errorf("it ended with %+v", res)
		}
	})
}
