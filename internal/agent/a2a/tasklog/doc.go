// Package tasklog keeps what an agent's server owes its clients: the events of each task, in
// order and numbered, for clients that read slowly, leave and come back; and the tasks
// themselves, across restarts.
//
//	logs := tasklog.New(tasklog.Options{Name: "argocd", Journal: j})
//	log, err := logs.Open(task, 0)
//
//	seq := log.Append(event, false) // whoever runs the task; never waits for a client
//
//	r, err := log.Read(lastEventID) // each client
//	defer r.Close()
//	for {
//		record, gap, err := r.Next(ctx)
//		switch {
//		case err == io.EOF: // the task has ended and all of it was read
//		case err != nil: // ctx, or the log was removed
//		case gap.Count() > 0: // these numbers are gone: send a snapshot (Reader.Snapshot)
//		default: // record.Seq, record.Payload
//		}
//	}
//
// # A log
//
// A [Log] numbers its events from 1. The last of them are kept, bounded in number and bytes;
// the oldest go first. A [Reader] is a position and nothing else: no buffer, no goroutine. A
// client that does not read costs neither memory nor anybody's time; when it goes on it is
// told of the numbers that are gone, as a [Gap], and goes on behind them.
//
// A snapshot of the task and the events behind it fit together when both are made under the
// log's order: [Log.Publish] applies an event to the task and appends it, [Log.Subscribe] and
// [Reader.Snapshot] look at the task while nothing can be appended.
//
// # Closed and reopened
//
// A log knows by itself whether its events reach anybody. See [State]:
//
//	Open    somebody reads, or nobody has yet
//	Unread  all readers have gone: events are kept for their return, as far as there is room
//	Closed  Log.Close was called: events get a number and are dropped
//	Ended   the terminal event is there: later events are dropped and get no number
//
// An episode begins with the first event that reaches nobody, and is told then, once, in the
// journal and the log of the program. Later events are silent and counted: Missed is every
// event of the episode, Dropped those that no client can get any more. The episode ends when
// a reader comes (Unread) or with [Log.Reopen] (Closed), and then the counts are told. A log
// that is removed before that tells them then. A stream that ends in good order, its clients
// leaving after the terminal event, is not an episode.
//
// The terminal event is the last of a task. It is never dropped: not in a closed log, and not
// for its size. A second one is a late event like any other.
//
// # Tasks
//
// A [Store] keeps tasks as JSON that it does not look into, one file each, bounded in
// number, bytes and age. Ended tasks go first, the one that changed longest ago before
// others; a task that runs goes only when all do. [Store.Update] refuses a writer that has
// not seen the latest version.
//
//	DIR/lock            held by the process that has the store open
//	DIR/DIGEST.task     a task, under the first 32 hexadecimal digits of its id's SHA-256
//	DIR/NAME.damaged-TIME  a file that failed its checksum, set aside; the last 16 are kept
//
// Files are 0600 and replaced as a whole, so a process that is killed leaves the old task or
// the new one. Only ended tasks are forced to the disk: a loss of power can cost a task that
// ran, which is then damaged or old. A disk that is full or gone costs the persistence, not
// the task: it stays in memory within the same bounds and is written later.
//
// # Concurrency and memory
//
// Everything may be called from any goroutine, a Reader by one at a time. An append waits for
// other appends and snapshots of the same log, for nothing else. Memory is at most
// [Options].MaxTotal, one terminal event per log, about 1 KiB per log and 64 bytes per reader.
// The store holds about 1 KiB per task and the task that is being read or written.
//
// # How it is tested
//
// The log is compared with a slice that forgets nothing, by fuzzing; a thousand appends run
// beside fifty readers under the race detector; a thousand readers that never read are
// weighed. The store's files are cut at every byte and flipped, its writer is killed while
// it writes, its disk goes away. Time is synctest's. `go test -bench . ./internal/agent/a2a/tasklog`
// compares an append with the A2A SDK's queue in memory.
package tasklog
