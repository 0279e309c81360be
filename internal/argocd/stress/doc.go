// Package stress plays against an MCP server of Argo CD what overwhelms such servers, and
// says what came of it.
//
//	report, err := stress.Run(ctx, stress.Target{
//		Call:   func(ctx context.Context, tool string, args map[string]any) (stress.Answer, error) { … },
//		Memory: func() (int64, error) { … }, // RssAnon of the server's process
//	}, stress.Options{})
//	for _, row := range report.Rows {
//		fmt.Println(row.Case, row.Requests, row.P50, row.P95, row.PeakBytes, row.MaxResponse, row.OK, row.Note)
//	}
//
// # The cases
//
//	repeated list          the same first page again and again
//	5, 50 at a time        lists of all kinds and searches, side by side
//	1000 queries           the same mix; memory at the end is that of the beginning
//	search over 500        a term that matches more than 500 objects: the total is exact, the
//	                       pages hold all of them, none twice
//	search over 1000       a term that matches more than 1000: an error with the number and a
//	                       suggestion, and nothing shown as if it were all
//	pages of …             all pages of each of the four kinds fit together
//
// An answer counts as good when it is whole: JSON, with the page that was asked for, as
// many items as its pagination says, and no more bytes than [Options].MaxResponse. A call
// that fails, or is not good, is an error of its row; the first one is in the note. What an
// installation is too small for is [Row].Skipped, with the reason, and is not a failure.
//
// All calls only read.
//
// # What to expect
//
// Nothing is kept of an answer but its size and the names on it, of one listing at a time
// and of as many pages as [Options].MaxPages says. A case ends early after ten errors in a row. Whoever cancels
// the context gets the rows that are finished.
//
// # Concurrency
//
// Run makes up to 50 calls at one time, so Call and Memory must allow that.
//
// # How it is tested
//
// Against a server that does everything right, and against the same server with one thing
// wrong at a time: each must be found by its case. Time is synthetic. And against the tools
// themselves over the simulator.
package stress
