// Package proctree finds all descendants of a process, measures them and ends them.
// It is the machinery under the sandbox's tree monitor and the pressure watcher.
//
//	tree, err := proctree.New(proctree.Options{
//		Root: cmd.Process.Pid, Cookie: "PLIMSOLL_RUN_ID=" + id, Subreaper: true,
//	})
//	defer tree.Close()
//	for range ticker.C {
//		changes, err := tree.Scan()      // who came, who went
//		tree.RaiseOOMScore(1000)         // newcomers only, never the root
//		usage := tree.Measure()          // anonymous memory of all of them
//		if usage.RSS > soft {
//			usage = tree.Precise()       // shared pages counted once
//		}
//	}
//	left, err := tree.KillTree(ctx, proctree.KillOptions{Grace: 2 * time.Second})
//
// # Who belongs to the tree
//
// The root; every process whose parent belongs; and a process whose ancestry is lost,
// when it gives evidence of where it came from. Ancestry is lost when the parent is one
// of the root's own ancestors: the kernel hands an orphan to the nearest ancestor that is
// a subreaper, or to init, and to nobody else. Evidence is any of: its parent is this
// process and [Options.Subreaper] says that this process adopts the tree's orphans; its
// session or process group is named after a process that was a member; its environment
// carries [Options.Cookie]. Only processes that started no earlier than the root are asked.
// Once a member, always a member, as long as PID and start time stay the same.
//
// What escapes: an orphan that began a session of its own and wiped its environment while
// both its parent and its grandparent died between two scans, without a subreaper. A
// process in the tree that runs with a different cookie (a run inside the run) is still
// found by ancestry and session.
//
// # What killing can promise
//
// No kernel group holds the tree, so KillTree looks, stops, looks again and kills, until a look finds
// nobody alive and nobody who ended while it looked: such a one may have forked behind its back. Then
// nobody is left whom the rules above can tell, however fast they fork. If there is no such
// look in time, because a chain of processes in sessions of their own is renewed faster
// than one can be found and stopped (some tenths of a millisecond), the error says so. What has escaped the
// rules is not ended; only a cgroup or a PID namespace holds that.
//
// # What the figures mean
//
// [Tree.Measure] reads /proc/PID/statm, which is cheap. Usage.Anon sums resident minus
// shared: tmpfs and memfd pages are not in it, and pages that a fork still shares with its
// parent are in it twice. Usage.RSS sums resident and counts every shared page once per
// process: nothing that is resident is missing from it, so it is the figure to compare
// with a soft line. Neither knows about swap. [Tree.Precise] reads smaps_rollup of the
// largest processes, which counts each shared page once and knows tmpfs and swap, and
// costs about fifty times as much, because the kernel walks the page tables.
//
// The kernel's resident counters are approximate on many versions: they are kept per CPU
// (Linux 6.2 and later) or per task (before), and up to about 64 pages per CPU or thread
// may not have reached the total that statm shows. An error of a few hundred KiB for one
// process is normal; for many small processes it adds up.
//
// Samples miss what comes and goes between them. As a partial remedy VmHWM, the kernel's
// own high-water mark of one process, is read when a process is first seen large and in
// turn for all others; Usage.HighWater is the largest one seen so far and a lower bound of
// the tree's resident peak.
//
// # Cost
//
// A scan lists /proc through a directory kept open and asks only about numbers it has not
// seen before. That a number now names another process shows in the directory entry's
// inode number, which the kernel draws anew for every process. statm files stay open, at
// most [Options.MaxOpenFiles] of them. In the steady state neither Scan nor Measure
// allocates. `go run ./bench monitor` measures the whole.
//
// # Concurrency
//
// All methods of a Tree may be called from any goroutine; they take turns. KillTree lets
// go of the tree while it waits. The package-level functions keep no state.
//
// # Other systems
//
// macOS reads kern.proc.all and asks for each process's physical footprint; Windows takes
// a Toolhelp snapshot and compares creation times, because it reuses parent numbers. There
// the cookie, the subreaper and Precise have no effect. Both compile and are vetted, but
// have not been proven on a real machine. Everywhere else New says that it is unsupported.
//
// # Tests
//
// The parsers are fuzzed. Membership is tested on recorded trees in an injected proc root
// and on real processes that the test binary starts by re-executing itself: deep and wide
// trees, orphans of double forks, daemons in their own session, zombies, processes that
// keep forking while they are being killed, a process held in the middle of its end and seen with
// the eyes of another user, and names made to confuse a parser.
package proctree
