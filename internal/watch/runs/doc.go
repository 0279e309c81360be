// Package runs keeps what happened in every run of this user, and reads it: the store behind `plimsoll runs`, `top`, the dashboard and the
// metrics of all runs. There is no daemon and no database: each process writes one file of its own, and whoever looks reads along.
//
//	w := runs.Begin(runs.Options{Dir: stateDir}, runs.Header{ID: id, Kind: runs.KindRun, Report: start}) // a journal.Observer
//	err := w.End(reporter.Report())
//
//	store, err := runs.Open(stateDir)
//	err = store.Poll() // again and again, for who looks on
//	run, err := store.Run(id)
//
// A file is locked as long as its writer lives: one without an end that nobody has locked is that of a writer which was killed, and [Adopt]
// writes the end in its place. It has at most 4 MiB; what finds no room is counted. [Prune] keeps 30 days, 10,000 runs and 256 MiB. Credentials
// are masked before anything is written. A [Writer] never makes its caller wait and may be used from any goroutine, a [Store] from one.
package runs
