// Package disk keeps a run from filling the disks: it watches how the file systems that the run
// writes to grow, and ends the run's largest writer at a hard line.
//
//	stop := disk.Start(disk.Options{
//		Lines: disk.Lines{WriteMax: 20 * limit.GiB, FreeMin: limit.GiB},
//		Dirs:  []string{"."}, Run: run,
//		Note:  func(e disk.Event) { … },
//	})
//	defer stop()
//
// # What is measured
//
// Growth is the free space lost, since it was first seen, on each local file system that the run has files open on
// for writing. Files that were written and closed count in it, in
// TMPDIR too, and so do those that were deleted and are still open; files that are gone do not,
// and nothing is searched for (du). Beside it stands the growth of the run's own open
// files, for the case that somebody else makes room meanwhile; the larger of the two counts. What
// the run has written itself is the kernel's count of its processes (write_bytes in
// /proc/PID/io): a lower bound, because the count of an orphan goes with it.
//
// Not looked at are file systems in memory (the memory limit is theirs) and those behind a
// network or a user's process (NFS, SMB, FUSE …), where a look can hang.
//
// # What is done
//
// At a soft line there is one [Event] to warn. At a hard line the process that writes the most is
// ended, one at a time, as long as the run goes on writing; but only when the run's own writes
// made at least half of the growth. Else there is one warning. Writers that live shortly have one behind them
// who starts them, and it is ended with them: it keeps their file open, or it has started one that was ended
// before, or waits for writers look after look. The agent itself goes last, and what it writes itself is told long before. Space that is taken without
// writing (fallocate) is seen as growth and counts as nobody's.
//
// # Cost
//
// A look reads two files for each process, every two seconds while the run uses the processor at all, and down to a fifth of a second as
// the lines come near. At the same moments a run that waits is left alone for up to a minute, near a line too, as long as signs that cost one
// call each say so: its processor time, what is free, and what the machine has written. It runs in a goroutine of its own for which nobody
// waits.
//
// # Tests
//
// [Policy] is pure and tested by itself; the watch is tested with a real file system on a loop
// device where the machine lets us make one.
package disk
