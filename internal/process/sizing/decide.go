// Package sizing sets the numbers of a run before it starts: reservation, memory limit, and what stays free of the machine's memory.
//
//	n, err := sizing.Decide(settings, sizing.InputOf(history, project, tool, variant, warn), host)
//	claim, err := ledger.Acquire(ctx, n.Request(settings))
//	record := sizing.RunOf(result, n.Memory) // for the history, from which the next run is sized
//
// A run, a dry run, a prediction and package guard decide by it, so that they agree. It reads what it is given and changes nothing.
package sizing

import (
	"fmt"
	"strings"
	"sync"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/process/estimate"
	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// Host is the memory of the host and of the enclosing control groups; Err says why it is not known.
type Host struct {
	Reading headroom.Reading
	Err     error
	// Given is the memory that an engine has set aside for this job, 0 for none, and GivenBy that engine. It bounds the limit of a run, whether or not
	// a cgroup holds it. Admission goes by the host's memory: the jobs beside this one are in its ledger.
	Given   limit.Bytes
	GivenBy string
}

// Numbers are the expected need and the limits of one run, in bytes.
type Numbers struct {
	Estimate estimate.Estimate
	// Reservation is the memory that admission sets aside: the estimate, but not more than a memory_max that the user has set; and where
	// nothing is known of the tool, not more than half of the host's memory.
	Reservation limit.Bytes
	// MinFree is the memory that admission leaves free on the host.
	MinFree limit.Bytes
	// Memory is the memory limit.
	Memory limit.Bytes
	// LimitNote says why the memory limit is not the one asked for, or that it is more than the machine has; "" for neither.
	LimitNote string
	// Ceiling is the highest memory limit that is possible here, 0 when that is not known, and CeilingOf the machine or cgroup that sets
	// it.
	Ceiling   limit.Bytes
	CeilingOf string
}

const (
	// leastAuto is the least memory limit that "auto" sets: a limit is there to stop a runaway,
	// and every agent CLI works in much less.
	leastAuto = 4 * limit.GiB
	// leastShare is the limit for "auto" where min_free is nearly all that there is.
	leastShare = 256 * limit.MiB
)

// Decide returns the numbers of a run, from the settings, the history (see [InputOf]) and the host. It reads nothing else and changes
// nothing: a run, a dry run, a prediction and package guard decide by it. The error is about an estimator in the settings that does not exist.
func Decide(s config.Settings, known estimate.Input, host Host) (n Numbers, err error) {
	if s.Reservation > 0 {
		n.Estimate = estimate.Estimate{Bytes: s.Reservation, Source: estimate.SourceReservation, Stated: true}
	} else {
		known = WithSettings(known, s)
		if n.Estimate, err = known.Estimate(); err != nil {
			return n, err
		}
	}
	n.setLimits(s, known.Configured, host)
	return n, nil
}

// setLimits sets all numbers but the estimate. A memory limit of "auto" is max(4 GiB, twice the estimate, the initial estimate that a person has
// stated), but not above the host's memory less what is kept free; any limit is kept strictly below the enclosing ones, because a container's own OOM
// kill may take all of it.
func (n *Numbers) setLimits(s config.Settings, stated limit.Bytes, host Host) {
	capacity := limit.Bytes(0)
	if host.Err == nil {
		capacity = host.Reading.Capacity()
	}
	n.MinFree = minFree(s, capacity)
	memory := s.MemoryMax
	if memory == config.Auto {
		memory = max(leastAuto, 2*n.Estimate.Bytes, stated)
		if room := capacity - n.MinFree; capacity > 0 && memory > room {
			memory = max(room, min(capacity/2, leastShare))
		}
	}
	n.Ceiling, n.CeilingOf = capacity, "this machine"
	if outer, what := host.tightestLimit(); outer > 0 && (outer <= capacity || capacity == 0) {
		n.Ceiling, _ = host.KeepBelow(0)
		n.CeilingOf = what
	}
	memory, n.LimitNote = host.KeepBelow(memory)
	n.Memory = max(memory, limit.MiB) // the least that can be configured: never none at all
	if s.MemoryMax != config.Auto && n.LimitNote == "" && capacity > 0 && n.Memory > capacity {
		n.LimitNote = fmt.Sprintf("%s is more than the %s of this machine, which runs out of memory before the limit holds", askedBy(s, "memory_max"), capacity.Human())
	}
	// A run can't use more than the limit that the user gave it. What "auto" or an enclosing group makes of that limit
	// says nothing about what the run needs: an estimate above it must be refused at once, not wait for ever.
	n.Reservation = n.Estimate.Bytes
	if n.Estimate.Source == estimate.SourceDefault && capacity > 0 { // nobody knows: a guess keeps no run out of a small container
		n.Reservation = min(n.Reservation, capacity/2)
	}
	if s.MemoryMax != config.Auto {
		n.Reservation = min(n.Reservation, max(s.MemoryMax, limit.MiB))
	}
}

// KeepBelow returns a memory limit kept strictly below the enclosing ones, whose own kill may take all processes in them, including this one (a
// kubelet sets memory.oom.group). why says below which, "" if memory is returned unchanged. 0 (no limit) is kept below them too.
func (h Host) KeepBelow(memory limit.Bytes) (lowered limit.Bytes, why string) {
	outer, what := h.tightestLimit()
	if outer <= 0 {
		return memory, ""
	}
	// 1/32 or 16 MiB below: what the supervisor and the shell around it need.
	below := max(outer-max(outer/32, 16*limit.MiB), outer/2)
	if memory > 0 && memory <= below {
		return memory, ""
	}
	return below, fmt.Sprintf("kept below the %s that %s allows", outer.Human(), strings.TrimPrefix(what, "cgroup "))
}

// tightestLimit returns the tightest memory limit around us and what sets it; 0 and "" when there is none.
func (h Host) tightestLimit() (limit.Bytes, string) {
	tightest, what := h.Given, ""
	if h.Given > 0 {
		what = "the job of " + h.GivenBy
	}
	if h.Err != nil {
		return tightest, what
	}
	for _, g := range h.Reading.Cgroups {
		if g.Limit != headroom.Unlimited && g.Limit > 0 && (tightest == 0 || g.Limit < tightest) {
			tightest, what = g.Limit, "cgroup "+g.Path
		}
	}
	return tightest, what
}

// minFree returns the memory that admission leaves free on a host of this capacity.
func minFree(s config.Settings, capacity limit.Bytes) limit.Bytes {
	if s.MinFree == config.Auto {
		return headroom.MinFree(capacity)
	}
	return s.MinFree
}

// WithSettings returns in with the initial estimate of the settings added, as the profile's or as a configured one.
func WithSettings(in estimate.Input, s config.Settings) estimate.Input {
	if s.Source("initial_estimate").Origin == config.OriginProfile {
		in.Profile = s.InitialEstimate
	} else {
		in.Configured = s.InitialEstimate
	}
	return in
}

// DistrustedEstimate returns true, or the problem and false when a project's file gives an initial estimate that this host could never set
// aside, min_free left alone. Believing it would let a cloned repository keep every run from starting.
func DistrustedEstimate(s config.Settings, host Host) (wrong config.Problem, ok bool) {
	from := s.Source("initial_estimate")
	if host.Err != nil || from.Origin != config.OriginProject {
		return config.Problem{}, true
	}
	room := host.Reading.Ceiling(s.CountSwap)
	available := room.Physical + room.Swap - minFree(s, host.Reading.Capacity())
	if s.InitialEstimate <= available {
		return config.Problem{}, true
	}
	return config.Problem{
		Where: from, Key: "initial_estimate",
		What: fmt.Sprintf("%s is more than this host can ever set aside (%s) and is not used", s.InitialEstimate.Human(), max(0, available).Human()),
		Fix:  "correct it, or set it in your own configuration",
	}, false
}

// Request returns a request for admission with the numbers and the settings of a run. The caller adds the tool and the project, and how the host is
// read.
func (n Numbers) Request(s config.Settings) admission.Request {
	r := admission.Request{
		Reservation: n.Reservation, Yields: !n.Estimate.Stated, SlotsPerTool: s.MaxConcurrent, SlotsTotal: s.MaxConcurrentTotal, Wait: s.Wait,
		Required: s.Enforcement == config.EnforcementRequired, MinFree: n.MinFree, CountSwap: s.CountSwap,
	}
	if s.Reservation > 0 {
		r.AskedBy = askedBy(s, "reservation")
	} else if n.Estimate.Source == estimate.SourceConfigured {
		r.AskedBy = askedBy(s, "initial_estimate")
	}
	r.Least = max(0, n.Reservation-n.Estimate.FromKills)
	if n.Estimate.Source == estimate.SourceFleet || n.Estimate.Source == estimate.SourceImport {
		r.Least = 0 // what others say keeps no run out
	}
	if s.Wait == config.Forever {
		r.Wait = admission.Forever
	}
	if n.MinFree == 0 {
		r.MinFree = -1 // nothing is kept free; 0 would mean the default there
	}
	return r
}

// askedBy names what set a key: the flag or the variable, or the key with the file it stands in.
func askedBy(s config.Settings, key string) string {
	switch from := s.Source(key); from.Origin {
	case config.OriginFlag, config.OriginEnvironment:
		return from.String()
	case config.OriginUser, config.OriginProject:
		return key + " (" + from.String() + ")"
	}
	return key
}

// InputOf returns what a history knows about a variant of a tool in a project, for an estimate. The files of other projects are read only
// if this one's give none. off is called with errors; h may be nil.
func InputOf(h *usage.History, projectKey, tool, variant string, off func(error)) estimate.Input {
	if h == nil {
		return estimate.Input{}
	}
	here, err := h.Variants(projectKey, tool)
	if err != nil {
		off(err)
	}
	in := estimate.Input{Project: estimate.FromRuns(here[variant]), Siblings: estimate.Pool{}}
	for v, runs := range here {
		if v != variant {
			in.Siblings[v] = estimate.FromRuns(runs)
		}
	}
	everywhere := sync.OnceValue(func() estimate.Pool {
		runs, err := h.ToolRuns(tool)
		if err != nil {
			off(err)
		}
		pool := estimate.Pool{}
		for _, r := range runs {
			if s, ok := estimate.FromRun(r); ok {
				pool[r.Variant] = append(pool[r.Variant], s)
			}
		}
		return pool
	})
	in.ToolSamples = func() []estimate.Sample { return everywhere()[variant] }
	in.ToolSiblings = everywhere
	return in
}

// memoryOutcome returns the outcome of a run as an estimate of memory needs it: a limit on time or on disk is left out, because it says nothing about
// memory.
func memoryOutcome(r sandbox.Result) journal.Outcome {
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
		Outcome: memoryOutcome(r), ExitCode: r.ExitCode, OOMKills: r.OOMKills, KilledChildren: killed,
		Limit: memory, Layer: string(r.Layer),
	}
}
