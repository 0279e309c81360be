// Package usage is the history of peaks: what every run of every tool needed, per project.
//
// A [History] is a directory. Each project has one file in it, and the file holds, per tool,
// the last [KeptRuns] runs in the order in which they were recorded, and a count of all that
// ever were:
//
//	h := usage.Open(stateDir, usage.Options{Warn: func(w usage.Warning) { … }})
//	err := h.Append(usage.Project{Key: "web-1f3a", Path: "/src/web"}, "claude", run)
//	runs, err := h.Runs("web-1f3a", "claude")   // oldest first
//	runs, err = h.ToolRuns("claude")            // every project, newest last
//
// # Order and clocks
//
// The order of runs is the order in which they were appended. A clock that jumps changes the
// Time of a record and nothing else.
//
// # Concurrency
//
// Any number of goroutines and processes may append at once; none loses another's record. A
// writer holds an flock(2) on a separate lock file while it reads, changes and replaces the
// project's file (temporary file, fsync, rename). It waits for that lock at most
// [Options.LockWait] and then gives up with an [OffError], so a stuck writer never hangs a run.
// A reader takes no lock and sees the file as it was before or after a write, never between.
//
// # When something is wrong
//
// A history is a convenience: a run must go on without it. What keeps it from working (a
// read-only or full disk, a lock that does not come free, a file of a newer Plimsoll) is an
// [OffError], whose text begins "history is off". A file that is damaged is renamed to
// NAME.damaged-TIME and a new one begun; that, and whatever a bound has dropped, is told through
// [Options.Warn].
//
// # Bounds
//
// [KeptRuns] runs per tool, [MaxTools] tools per project (the one unused for longest makes
// room), [MaxFileBytes] per file, [MaxProjects] project files in a listing (the most recently
// written), [MaxToolProjects] of them for one tool's runs, [store.KeptDamaged] damaged files.
// Files are 0600, directories 0700.
//
// # How it is tested
//
// Real processes that append at once (the test binary runs itself again), a directory that
// cannot be written, a lock that somebody else holds, every kind of damage, and a fuzz target
// that feeds the reader any bytes.
package usage
