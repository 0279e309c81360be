// Package background has summaries written while a conversation goes on.
//
//	jobs := background.New(background.Options{Memory: budget})
//	jobs.Start(background.Job{Key: scope + name, Whom: upstream + model, Covers: n, Client: digest, Ask: ask})
//	…
//	if r, ok := jobs.Ready(key); ok && r.Client == chain[r.Covers-1] {
//		jobs.Take(key) // and r.Messages stand in place of the client's first r.Covers messages
//	}
//
// What writes a summary is a function: a request for the provider's own compaction (package native), or [Written] with a model that has a
// key of its own. No request waits for either.
//
// # What to expect
//
// One job a conversation, a few at once, minutes at most; what a job holds is charged to the caller's memory, and what came of it stays
// there until it is taken, replaced or too much. A job that finds no place is not begun, and the next request may ask again.
// Nothing is written to disk: a process that is killed loses what its jobs had not delivered.
//
// A failure of the provider or of the model leaves it alone for a while, for all conversations, by the same rule as a summarizer that
// fails in front of a request (compact.SummaryBreaker). A failure that is about one conversation leaves that one alone. A refusal for good
// (native.Refused) is remembered for a day. Of all three a bounded number is known; the oldest are forgotten first.
//
// # Concurrency and tests
//
// A [Jobs] may be used from any goroutine. Tests run in a bubble of testing/synctest.
package background
