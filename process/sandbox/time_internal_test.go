package sandbox

import (
	"testing"
	"time"
)

// TestRunClock: what a run spends stopped does not count, nor does the time in which the
// supervisor was stopped together with it, as by Ctrl-Z.
func TestRunClock(t *testing.T) {
	var c runClock
	for _, look := range []struct {
		requested, took time.Duration
		stopped         bool
		want            time.Duration
	}{
		{time.Second, time.Second, false, time.Second},
		{time.Second, 1500 * time.Millisecond, false, 2500 * time.Millisecond}, // a busy machine
		{time.Second, time.Second, true, 2500 * time.Millisecond},
		{time.Second, 9 * time.Hour, false, 3500 * time.Millisecond}, // fg after a night
		{time.Second, 9 * time.Hour, true, 3500 * time.Millisecond},
		{time.Millisecond, time.Millisecond, false, 3501 * time.Millisecond},
	} {
		if got := c.advance(look.requested, look.took, look.stopped); got != look.want {
			t.Errorf("after %+v: %s, want %s", look, got, look.want)
		}
	}
}
