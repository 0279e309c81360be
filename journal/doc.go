// Package journal is the one record of what Plimsoll did and why.
//
// Every action at a soft or a hard line is one typed [Event]. Logs, metrics, the run
// report, the dashboard and top are views of the journal and of nothing else: a view
// is an [Observer], called with every record in order, or a reader of the ring.
//
//	report := journal.NewReporter(journal.Report{Tool: "claude"})
//	j := journal.New(journal.Options{Observers: []journal.Observer{report}})
//	j.Append(journal.ChildKilled{PID: 4711, Name: "jest"})
//	for rec := range j.Since(0) { … }
//
// A Journal is safe for concurrent use. It holds the newest records in a ring that is
// bounded in count and in bytes; what falls out is counted in [Journal.Dropped], and the
// counters of [Journal.Counts] never forget. Observers see every record, also those the
// ring has dropped since, so a report is complete however long the run was.
//
// The package imports no plane: an event carries plain values.
package journal
