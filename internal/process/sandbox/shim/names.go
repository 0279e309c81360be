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

// parse reads a decimal number; the shim does without package strconv.
func parse(s string) uint64 {
	var n uint64
	for _, c := range []byte(s) {
		if c >= '0' && c <= '9' {
			n = n*10 + uint64(c-'0')
		}
	}
	return n
}
