// Package termination writes why a container is about to die of memory, while there is still somebody to write it.
//
//	path, err := termination.Path(os.Getenv) // "" outside of such a container
//	w, err := termination.Start(termination.Options{Path: path, Inner: "claude may use 496M (plimsoll run)"})
//	defer w.End("") // or w.End("claude was killed for memory: …")
//
// Since Kubernetes 1.28 a container on cgroup v2 has memory.oom.group set: at its limit the kernel kills every process in it, also one
// that would have told which of them was greedy. What is in the container's termination message (/dev/termination-log, at most 4,096
// bytes) is shown by `kubectl describe pod` and the pod's status afterwards. So it is written before, and kept up to date.
//
// # What is written, and when
//
// From 75 % of the container's limit on, and again from 90 % on, the file says how much is used of which limit, the largest processes
// and what each holds, files in memory, and what to do. It is written anew when the use has risen by a percent. When the use falls
// below 70 % it says so and keeps what was there at the highest: the container may still end for another reason. Used is what the
// kubelet calls the working set: the group's usage without inactive file pages, which the kernel gives back before it kills. Processes are named by
// the kernel's short name, never by their command lines, which may hold secrets.
//
// A container that goes from below 75 % to its limit between two looks dies without a word. A look comes as soon as something that takes [fastest]
// could have come half of the way, at most every [hasty] while the use moves and every [rest] while it does not.
//
// # The file
//
// It is the container runtime's: a mount that can be written to and not replaced, so it is rewritten in place, by one write that is
// padded to what was there before, and then cut. A text that is not Plimsoll's (it begins otherwise) is the program's own message and
// stays as it is.
//
// # Which container
//
// The group with the smallest memory limit around this process, as [headroom.Read] sees it, and it is looked for again every few
// seconds: a pod may be resized in place. Without such a limit nothing is watched; [Watch.End] still writes.
//
// # Concurrency, cost, tests
//
// One goroutine from [Start] to [Watch.End]; a look reads one small file, below the first line nothing else. [Watch] may be nil and
// does nothing then. The message is tested by itself and has a fuzz target for what is read from /proc; the rest is tested with
// real processes in a real control group (cgroup v1 or v2, root), and on v2 with memory.oom.group set, where everything in the
// group is killed and the file must say why.
package termination
