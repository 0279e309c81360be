// Package orphans looks after processes of a live run whose parent has ended: a build that a dead shell
// left behind, a server that nobody asks any more, thirty-nine times yes.
//
//	stop := orphans.Start(orphans.Options{
//		Mode: orphans.Warn, Max: 30 * time.Minute,
//		Run:  run, // *sandbox.Run behind a small interface
//		Note: func(e orphans.Event) { … },
//	})
//	defer stop()
//
// # Who is an orphan
//
// The run says so ([Process].Orphan): a descendant of the command whose parent is none of the run's processes,
// because the kernel gave it to init or to the supervisor when its own parent ended. Its descendants
// belong to it. The clock starts when the watch first sees it so, at most [DefaultEvery] late. Whether it is
// idle or busy makes no difference to the clock; what it used of the processors meanwhile is told.
//
// # What is done
//
// After Max each orphan is reported once, all of one look in one [Event], and after [MaxEvents] of them only
// counted. In mode [End] it is then asked with SIGTERM, together with its descendants, and after Grace what
// remains of them gets SIGKILL. Left alone, and reported as kept, is who was meant to outlive its parent: a daemon
// in a session of its own and what runs under nohup. A process is known by PID and start
// time, so that a number that is given out again is never hit. A frozen run is left alone until it goes on.
//
// # Concurrency, cost, tests
//
// [Start] runs one goroutine until stop is called, none with mode [Off] or without Max; all callbacks come from it.
// A look costs two small reads for each process of the run, every minute with the default Max. The decisions
// are a state machine without clock and processes; the tests drive it in virtual time, and the tests of the
// sandbox and of the command with real ones.
package orphans
