package query

import (
	"os"

	"golang.org/x/sys/unix"
)

func set(which int, value uint64) { _ = unix.Setrlimit(which, &unix.Rlimit{Cur: value, Max: value}) }

// expendable tells the kernel which process to end first when memory is short: not the
// gateway that started this one.
func expendable() { _ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) }
