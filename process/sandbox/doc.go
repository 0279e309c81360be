// Package sandbox starts a command inside limits and tells afterwards what it used.
//
//	run, err := sandbox.Start(ctx, sandbox.Spec{
//		ID: "k3f9", Path: "/usr/bin/make", Args: []string{"make", "test"},
//		Limits: sandbox.Limits{Memory: 4 * limit.GiB, Pids: 512},
//	})
//	result, err := run.Wait()
//	fmt.Println(result.ExitCode, result.Peak.Bytes.Human(), result.OOMKills)
//
// # Layers
//
// A [Layer] is one way of holding a run inside its limits; [Start] tries them from the
// strongest to the weakest and takes the first that works, by doing the real thing rather
// than by looking for files. [Run.Strength] says for memory, swap and processes who holds
// the limit now: the kernel for the whole tree, the kernel for each process, Plimsoll by
// watching, or nobody. [Probe] shows all layers of this host.
//
// This protects against accidents, not against hostile code: an agent with a shell runs as
// the user and could undo its own limits.
//
// # The agent survives its children
//
// When the run reaches its memory limit the kernel kills one process, not all. Every
// descendant's oom_score_adj is raised to 1000 as soon as it appears, so that the greedy
// build goes and the agent that started it sees status 137 and carries on.
//
// # Peaks
//
// With a cgroup the peak is the kernel's own high-water mark, read before the group is
// removed. It contains page cache: reading a large file peaks at exactly the limit. So the
// working set (what can't be reclaimed) is kept beside it. Without a cgroup the peak is the
// highest sample and marked as a lower bound.
//
// # The end of a run
//
// Descendants that outlive the command are asked with SIGTERM and ended after a grace, or
// waited for, or left, as [Spec].OnExit says; the result lists them. What a supervisor that
// was itself killed leaves behind is described by [Remains] and removed by [Remove].
//
// # Concurrency and side effects
//
// Any number of runs may be under way in one program. The systemd layer moves the calling
// process into the scope that it creates; the delegated layer may move it and its own
// ancestors one level down. A program that does not want that names its layers.
//
// # Other systems
//
// macOS has no memory limit for a tree of processes, so memory is watched: the monitor
// sums physical footprints. The rlimit layer exists there only for
// [Limits].AddressSpace and UserProcesses, because RLIMIT_DATA bounds the address space
// there. The remains of a run are its command, by pid and start time.
//
// Windows holds a run in a job object: the kernel bounds committed memory, page file
// included, and the number of processes (not threads), keeps the exact peak, and ends the
// run when its supervisor dies. At the limit an allocation fails and nothing is killed.
// Exit codes stay what Windows says they are; [Result].Signal is the signal that comes
// nearest to a crash or a Ctrl-C.
//
// Both compile and are vetted, but have not been proven on a real machine.
//
// # Tests
//
// The tests start real processes in every layer that the host offers, and say which are
// missing; the gate runs them again in a virtual machine with systemd and cgroup v2.
package sandbox
