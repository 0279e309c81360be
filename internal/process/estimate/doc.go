// Package estimate predicts the memory that a run will need from the needs of earlier runs.
//
// It is pure: it reads no file and no clock. The history comes from package usage, and [FromRuns]
// reads it as [Sample]s, each of which knows whether it is the demand or only a lower bound of it:
//
//	e, err := estimate.Input{
//		Project:     estimate.FromRuns(runs),
//		ToolSamples: func() []estimate.Sample { … },
//		Configured:  4 * limit.GiB,
//	}.Estimate()
//	// e.Bytes, e.Source == "history:project", e.Samples == 12
//
// # What counts as a sample
//
// A kernel's high-water mark counts page cache, which is given back under pressure. So the exact
// peak is the demand only when under a tenth of it was cache; else it is the sampled working set
// with a margin. A peak at the limit without a kill says nothing but "there was a limit". A run
// that was killed for memory is censored: it needed at least what it had.
//
// # Estimators
//
// [Estimators] lists them, each a formula over the newest samples. [Default] is the one in force;
// after memory ran out it stays above the line that was reached for twenty runs. Which is best is
// measured and not argued: [Replay] runs every estimator over a sequence of tasks as they happened
// (a task's peak is known only after it ended) and counts what was reserved too small and what was
// reserved in vain. [ReadTrace] reads such a sequence from a Nextflow trace.
//
// # Concurrency and tests
//
// Everything is safe for concurrent use. Tests hold the invariants (an estimate is above the line
// of a kill, never 0 with a sample, grows with a larger peak), the formulas on numbers worked out by
// hand, and the replay on a generated trace; the trace reader is fuzzed.
package estimate
