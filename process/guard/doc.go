// Package guard is the resource guard for Go programs: it estimates the need of a run, decides whether
// this machine can carry it now, sets the memory aside, and remembers what the run used.
// `plimsoll run` does the same, and both see each other: they share one ledger and one history.
//
//	g, err := guard.Open(guard.Options{})                   // create
//	d, err := g.Check(ctx, guard.Request{Tool: "indexer"})  // check: d.Admitted, and every term of the sum
//	a, err := g.Admit(ctx, guard.Request{Tool: "indexer", Wait: 10 * time.Minute})
//	defer a.Release()
//	run, err := sandbox.Start(ctx, sandbox.Spec{ID: a.ID(), Remember: a.Remember, …})
//	result, err := run.Wait()
//	err = a.Record(result, memory)                          // record
//
// It starts nothing and holds no limit; package sandbox does that. A program that
// limits its work in some other way, or not at all, uses the guard alone and fills a
// [sandbox.Result] with what it has measured.
//
// # What to expect
//
// Admit returns a [*admission.Refused] when the sum or the slots say no; its text shows every
// term, who holds what, and what to do. A [*admission.UnavailableError] says that there is no
// ledger (a directory that cannot be written, say): whether to go on without is for the caller.
// A history that cannot be read or written never stops anything: it is told through
// [Options].Warn, and only [Admission.Record] returns it as an error.
//
// What a run of a killed program has left behind, of this one or of plimsoll, is removed before
// the next run is admitted.
//
// # Concurrency and tests
//
// Everything is safe for concurrent use, by goroutines and by processes. The tests use real
// files, and the host's memory as recorded figures.
package guard
