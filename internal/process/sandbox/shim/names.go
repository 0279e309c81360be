// Package shim is the few instructions that run in the child between fork and exec: it sets resource limits on itself and becomes the command.
//
// Go's fork can't set resource limits, so the supervisor executes its own binary again under the name [Name]; the init of this package sees that
// name, does its work and never returns. It imports next to nothing and is initialised before the packages that take time, so that the detour costs
// a millisecond or two. Any program that imports process/sandbox has it, test binaries included.
//
// Arguments: NAME, the limits (see [Encode]), the descriptor to report a failure on, the path, then the command's own argument vector. On success
// the descriptor closes on exec and the supervisor reads nothing; on failure it reads the error number, after [LimitFailed] when the limits were
// refused.
//
// [Trial] is another role: the child with which a layer is tried; Windows has only this one. [Beside] is the third: a process that stands beside a
// supervisor which an editor may kill.
package shim

// Name is the argument zero that makes this binary act as the shim.
const Name = "plimsoll-shim"

// Trial is the argument zero that makes this binary try to break a limit, to see whether
// it is really held: argument 1 is "memory" or "pids", argument 2 how much to try.
const Trial = "plimsoll-trial"

// Beside is the argument zero that makes this binary stand beside a supervisor: argument 1 is [Witness] or [Guard]. Its standard
// input is a pipe that ends with the supervisor.
const Beside = "plimsoll-beside"

const (
	// Witness shares the supervisor's process group, and reports the signals it gets: what it gets, the whole group got.
	Witness = "witness"
	// Guard becomes the program of argument 2, with the vector that follows, when the supervisor dies without a byte of goodbye.
	Guard = "guard"
)

// Exit statuses of a trial.
const (
	// Broke: the limit did not stop it.
	Broke = 71
	// Stopped: the kernel refused the memory or the process.
	Stopped = 72
)

// parseDecimal reads a decimal number; the shim does without package strconv.
func parseDecimal(s string) uint64 {
	var n uint64
	for _, c := range []byte(s) {
		if c >= '0' && c <= '9' {
			n = n*10 + uint64(c-'0')
		}
	}
	return n
}
