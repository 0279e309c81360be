// Package filelock locks files between processes: flock(2) on Unix, LockFileEx on Windows.
//
//	f, err := filelock.Open(ctx, path+".lock") // makes the file, waits, is exclusive
//	defer filelock.Release(f)
//
//	ok, err := filelock.Try(f, filelock.Shared)
//	err := filelock.Lock(ctx, f, filelock.Exclusive)
//
// A lock belongs to the open file. It ends when the file is closed or its process ends, however
// it ends, and not while the process is stopped. Go opens files so that no program inherits them.
//
// [Lock] and [Open] wait asleep in the kernel, which gives the lock to those that wait in the
// order in which they came (Linux since 5.0; nowhere does one wait for ever). Polling is not fair:
// of hundreds of processes some wait for seconds behind others that came later. Nothing but
// the lock ends a sleep in flock(2), so when the context ends, the sleeping thread stays behind: it
// closes the file as soon as it gets the lock. At most [MaxAbandoned] threads of a process stay
// behind; beyond that number the wait polls.
//
// A file that is locked may have been removed and made again by somebody else meanwhile. [Open]
// begins again then; whoever uses [Lock] and [Try] on a file that others remove asks [Named].
//
// All functions may be called from any goroutine. The tests lock from many goroutines, end waits
// that lie behind a held lock, and put links and pipes where the file is expected.
package filelock
