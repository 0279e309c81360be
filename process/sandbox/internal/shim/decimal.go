package shim

// Name is the argument zero that makes this binary act as the shim.
const Name = "plimsoll-shim"

// Trial is the argument zero that makes this binary try to break a limit, to see whether
// it is really held: argument 1 is "memory" or "pids", argument 2 how much to try.
const Trial = "plimsoll-trial"

// Exit statuses of a trial.
const (
	// Broke: the limit did not stop it.
	Broke = 71
	// Stopped: the kernel refused the memory or the process.
	Stopped = 72
)

// parse and decimal stand for package strconv, which the shim does without.
func parse(s string) uint64 {
	var n uint64
	for _, c := range []byte(s) {
		if c >= '0' && c <= '9' {
			n = n*10 + uint64(c-'0')
		}
	}
	return n
}

func decimal(n uint64) string {
	var buf [20]byte
	i := len(buf)
	for {
		i--
		buf[i] = byte('0' + n%10)
		if n /= 10; n == 0 {
			return string(buf[i:])
		}
	}
}
