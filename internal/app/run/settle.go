package run

import (
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/footprint"
)

// A supervisor waits for hours beside other people's agents.
const (
	// settleAfter is the age at which a run gives back the memory that starting it took.
	settleAfter = 5 * time.Second
	// settleAgain is the time between two returns of the memory that looking after the run took.
	settleAgain = time.Minute
)

// settle lets the process give memory back once the run has lasted for settleAfter, and every minute from then on; stop undoes it. With a
// proxy in the process the pace of the collector is left as it is.
func settle(proxy bool) (stop func()) {
	var mu sync.Mutex
	var timer *time.Timer      // nil once stopped
	var small *footprint.Small // nil before the first time, and with a proxy
	release := func() {
		mu.Lock()
		defer mu.Unlock()
		if timer == nil {
			return
		}
		switch {
		case proxy:
			footprint.Release()
		case small == nil:
			small = footprint.Shrink()
		default:
			small.Again()
		}
		timer.Reset(settleAgain)
	}
	mu.Lock()
	timer = time.AfterFunc(settleAfter, release)
	mu.Unlock()
	return func() {
		mu.Lock()
		defer mu.Unlock()
		timer.Stop()
		timer = nil
		if small != nil {
			small.Restore()
		}
	}
}
