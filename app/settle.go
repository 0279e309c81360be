package app

import (
	"runtime/debug"
	"sync"
	"time"
)

// A supervisor waits for hours beside other people's agents.
const (
	// settleAfter is when a run has lasted long enough to give back what starting it took.
	settleAfter = 5 * time.Second
	// settledGarbage is GOGC from then on: garbage is collected at a quarter of what is in use, from 1 MiB on. Go's own 100 waits for 4 MiB,
	// and little garbage is made here.
	settledGarbage = 25
)

// settle makes the process small once the run has lasted for a while, and stop makes it as it was. With a proxy beside the
// run the collector keeps its pace.
func settle(proxy bool) (stop func()) {
	var mu sync.Mutex
	stopped, before := false, -1
	timer := time.AfterFunc(settleAfter, func() {
		mu.Lock()
		defer mu.Unlock()
		if stopped {
			return
		}
		if !proxy {
			before = debug.SetGCPercent(settledGarbage)
		}
		debug.FreeOSMemory()
	})
	return func() {
		timer.Stop()
		mu.Lock()
		defer mu.Unlock()
		stopped = true
		if before >= 0 {
			debug.SetGCPercent(before)
		}
	}
}
