package estimate

import (
	"time"

	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// Sample holds what one run says about the memory that the next one needs.
type Sample struct {
	// Demand is the need of the run, in bytes; never 0.
	Demand limit.Bytes
	// Censored is true when the run was cut short for memory: it needed at least Demand.
	Censored bool
	// Exact is true when Demand is a high-water mark of the kernel, not derived from samples.
	Exact bool
	// Line is the size at which memory ran out for a run that was killed (its limit, or
	// what it had when something outside ran out first); 0 for a run that was not. The
	// next estimates stay above it.
	Line limit.Bytes
	// Brief is true when the run was over before it can have been a session: somebody asked a
	// tool for its version. It counts like any other, except against a profile.
	Brief bool
}

// The rule by which [FromRun] reads a recorded run.
const (
	// cacheShare is the largest share of file cache in an exact peak for the peak to count as
	// demand. The kernel counts page cache into a group's high-water mark and gives it back
	// under pressure; `cat` of a large file has a peak of exactly the limit and needs nothing.
	cacheShare = 0.10
	// fullShare is the share of the limit from which a peak means that page cache has filled all there was.
	fullShare = 0.95
	// workingSetMargin is the factor for what a working set sampled every 500 ms does not see. The exact peak, if there is one, still
	// bounds the result: nobody needs more.
	workingSetMargin = 1.20
	// sampledMargin is the factor for a peak that is itself a lower bound.
	sampledMargin = 1.10
	// fewSamples is the duration below which a sampled working set means nothing: at
	// 500 ms a process of 400 MB that lived 50 ms was seen as 0 in five of five runs.
	fewSamples = 2 * time.Second
	// reachedShare is the share of the limit that must have been used for a kill to be the limit's doing and not the host's or an enclosing
	// group's.
	reachedShare = 0.90
)

// FromRun returns the sample of a recorded run; ok is false when the run teaches nothing: it was refused, its command was not found or not
// executable (126, 127), nothing was measured, or its peak is page cache that filled the limit and no working set was seen.
func FromRun(r usage.Run) (s Sample, ok bool) {
	if r.Outcome == journal.OutcomeRefused {
		return Sample{}, false
	}
	if r.Outcome == journal.OutcomeFailed && (r.ExitCode == 126 || r.ExitCode == 127) {
		return Sample{}, false
	}
	if r.Peak <= 0 && r.PeakAnon <= 0 {
		return Sample{}, false
	}
	if wasKilled(r) {
		return killedSample(r), true
	}
	defer func() { s.Brief = r.Duration > 0 && r.Duration < fewSamples }()
	full := r.Limit > 0 && float64(r.Peak) >= fullShare*float64(r.Limit)
	seen := r.PeakAnon > 0 && r.Duration >= fewSamples
	switch {
	case !full && r.Exact && cacheShareOf(r) < cacheShare:
		return Sample{Demand: r.Peak, Exact: true}, true
	case !full && r.Exact && !seen:
		// Without a working set to trust, the peak is the only bound there is. It may be
		// too much, which costs a queue; too little would cost the machine.
		return Sample{Demand: r.Peak, Exact: true}, true
	case full && !seen:
		return Sample{}, false
	case r.Exact:
		return Sample{Demand: min(r.Peak, scale(r.PeakAnon, workingSetMargin))}, true
	case full:
		return Sample{Demand: scale(r.PeakAnon, workingSetMargin)}, true
	default:
		return Sample{Demand: scale(max(r.Peak, r.PeakAnon), sampledMargin)}, true
	}
}

// FromRuns returns the samples of recorded runs, in the same order, without the runs that teach nothing.
func FromRuns(runs []usage.Run) []Sample {
	samples := make([]Sample, 0, len(runs))
	for _, r := range runs {
		if s, ok := FromRun(r); ok {
			samples = append(samples, s)
		}
	}
	return samples
}

// cacheShareOf returns the share of the peak that the working set does not explain.
func cacheShareOf(r usage.Run) float64 {
	if r.PeakAnon <= 0 {
		return 1
	}
	return float64(r.Peak-r.PeakAnon) / float64(r.Peak)
}

// wasKilled reports whether the run, or a process of it, was ended for memory or at a limit.
func wasKilled(r usage.Run) bool {
	return r.Outcome == journal.OutcomeOOM || r.Outcome == journal.OutcomeLimit || r.OOMKills > 0 || r.KilledChildren > 0
}

// killedSample returns the sample of a run that was killed for memory: its demand is a lower bound.
func killedSample(r usage.Run) Sample {
	had := max(r.Peak, r.PeakAnon)
	reached := float64(had) >= reachedShare*float64(r.Limit)
	switch {
	case r.Limit <= 0, r.Exact && !reached:
		// Not this run's limit: the host, an enclosing group or Plimsoll under pressure.
		return Sample{Demand: had, Censored: true, Exact: r.Exact, Line: lineFromOutside(r, had)}
	default:
		// A sampled peak may have missed the last step up to the limit.
		return Sample{Demand: max(had, r.Limit), Censored: true, Exact: r.Exact, Line: r.Limit}
	}
}

// lineFromOutside returns the [Sample].Line of a run that was killed, but not by its own limit: had, or 0 when Plimsoll only ended a descendant
// because the host was short of memory: that run did not run out of what it was given.
func lineFromOutside(r usage.Run, had limit.Bytes) limit.Bytes {
	if r.OOMKills == 0 && r.Outcome != journal.OutcomeOOM && r.Outcome != journal.OutcomeLimit {
		return 0
	}
	return had
}

// scale returns a size multiplied by a factor, within the bounds of fromFloat.
func scale(b limit.Bytes, factor float64) limit.Bytes {
	return fromFloat(float64(b) * factor)
}
