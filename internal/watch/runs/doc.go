// Package runs keeps what happened in every run of this user, and reads it: the store behind `plimsoll runs`, `top`, the
// dashboard and the metrics of all runs.
//
//	w := runs.Begin(runs.Options{Dir: stateDir}, runs.Header{ID: id, Kind: runs.KindRun, Report: start})
//	j := journal.New(journal.Options{Observers: []journal.Observer{reporter, w}})
//	…
//	err := w.End(reporter.Report())
//
//	store, err := runs.Open(stateDir)
//	err = store.Poll() // again and again, for who looks on
//	for _, e := range store.Entries() { … }
//	run, err := store.Run(id)
//
// # The files
//
// There is no daemon, no socket and no database: each process writes one file of its own, and whoever looks reads along.
//
//	runs/2026-11-24/ID.jsonl   one run, by the day (UTC) on which it began: a header, records of the journal, samples, the end
//	runs/index.jsonl           a line for each run that ended, was refused, or was lost
//	runs/index.lock            is held while the index is changed
//
// The lines of a run's file are {"header":…}, {"seq":…,"kind":…,"event":…}, {"sample":…}, {"shares":…} and at last {"end":…} with the
// run report. The file is locked (flock) as long as its writer lives, also while that is stopped: a file without an end that nobody
// has locked is that of a writer which was killed. [Adopt] then writes the end in its place.
//
// # What to expect
//
// A writer never makes its caller wait: lines are put into memory and written by a goroutine 200 ms later at the latest, kills,
// compactions and ends at once. Nothing runs while nothing happens. What finds no room is left out and counted: a run's file has
// at most 4 MiB: 2.3 MiB for events, 896 KiB for samples, 320 KiB for shares, and 512 KiB for kills, compactions and the end. Samples are
// at most 4,096, each with the highest values of its interval: the intervals double with time. Each holds the counts before it, so that
// [Look] can leave out the middle of a file. Shares, at most 1,024, tell which processes held the memory; they are written when that
// has changed. [Prune] keeps 30 days, 10,000 runs and 256 MiB, and leaves what lives.
//
// Credentials do not get there: argv is masked by [secrets.Values.Argv], texts of events by [secrets.Text], and the values of variables
// with the name of a secret wherever they stand.
//
// # Concurrency and tests
//
// A [Writer] may be used from any goroutine, a [Store] from one at a time. The tests write from many processes at once, kill
// writers, fill the disk, tear lines, and put links, pipes and files of newer versions into the store; the reader is fuzzed.
package runs
