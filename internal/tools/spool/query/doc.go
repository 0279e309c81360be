// Package query runs a jq query over one kept result, in a process of its own.
//
//	answer, err := query.Run(ctx, query.Request{
//		Document: file, Size: size, Path: []string{"items"},
//		Query:    `.items[] | select(.health != "Healthy") | .name`,
//		Command:  []string{os.Args[0], query.Argument},
//	})
//
// The query's text comes from a model, and jq is a programming language: a text of eight
// bytes can ask for a gigabyte, another one never ends. So the program starts itself again
// with the hidden first argument [Argument], hands the document to that child through its
// standard input and takes what comes back, at most Request.MaxBytes. The child bounds
// itself before it reads anything: memory ([syscall.RLIMIT_DATA] and RLIMIT_AS, the runtime's own limit
// and a watchdog where the system has no such limit), processor time, files (it can open
// none, and write none), environment (it is given none). The parent kills it when its time
// is over. At most [Running] children live at once; further queries wait their turn.
//
// The main function of the program calls [Main] first thing when its first argument is
// [Argument], and exits with what it returns.
//
// # What a query sees
//
// A document of JSON is `.`, with its numbers as they are written: integers of any size
// keep all their digits. A document of lines is an array of strings, so `.[]` are its
// lines. Environment, files, modules and further inputs do not exist.
//
// A large document ([WholeBytes]) is never held. Then the query goes item by item: it names
// the path to the document's main array and iterates, as in
//
//	.items[] | select(.size > 10) | .name
//	[.items[] | .status] | group_by(.) | map({(.[0]): length}) | add
//	first(.items[] | select(.id == 7))
//	reduce .items[] as $i (0; . + $i.size)
//
// and gives the same as it would over the whole (the members of an object in their own
// order, not by key). Items over [ItemBytes] are left out and
// counted. Any other query over a large document is an error that shows how to write it.
//
// # What to expect
//
// Every failure that the query's author can do something about is an [*Error] with a text
// for them; the values that came before it are in the Answer beside it. Run may be called
// by many goroutines. A child takes about 10 ms to start.
//
// The package is tested with real children: endless, greedy and deeply recursive programs,
// documents of every shape, and a look at the processes afterwards. The rewriting of
// queries and the stream of items are fuzzed against the plain evaluation.
package query
