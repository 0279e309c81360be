package sandbox_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// A run that is told of as it comes near its limit, and is given more, lives on and is held by the new limit; one that is not dies. Where each process has
// its limit from the start, nothing can be given.
func TestRaise(t *testing.T) {
	inEachLayer(t, func(t *testing.T, layer sandbox.Layer) {
		for _, c := range []struct {
			name   string
			raise  bool
			mb     string
			killed bool
		}{{"given", true, "160", false}, {"not given", false, "160", true}, {"given and passed", true, "400", true}} {
			t.Run(c.name, func(t *testing.T) {
				s := spec(t, layer, "grow", c.mb, "15") // the monitor looks 20 times a second
				s.Limits.Memory = 96 * limit.MiB
				s.Journal = journal.New(journal.Options{})
				var refused atomic.Pointer[error]
				var calls atomic.Int64
				s.OnNear = func(r *sandbox.Run, used, memory limit.Bytes) {
					if used < memory/100*sandbox.Near {
						t.Errorf("%s of %s is not near", used.Human(), memory.Human())
					}
					if c.raise && calls.Add(1) == 1 {
						if err := r.Raise(220*limit.MiB, "a test"); err != nil {
							refused.Store(&err)
						}
					}
				}
				res := run(t, s)
				if fixed := layer == sandbox.Rlimit; fixed {
					if c.raise && (refused.Load() == nil || !errors.Is(*refused.Load(), sandbox.ErrFixed)) {
						t.Error("the limit of each process was raised")
					}
					return
				}
				if err := refused.Load(); err != nil {
					t.Fatal(*err)
				}
				if killed := res.ExitCode == 137; killed != c.killed {
					t.Errorf("status %d, peak %s", res.ExitCode, res.Peak.Bytes.Human())
				}
				raised := 0
				for rec := range s.Journal.Since(0) {
					if e, ok := rec.Event.(journal.MemoryRaised); ok {
						raised++
						if e.FromBytes != int64(96*limit.MiB) || e.ToBytes != int64(220*limit.MiB) || e.Why != "a test" {
							t.Errorf("%+v", e)
						}
					}
				}
				if (raised == 1) != c.raise {
					t.Errorf("%d events of a raise", raised)
				}
			})
		}
	})
}
