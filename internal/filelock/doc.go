// Package filelock locks files between processes: flock(2) on Unix, LockFileEx on Windows.
//
//	f, err := filelock.Open(ctx, path+".lock") // makes the file, waits, is exclusive
//	defer filelock.Release(f)
//
//	ok, err := filelock.Try(f, filelock.Shared)
//	err := filelock.Lock(ctx, f, filelock.Exclusive)
//
// A lock belongs to the open file. It ends when the file is closed or its process ends, however it ends, and not while that is stopped. [Lock]
// and [Open] wait asleep in the kernel, in the order in which they came: of hundreds of processes that poll some would wait for seconds behind
// others that came later. Who locks a file that others remove asks [Named] whether it is still that file; [Open] does so itself.
//
// All functions may be called from any goroutine.
package filelock
