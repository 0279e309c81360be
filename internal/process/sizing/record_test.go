package sizing

import (
	"testing"

	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// RunOf keeps what an estimate needs: the outcome, the peak and the limit that was held.
func TestRunOf(t *testing.T) {
	held := sandbox.Strength{Memory: sandbox.ByKernel}
	peak := sandbox.Peak{Bytes: limit.GiB, Working: limit.MiB, Method: usage.MethodMemoryPeak, Exact: true}
	for name, c := range map[string]struct {
		result sandbox.Result
		want   usage.Run
	}{
		"ok":           {sandbox.Result{Strength: held}, usage.Run{Outcome: journal.OutcomeOK, Limit: 2 * limit.GiB}},
		"failed":       {sandbox.Result{Strength: held, ExitCode: 3}, usage.Run{Outcome: journal.OutcomeFailed, ExitCode: 3, Limit: 2 * limit.GiB}},
		"a signal":     {sandbox.Result{Strength: held, ExitCode: 143, Signal: 15}, usage.Run{Outcome: journal.OutcomeSignalled, ExitCode: 143, Limit: 2 * limit.GiB}},
		"oom":          {sandbox.Result{Strength: held, ExitCode: 137, Signal: 9, OOMKills: 2, CommandOOM: true}, usage.Run{Outcome: journal.OutcomeOOM, ExitCode: 137, OOMKills: 2, KilledChildren: 1, Limit: 2 * limit.GiB}},
		"a child":      {sandbox.Result{Strength: held, OOMKills: 1}, usage.Run{Outcome: journal.OutcomeOK, OOMKills: 1, KilledChildren: 1, Limit: 2 * limit.GiB}},
		"over a limit": {sandbox.Result{Strength: held, ExitCode: 1, LimitKills: 1}, usage.Run{Outcome: journal.OutcomeLimit, ExitCode: 1, Limit: 2 * limit.GiB}},
		"no limit":     {sandbox.Result{Strength: sandbox.Strength{Memory: sandbox.ByNobody}}, usage.Run{Outcome: journal.OutcomeOK}},
	} {
		c.result.Peak, c.result.Layer = peak, sandbox.Cgroup2
		got := RunOf(c.result, 2*limit.GiB)
		c.want.Peak, c.want.PeakAnon, c.want.Method, c.want.Exact, c.want.Layer = peak.Bytes, peak.Working, peak.Method, true, "cgroup2"
		got.Time = c.want.Time
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
