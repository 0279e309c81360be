// Package sizes remembers how large the results of MCP tools are: how often each tool of
// each server was called, what the server sent and what the client got, the average, the
// 95th percentile and the largest.
//
//	account, err := sizes.Open(dir, sizes.Options{})
//	j := journal.New(journal.Options{Observers: []journal.Observer{account}})
//	…
//	err = account.Close() // writes what is not written yet
//	rows, err := sizes.Read(dir)
//
// An Account observes the journal and adds journal.ToolCalled events up in memory; every
// minute at most, and at Close, it adds them to one file per server under a lock, so that
// any number of gateways share a directory and no count is lost. A process that is killed
// loses the last minute of counts.
//
// # What to expect
//
// Sums, counts and the maximum are exact. The percentile comes from a histogram with 16
// steps to each doubling, read at the upper end of its step: it is at most 4.5 % too high
// and never too low. Names are bounded: at most 256 servers and 512 tools each, what is
// beyond counts as "(others)". A file that cannot be read is set aside as NAME.damaged-TIME and
// begun anew; Read tells of it.
//
// # Concurrency and tests
//
// All methods are safe for concurrent use. The tests run real writers against each other,
// in goroutines and processes, and fuzz the file's reader.
package sizes
