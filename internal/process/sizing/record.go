package sizing

import (
	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// outcomeOf returns the outcome of a run as an estimate of memory needs it: a limit on time or on disk is left out, because it says nothing
// about memory.
func outcomeOf(r sandbox.Result) journal.Outcome {
	if r.Reached != "memory" && r.Reached != "pids" {
		r.Reached = ""
	}
	return r.Outcome()
}

// RunOf returns the record of a sandboxed run that had the given memory limit in bytes.
// KilledChildren counts what the kernel killed; children that the monitor layer ended are in the
// journal's report.
func RunOf(r sandbox.Result, memory limit.Bytes) usage.Run {
	if r.Strength.Memory == sandbox.ByNobody {
		memory = 0
	}
	killed := r.OOMKills
	if r.CommandOOM {
		killed = max(0, killed-1)
	}
	return usage.Run{
		Time: r.Started.Add(r.Duration), Duration: r.Duration,
		Peak: r.Peak.Bytes, PeakAnon: r.Peak.Working, Method: r.Peak.Method, Exact: r.Peak.Exact,
		Outcome: outcomeOf(r), ExitCode: r.ExitCode, OOMKills: r.OOMKills, KilledChildren: killed,
		Limit: memory, Layer: string(r.Layer),
	}
}
