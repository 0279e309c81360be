package query

import "time"

// Windows gives a process no such limits of its own: the watchdog holds the memory, the
// parent the time.
func confine() int64 { return 0 }

func bound(_, _ int64, _ time.Duration) {}
